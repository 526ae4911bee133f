package io.keyturn.client.internal.session;

import com.google.protobuf.MessageLite;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.client.internal.words.TurnName;
import io.keyturn.client.internal.words.TurnRequests;
import io.keyturn.v1.RenewRequest;
import io.keyturn.v1.RenewResponse;
import io.keyturn.v1.Turn;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How old a turn is that lives by its lease.
 *
 * <p>It was given some time between the call and its answer, and only the local clock is trusted: after a wait, or when a ticket
 * was told its turn once more, its lease may be nearly over. So before the answer of such a call is handed on the turn is
 * renewed, and counts as young as that renewal. For any thread.
 */
final class Confirmations {
    /** More than are ever between their answer and their holder. */
    private static final int REMEMBERED = 10_000;

    private final Transport transport;
    private final Map<TurnName, Long> confirmedAt = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<TurnName, Long> eldest) {
            return size() > REMEMBERED;
        }
    };

    Confirmations(Transport transport) {
        this.transport = transport;
    }

    /** The answer, once its turns are known to live, or known to be lost. */
    <Q extends MessageLite, A extends MessageLite> CallFuture<A> of(Kind<Q, A> kind, Q request, CallFuture<A> asked) {
        long askedAt = Clock.now();
        CallFuture<A> confirmed = new CallFuture<>();
        confirmed.onCancel(() -> asked.cancel(false));
        confirmed.onUntold(asked::untold);
        asked.whenComplete((answer, error) -> {
            if (error != null) {
                confirmed.fail(error);
                return;
            }
            long age = Clock.now() - askedAt;
            // A third of the lease is when a turn is renewed anyhow.
            List<Turn> old = kind.turns(answer).stream()
                    .filter(turn -> age > Clock.nanos(turn.getLease()) / 3)
                    .toList();
            if (old.isEmpty()) confirmed.tell(answer);
            else confirm(old).whenComplete((ignored, failed) -> confirmed.tell(answer));
        });
        return confirmed;
    }

    /** The later of the two moments from which its life may be counted. */
    long since(Turn turn, long askedAt) {
        synchronized (confirmedAt) {
            Long at = confirmedAt.remove(TurnName.of(turn));
            return at == null ? askedAt : Math.max(at, askedAt);
        }
    }

    private CallFuture<RenewResponse> confirm(List<Turn> turns) {
        long sentAt = Clock.now();
        long shortest = turns.stream().mapToLong(turn -> Clock.nanos(turn.getLease())).min().orElse(0);
        RenewRequest.Builder request = RenewRequest.newBuilder();
        // Where one was asked for all have it, and it is said again. Where each has its queue's nothing is tied.
        if (turns.stream().allMatch(turn -> Clock.nanos(turn.getLease()) == shortest)) {
            request.setLease(turns.get(0).getLease());
        }
        for (Turn turn : turns) request.addTurns(TurnRequests.refOf(turn));
        CallFuture<RenewResponse> asked =
                transport.ask(Kinds.RENEW, request.build(), CallTerms.nanos(Math.max(Clock.MS, shortest)));
        // Without an answer the turns are as old as they may be: whoever holds one is told that it is lost.
        CallFuture<RenewResponse> done = new CallFuture<>();
        asked.whenComplete((answer, error) -> {
            if (error == null) note(turns, answer, sentAt);
            done.tell(answer);
        });
        return done;
    }

    private void note(List<Turn> turns, RenewResponse answer, long sentAt) {
        synchronized (confirmedAt) {
            for (int at = 0; at < Math.min(turns.size(), answer.getResultsCount()); at++) {
                if (answer.getResults(at).getAlive()) confirmedAt.put(TurnName.of(turns.get(at)), sentAt);
            }
        }
    }
}
