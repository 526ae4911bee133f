package io.keyturn.client.internal.consume;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Protos;
import io.keyturn.client.TurnOutcome;
import io.keyturn.client.internal.session.BackOff;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.CallFuture;
import io.keyturn.client.internal.words.Answers;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures.Failure;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.client.internal.words.TurnSettings;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.Decision;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Waits in the line of a key, in one place however many calls it takes, until there is a decision or the wait ends. Whoever does
 * not get the turn leaves no place behind. Of the thread that waits.
 */
public final class Claim implements Callers.Waiter {
    /** How long the giving up of a place may take before it is left to its ttl; nobody waits for it but who closes the client. */
    private static final long GIVING_UP = 2_000 * Clock.MS;

    /** {@code turn}: null when {@code refused} says why there is none. */
    public record Claimed(io.keyturn.v1.Turn turn, long askedAt, TurnOutcome<?> refused) {}

    private final Base base;
    private final String queue;
    private final String key;
    private final Callers callers;
    private final TurnSettings options;
    /** Empty: the call does not stay, so it has no place to keep. */
    private String ticket;
    /** Negative: the queue's wait is not known; the sidecar ends it. */
    private final long until;

    private final BackOff backOff = new BackOff();
    /** Without an end of its own a wait ends when the sidecar was away for so long. Negative: it is here. */
    private long patientUntil = -1;
    /** When the first call was sent that may have got the turn, if answers were lost since. Negative: none. */
    private long askedAt = -1;

    /** What the thread waits for, for {@link #callOff}. */
    private volatile CallFuture<?> asked;

    private volatile Thread waits;
    private volatile boolean isCalledOff;

    public Claim(Base base, Callers callers, String queue, String key, TurnSettings options) {
        this.base = base;
        this.queue = queue;
        this.key = key;
        this.callers = callers;
        this.options = options;
        Duration wait = options.waiting();
        this.ticket = wait != null && wait.isZero() ? "" : base.newId.get();
        this.until = wait == null ? -1 : Clock.after(Clock.now(), Clock.nanos(wait));
    }

    /**
     * What is made of the decision, before a client that is closed has stopped looking after who waits.
     *
     * @throws KeyturnException when the sidecar refuses or is away for too long; CANCELLED when the thread is interrupted
     */
    public <A> A await(Function<Claimed, A> make) {
        waits = Thread.currentThread();
        callers.add(this);
        try {
            return make.apply(decided());
        } finally {
            callers.remove(this);
        }
    }

    /** The client is closed: whoever waits leaves the line, and is told CANCELLED. From another thread. */
    @Override
    public void callOff() {
        isCalledOff = true;
        CallFuture<?> call = asked;
        if (call != null) call.cancel(true);
        LockSupport.unpark(waits);
    }

    private Claimed decided() {
        while (true) {
            long asked = Clock.now();
            if (askedAt < 0) askedAt = asked;
            Claimed claimed = once();
            if (Thread.currentThread().isInterrupted()) {
                giveUp(claimed == null ? null : claimed.turn());
                throw Failures.cancelled();
            }
            if (isCalledOff) {
                giveUp(claimed == null ? null : claimed.turn());
                throw Failures.closed();
            }
            if (claimed == null) continue;
            if (!(claimed.refused() instanceof TurnOutcome.Blocked<?>)) return claimed;
            if (until < 0 || Clock.now() >= until) {
                giveUp(null);
                return claimed;
            }
            LockSupport.parkNanos(asked + Clock.LEAST_BETWEEN - Clock.now());
        }
    }

