package io.keyturn.client.internal.session;

import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.client.internal.words.Losses;
import io.keyturn.client.internal.words.TurnRequests;
import io.keyturn.v1.RenewRequest;
import io.keyturn.v1.RenewResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.function.BiConsumer;
import java.util.function.LongUnaryOperator;

/**
 * Keeps turns alive that live by their lease: each is renewed when a third of it has passed, many with one Renew, and one that
 * could not be renewed is given up before its lease may have ended. All in the loop.
 *
 * <p>The end of a lease is reckoned from the moment the last good renewal was <em>sent</em>, by the local monotonic clock: so a
 * turn is given up rather too early than too late.
 */
final class Renewals {
    private final Transport transport;
    private final Loop loop;
    private final LongUnaryOperator marginOf;
    private final BiConsumer<Held, TurnLoss> onLoss;
    private final Map<Held, Life> lives = new HashMap<>();
    private ScheduledFuture<?> timer;
    private long armedFor = Clock.NEVER;

    Renewals(Transport transport, Loop loop, LongUnaryOperator marginOf, BiConsumer<Held, TurnLoss> onLoss) {
        this.transport = transport;
        this.loop = loop;
        this.marginOf = marginOf;
        this.onLoss = onLoss;
    }

    /** {@code since}: when the turn was given, or confirmed, at the latest: what may have ended since is lost at once. */
    void keep(Held held, long since) {
        if (held.isLost() || lives.containsKey(held)) return;
        long lease = Clock.nanos(held.turn.getLease());
        Life life = new Life(lease, marginOf.applyAsLong(lease));
        life.confirmed(since);
        if (life.loseAt <= Clock.now()) {
            onLoss.accept(held, TurnLoss.UNREACHABLE);
            return;
        }
        lives.put(held, life);
        arm(life.nextAt());
    }

    /**
     * Its end by this clock is past: it was lost then, though a process that was held up tells its holder only now. So it does not
     * depend on what such a process reads first, its clock or what the sidecar says.
     */
    boolean isOver(Held held) {
        Life life = lives.get(held);
        return life != null && life.loseAt <= Clock.now();
    }

    void drop(Held held) {
        lives.remove(held);
        if (lives.isEmpty()) disarm();
    }

    /** Nothing is renewed any more, and every turn is lost. */
    void close(TurnLoss why) {
        List<Held> all = List.copyOf(lives.keySet());
        lives.clear();
        disarm();
        for (Held held : all) onLoss.accept(held, why);
    }

    private void lose(Held held, TurnLoss why) {
        drop(held);
        onLoss.accept(held, why);
    }

    private void disarm() {
        if (timer != null) timer.cancel(false);
        timer = null;
        armedFor = Clock.NEVER;
    }

    private void arm(long at) {
        if (at >= armedFor) return;
        disarm();
        armedFor = at;
        timer = loop.after(at - Clock.now(), this::tick);
    }

    private void tick() {
        armedFor = Clock.NEVER;
        timer = null;
        long now = Clock.now();
        List<Held> due = new ArrayList<>();
        List<Held> over = new ArrayList<>();
        long next = Clock.NEVER;
        for (Map.Entry<Held, Life> entry : lives.entrySet()) {
            Life life = entry.getValue();
            if (life.loseAt <= now) {
                over.add(entry.getKey());
                continue;
            }
            if (life.isDue(now)) {
                life.asking = true;
                due.add(entry.getKey());
            }
            next = Math.min(next, life.nextAt());
        }
        for (Held held : over) lose(held, TurnLoss.UNREACHABLE);
        arm(next);
        for (List<Held> alike : byLease(due)) {
            for (int at = 0; at < alike.size(); at += TurnRequests.MOST_RENEWED) {
                renew(alike.subList(at, Math.min(alike.size(), at + TurnRequests.MOST_RENEWED)), now);
            }
        }
    }

    /** All of one Renew get the same lease, which is said: a sidecar that has just started would else tie them for good. */
    private void renew(List<Held> batch, long now) {
        RenewRequest.Builder request = RenewRequest.newBuilder().setLease(batch.get(0).turn.getLease());
        long timeout = Clock.NEVER;
        for (Held held : batch) {
            request.addTurns(TurnRequests.refOf(held.turn));
            Life life = lives.get(held);
            if (life != null) timeout = Math.min(timeout, Math.min(life.lease / 3, life.loseAt - now));
        }
        transport.askOwn(Kinds.RENEW, request.build(), Math.max(Clock.MS, timeout)).whenComplete((answer, error) -> {
            // Whatever went wrong, a turn is ours until its lease ends, and then it is not.
            if (error == null) renewed(batch, now, answer);
            else again(batch);
        });
    }

    private void renewed(List<Held> batch, long sentAt, RenewResponse answer) {
        for (int at = 0; at < batch.size(); at++) {
            Held held = batch.get(at);
            Life life = lives.get(held);
            if (life == null) continue;
            life.asking = false;
            boolean isLost = at < answer.getResultsCount() && !answer.getResults(at).getAlive();
            if (isLost) {
                lose(held, isOver(held) ? TurnLoss.UNREACHABLE : Losses.of(answer.getResults(at).getCause()));
            } else {
                life.confirmed(sentAt);
                arm(life.nextAt());
            }
        }
    }

    private void again(List<Held> batch) {
        long now = Clock.now();
        for (Held held : batch) {
            Life life = lives.get(held);
            if (life == null) continue;
            life.asking = false;
            life.renewAt = now + life.lease / 10;
            arm(life.nextAt());
        }
    }

    private static Iterable<List<Held>> byLease(List<Held> turns) {
        Map<com.google.protobuf.Duration, List<Held>> alike = new LinkedHashMap<>();
        for (Held held : turns) alike.computeIfAbsent(held.turn.getLease(), lease -> new ArrayList<>()).add(held);
        return alike.values();
    }

    private static final class Life {
        final long lease;
        final long margin;
        /** A renewal is on its way. */
        boolean asking;
        long renewAt;
        long loseAt;

        Life(long lease, long margin) {
            this.lease = lease;
            this.margin = margin;
        }

        long nextAt() {
            return asking ? loseAt : Math.min(renewAt, loseAt);
        }

        /** Those that are due a little later are renewed together with those that are due now. */
        boolean isDue(long now) {
            return !asking && renewAt - lease / 12 <= now;
        }

        /** It lived when what was sent at this moment was answered. */
        void confirmed(long sentAt) {
            loseAt = sentAt + lease - margin;
            renewAt = sentAt + lease / 3;
        }
    }
}
