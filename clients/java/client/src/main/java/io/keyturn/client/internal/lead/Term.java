package io.keyturn.client.internal.lead;

import io.keyturn.client.FormerLeader;
import io.keyturn.client.HandOverCause;
import io.keyturn.client.TermLoss;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Interrupter;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.LeadSettings;
import io.keyturn.v1.LeadCommand;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * One term. By the clock of this process it lives until the last sign of life that was confirmed was sent, and its ttl. What is
 * public is for any thread, the rest is of the loop.
 */
public final class Term {
    /** On a stream that answers nothing more signs of life help nobody. */
    private static final int MOST_UNCONFIRMED = 16;

    /** Whose term it is. */
    interface Host {
        /** False: nothing is said. */
        boolean say(LeadCommand.Builder command);

        void loses(Term term, TermLoss loss);
    }

    enum Phase {
        /** Nobody knows yet since when it lives. */
        UNCONFIRMED,
        INAUGURATING,
        INAUGURATED,
        EXECUTING,
        /** The work has ended. */
        ENDED,
        HANDING_OVER
    }

    public final long number;
    public final String group;
    public final FormerLeader predecessor;
    public final LeadSettings settings;
    private final Base base;
    private final Host host;
    private final ArrayDeque<Long> sent = new ArrayDeque<>();
    private final CountDownLatch stopping = new CountDownLatch(1);
    /** Guarded by the lock; null: they were told. */
    private List<Runnable> listeners = new ArrayList<>();

    private final Object lock = new Object();
    /** Null: nothing of the application runs. Guarded by the lock. */
    private Interrupter running;
    Phase phase = Phase.UNCONFIRMED;
    /** Null: nobody has asked. */
    HandOverCause asked;
    private volatile long handOverBy = Clock.NEVER;
    private volatile TermLoss loss;
    private volatile boolean progressed = true;
    private volatile long until;
    private volatile boolean isOver;
    private long ttl;
    private ScheduledFuture<?> aliveTimer;
    private ScheduledFuture<?> lossTimer;

    Term(Base base, Host host, long number, String group, FormerLeader predecessor, LeadSettings settings) {
        this.base = base;
        this.host = host;
        this.number = number;
        this.group = group;
        this.predecessor = predecessor;
        this.settings = settings;
        ttl = Clock.nanos(settings.ttl());
        until = Long.MIN_VALUE;
    }

    public boolean isStopping() {
        return stopping.getCount() == 0;
    }

    public boolean awaitStopping(Duration longest) throws InterruptedException {
        return stopping.await(Clock.nanos(longest), TimeUnit.NANOSECONDS);
    }

    /** Null: it is not known to be lost. */
    public TermLoss loss() {
        return loss;
    }

    public void ensureHeld() {
        TermLoss known = loss;
        if (known != null) {
            throw Failures.termLost("term " + number + " of group \"" + group + "\" is lost: " + Says.why(known), known);
        }
    }

    public Optional<Duration> timeLeft() {
        long by = handOverBy;
        return by == Clock.NEVER ? Optional.empty() : Optional.of(Duration.ofNanos(Math.max(0, by - Clock.now())));
    }

    public void progress() {
        progressed = true;
    }

    /** Told at once, whatever callbacks of the application do. */
    void runs(Interrupter phase) {
        synchronized (lock) {
            running = phase;
            if (loss != null) phase.interrupt();
        }
    }

    public void onLost(Runnable told) {
        synchronized (lock) {
            if (listeners != null) {
                listeners.add(told);
                return;
            }
        }
        told.run();
    }

    /** At this moment: timers of a process that stood still come late. */
    boolean isKnownToLive() {
        return !isOver && loss == null && Clock.now() < until;
    }

    /** Says that it lives, and goes on doing so. */
    void live() {
        if (isOver || loss != null) return;
        boolean mustShow = settings.isManual() && phase == Phase.EXECUTING;
        if ((!mustShow || progressed) && sent.size() < MOST_UNCONFIRMED) {
            progressed = false;
            long now = Clock.now();
            if (host.say(Says.alive(number))) sent.add(now);
        }
        if (aliveTimer != null) aliveTimer.cancel(false);
        aliveTimer = base.after((ttl - settings.marginOf(ttl)) / 3, this::live);
    }

    /** The first that was sent is confirmed. */
    void kept(long confirmed) {
        Long at = sent.poll();
        if (at == null || isOver || loss != null) return;
        ttl = confirmed;
        until = Math.max(until, at + ttl - settings.marginOf(ttl));
        if (lossTimer != null) lossTimer.cancel(false);
        lossTimer = base.after(until - Clock.now(), () -> host.loses(this, TermLoss.UNREACHABLE));
    }

    /** What was sent is not confirmed any more. */
    void broke() {
        sent.clear();
    }

    long ttl() {
        return ttl;
    }

    /** Nothing of the worker runs. */
    boolean isIdle() {
        return phase == Phase.UNCONFIRMED || phase == Phase.INAUGURATED || phase == Phase.ENDED;
    }

    void askToHandOver(HandOverCause cause, long within) {
        asked = cause;
        handOverBy = Clock.after(Clock.now(), within);
        stopping.countDown();
    }

    /** False: it was lost before. */
    boolean lose(TermLoss why) {
        if (isOver || loss != null) return false;
        loss = why;
        stopTimers();
        stopping.countDown();
        List<Runnable> told;
        synchronized (lock) {
            told = listeners;
            listeners = null;
            if (running != null) running.interrupt();
        }
        // They are the application's: no code of it runs in the loop.
        if (!told.isEmpty()) base.callbacks.execute(() -> told.forEach(this::tell));
        return true;
    }

    private void tell(Runnable listener) {
        try {
            listener.run();
        } catch (Throwable thrown) {
            base.logger.log(Level.WARNING, "who was told that a term is lost threw", thrown);
        }
    }

    void end() {
        isOver = true;
        stopTimers();
    }

    private void stopTimers() {
        if (aliveTimer != null) aliveTimer.cancel(false);
        if (lossTimer != null) lossTimer.cancel(false);
    }
}