    /** One call. Null: no answer, and another try is worth it. */
    private Claimed once() {
        try {
            Claimed claimed = ask();
            backOff.reset();
            patientUntil = -1;
            return claimed;
        } catch (KeyturnException error) {
            if (Thread.currentThread().isInterrupted() || isCalledOff) return null;
            // No connection ever came about, so there is no place to give up: asked for that, the next call would share its failure.
            if (Failures.isTlsForGood(error)) throw error;
            boolean isOverdue = error.code() == Status.Code.DEADLINE_EXCEEDED;
            if (patientUntil < 0) patientUntil = Clock.after(Clock.now(), isOverdue ? 0 : CallTerms.GRACE);
            long left = (until < 0 ? patientUntil : until) - Clock.now();
            if (ticket.isEmpty() || Failures.failureOf(error) != Failure.AWAY || left <= 0) {
                giveUp(null);
                throw error;
            }
            // The place of a call that was given up here is left. A new one must not be taken for it.
            if (isOverdue) ticket = base.newId.get();
            LockSupport.parkNanos(Math.min(backOff.next(Failures.retryAfter(error)), left));
            return null;
        }
    }

    private Claimed ask() {
        long part = until < 0 ? -1 : Math.max(0, Math.min(until - Clock.now(), Clock.LONGEST_CALL));
        CallTerms settings = part < 0 ? CallTerms.DEFAULT : CallTerms.nanos(part + CallTerms.GRACE);
        return options.isStrict() ? acquire(part, settings.leaving()) : enQueue(part, settings.leaving());
    }

    private Claimed enQueue(long part, CallTerms settings) {
        EnQueueRequest.Builder request = EnQueueRequest.newBuilder()
                .setQueue(queue)
                .setKey(key)
                .setTicket(ticket)
                .setConsumerId(options.consumerId())
                .setIdempotencyKey(options.idempotencyKey());
        if (part >= 0) request.setWait(Clock.duration(part));
        if (options.lease() != null) request.setLease(Protos.duration(options.lease()));
        EnQueueResponse answer = answerOf(base.transport.ask(Kinds.ENQUEUE, request.build(), settings));
        boolean isGranted = answer.getDecision() == Decision.DECISION_ACCEPT;
        return isGranted ? granted(answer.getTurn()) : refused(Answers.refused(answer));
    }

    private Claimed acquire(long part, CallTerms settings) {
        AcquireRequest.Builder request = AcquireRequest.newBuilder()
                .addQueues(queue)
                .setKey(key)
                .setTicket(ticket)
                .setConsumerId(options.consumerId())
                .setWait(Clock.duration(Math.max(0, part)));
        if (options.lease() != null) request.setLease(Protos.duration(options.lease()));
        var answer = answerOf(base.transport.ask(Kinds.ACQUIRE, request.build(), settings));
        if (answer.getDeliveriesCount() > 0) return granted(answer.getDeliveries(0).getTurn());
        return refused(new TurnOutcome.Blocked<>(OptionalInt.empty(), Optional.empty()));
    }

    /**
     * An interrupt ends the call. Without a session a turn that was given in the same moment is lost with its answer, and without a
     * ticket nobody could give it back: such a call does not stay, so its answer is waited for.
     */
    private <A> A answerOf(CallFuture<A> asked) {
        this.asked = asked;
        if (isCalledOff) asked.cancel(true);
        return ticket.isEmpty() && !base.isOrdered ? base.getUninterruptibly(asked) : base.get(asked);
    }

    private Claimed granted(io.keyturn.v1.Turn turn) {
        return new Claimed(turn, askedAt, null);
    }

    private Claimed refused(TurnOutcome<?> outcome) {
        askedAt = -1;
        return new Claimed(null, 0, outcome);
    }

    /**
     * Also gives back a turn that came at the last moment, which the ticket would be held for otherwise. Not in the caller's time:
     * a sidecar that is away or silent would make every wait longer than it was asked to be. Closing the client waits for it.
     */
    private void giveUp(io.keyturn.v1.Turn turn) {
        if (turn == null && ticket.isEmpty()) return;
        DeQueueRequest.Builder request =
                DeQueueRequest.newBuilder().setQueue(queue).setKey(key).setAbandoned(true);
        if (turn == null) request.setTicket(ticket);
        else request.setToken(turn.getToken());
        // If it fails too, the place ends with its `ticket_ttl`; why we leave matters more.
        base.transport.ask(Kinds.DEQUEUE, request.build(), CallTerms.nanos(GIVING_UP));
    }
}
