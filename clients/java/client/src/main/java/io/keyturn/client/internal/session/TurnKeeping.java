package io.keyturn.client.internal.session;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.Books;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Losses;
import io.keyturn.client.internal.words.TurnName;
import io.keyturn.client.internal.words.TurnRequests;
import io.keyturn.v1.NackKind;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.Notice;
import io.keyturn.v1.NoticeKind;
import io.keyturn.v1.RenewRequest;
import io.keyturn.v1.RenewResult;
import io.keyturn.v1.Reply;
import io.keyturn.v1.Turn;
import io.keyturn.v1.TurnRef;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * What a session does for the turns it was given: it knows which the application holds, tells when one is lost, and gives back
 * those of which nobody learnt. All in the loop.
 */
final class TurnKeeping implements Books {
    /** How long a turn waits for a call with the ticket whose earlier call was given up: as the sidecar keeps a place. */
    private static final long UNCLAIMED = 10_000 * Clock.MS;
    /** Until a release that was refused is sent again. */
    private static final long RELEASE_AGAIN = 1_000 * Clock.MS;

    private final Renewals renewals;
    private final Consumer<OwnCommand> ask;
    private final GivenTurns turns = new GivenTurns();
    /** Turns whose answers reached no caller, and that a call with the same ticket may still ask for. */
    private final ReturningTurns<TurnRef> unclaimed = new ReturningTurns<>(UNCLAIMED);
    /** What the sidecar refused for now. */
    private final ReturningTurns<NackRequest> unreleased = new ReturningTurns<>(RELEASE_AGAIN);
    /** Tied turns that a new stream did not tell of, until a Renew does. */
    private final Set<Given> uncertain = new HashSet<>();
    private final GivenUpTurns givenUp;
    /** Null: there are none. */
    private Orphans orphans;

    /** @param margin how long before the end of its life the holder of a tied turn is told to stop */
    TurnKeeping(Renewals renewals, LongSupplier margin, Consumer<OwnCommand> ask) {
        this.renewals = renewals;
        this.ask = ask;
        this.givenUp = new GivenUpTurns(margin, this::giveBackGivenUp);
    }

    /** Turns that live as long as the session does. */
    int tied() {
        return turns.tied();
    }

    @Override
    public void given(Turn turn, boolean tied, String ticket) {
        TurnName name = TurnName.of(turn);
        if (orphans != null) orphans.claimed(name);
        Given known = turns.find(name);
        if (known == null) {
            givenUp.forget(name);
            turns.add(new Given(turn, tied, ticket));
            return;
        }
        known.told++;
        certain(known);
    }

    @Override
    public void undelivered(Turn turn, String ticket) {
        TurnRef ref = TurnRequests.refOf(turn);
        if (turns.find(TurnName.of(ref)) != null) return;
        if (ticket.isEmpty() || unclaimed.isFull()) giveBack(ref);
        else unclaimed.add(ref);
    }

    /** Turns that were given to a call for which nobody waited any more when it was told. */
    <Q extends MessageLite, A extends MessageLite> void untold(WorkerCommand<Q, A> command, A answer) {
        List<Turn> given = command.kind.turns(answer);
        if (given.isEmpty()) return;
        for (Turn turn : given) forget(turn);
        command.kind.book(command.request, answer, this, true, command.leave);
    }

    private void forget(Turn turn) {
        Given given = turns.find(TurnName.of(turn));
        if (given == null || --given.told > 0 || !given.holders.isEmpty()) return;
        uncertain.remove(given);
        turns.remove(given);
    }

    @Override
    public void settled(String queue, String key, long token, String ticket) {
        Given given = token == 0 ? turns.findByTicket(queue, key, ticket) : turns.find(new TurnName(queue, token));
        if (given == null) return;
        for (Held held : given.holders) renewals.drop(held);
        uncertain.remove(given);
        turns.remove(given);
    }

    @Override
    public void lost(TurnName name, TurnLoss why) {
        Given given = turns.find(name);
        if (given != null) lose(given, why);
    }

    /** It settles a turn that lives as long as the session: should it not come through, nobody else would end it. */
    boolean isEndedBy(WorkerCommand<?, ?> command) {
        TurnName settles = command.settles();
        if (settles == null) return false;
        Given given = turns.find(settles);
        return given != null && given.tied;
    }

    /** A turn whose lease could not be renewed. */
    void lose(Held held, TurnLoss why) {
        Given given = turns.find(TurnName.of(held.turn));
        if (given != null) lose(given, why);
        held.lose(why);
    }

    private void lose(Given given, TurnLoss told) {
        TurnLoss why = isOver(given) ? TurnLoss.UNREACHABLE : told;
        for (Held held : given.holders) renewals.drop(held);
        uncertain.remove(given);
        if (given.tied && why == TurnLoss.UNREACHABLE) givenUp.add(given);
        turns.lose(given, why);
    }

    /** It was lost by the clock before anything was told. */
    private boolean isOver(Given given) {
        for (Held held : given.holders) if (renewals.isOver(held)) return true;
        return given.safeUntil <= Clock.now();
    }

    void hold(Held held, long since) {
        TurnName name = TurnName.of(held.turn);
        Given given = turns.find(name);
        TurnLoss loss = given == null ? turns.takeLoss(name) : null;
        if (loss != null) {
            // It begins all the same, and has the time to end.
            Given lost = givenUp.find(name);
            if (lost != null) lost.holders.add(held);
            held.lose(loss);
            return;
        }
        if (given != null) given.holders.add(held);
        // Not tied, or it has an end that may be that of a lease: then it is renewed as well, which harms no turn.
        boolean livesBySession = given != null && given.tied && !held.turn.hasLeaseExpiresAt();
        if (!livesBySession) renewals.keep(held, since);
    }

    /** Its holder has come to the end. True: there is something to be sent. */
    boolean release(Held held) {
        renewals.drop(held);
        TurnName name = TurnName.of(held.turn);
        Given given = turns.find(name);
        if (given == null) return givenUp.released(name, held);
        given.holders.remove(held);
        return false;
    }

    /** @param open calls that are not answered: what they settle is theirs to end, and they may be answered with a turn */
    void notice(Notice notice, Supplier<List<WorkerCommand<?, ?>>> open) {
        if (!notice.hasTurn()) return;
        TurnName name = TurnName.of(notice.getTurn());
        if (notice.getKind() == NoticeKind.NOTICE_KIND_TURN_KEPT) kept(notice.getTurn(), name, open.get());
        if (notice.getKind() != NoticeKind.NOTICE_KIND_TURN_LOST) return;
        if (orphans != null) orphans.claimed(name);
        lost(name, Losses.of(notice.getCause()));
    }

    /** What the answer to the hello could not say: the session has this turn still. One that nobody knows goes back. */
    private void kept(Turn turn, TurnName name, List<WorkerCommand<?, ?>> open) {
        Given given = turns.find(name);
        Given lost = givenUp.find(name);
        if (given != null) {
            certain(given);
            return;
        }
        for (WorkerCommand<?, ?> command : open) if (name.equals(command.settles())) return;
        if (lost != null) {
            givenUp.found(lost);
            return;
        }
        if (orphans == null) orphans = new Orphans(List.of(), List.of(), this::giveBack);
        orphans.add(TurnRequests.refOf(turn), open);
        if (orphans.isEmpty()) orphans = null;
    }

    /** A call of the application is open no more. */
    void done(WorkerCommand<?, ?> command) {
        if (orphans == null) return;
        orphans.done(command);
        if (orphans.isEmpty()) orphans = null;
    }

    /**
     * A new stream has the session. Turns of which nobody here knows are given back; those that are known here and not there are
     * asked for, and until the answer are no safer than they were.
     *
     * @param open calls that are not answered: what they settle is theirs to end
     * @param stopAt until when the turns were safe before
     */
    void attached(List<TurnRef> told, List<WorkerCommand<?, ?>> open, long stopAt) {
        Set<TurnName> settling = new HashSet<>();
        for (WorkerCommand<?, ?> command : open) if (command.settles() != null) settling.add(command.settles());
        Set<Given> here = new HashSet<>();
        List<TurnRef> nobodys = new ArrayList<>();
        for (TurnRef turn : told) {
            Given given = turns.find(TurnName.of(turn));
            Given lost = givenUp.find(TurnName.of(turn));
            if (given != null) here.add(given);
            else if (settling.contains(TurnName.of(turn))) continue;
            else if (lost != null) givenUp.found(lost);
            else nobodys.add(turn);
        }
        givenUp.keepOnly(told);
        Orphans found = new Orphans(nobodys, open, this::giveBack);
        orphans = found.isEmpty() ? null : found;
        List<Given> missing = new ArrayList<>();
        for (Given given : turns.all()) {
            if (here.contains(given)) certain(given);
            else if (given.tied) missing.add(given);
        }
        askFor(missing, stopAt);
    }

    /** The stream is gone, and with it what was to be told on it. */
    void detached() {
        orphans = null;
        // A new stream tells of those that live.
        unclaimed.clear();
        unreleased.clear();
        givenUp.detached();
        // Nobody would tell of the end of a lease. Who holds such a turn has it renewed; of the others nothing is kept.
        for (Given given : List.copyOf(turns.all())) if (!given.tied) turns.remove(given);
    }

    /** When {@link #tick} is to be called. */
    long nextAt(long stopAt) {
        long next = Math.min(givenUp.nextAt(), turns.tied() > 0 ? stopAt : Clock.NEVER);
        for (Given given : uncertain) next = Math.min(next, given.safeUntil);
        return Math.min(next, Math.min(unclaimed.nextAt(), unreleased.nextAt()));
    }

    /** True: tied turns were given up, which the session may have still. */
    boolean tick(long now, long stopAt) {
        boolean isSilent = turns.tied() > 0 && now >= stopAt;
        for (Given given : List.copyOf(isSilent ? turns.all() : uncertain)) {
            if (given.tied && (isSilent || now >= given.safeUntil)) lose(given, TurnLoss.UNREACHABLE);
        }
        givenUp.tick(now);
        for (TurnRef turn : unclaimed.take(now)) if (turns.find(TurnName.of(turn)) == null) giveBack(turn);
        for (NackRequest request : unreleased.take(now)) giveBack(request);
        return isSilent;
    }

    void loseAll(TurnLoss why) {
        renewals.close(why);
        for (Given given : List.copyOf(turns.all())) lose(given, why);
    }

    private void askFor(List<Given> missing, long stopAt) {
        for (Given given : missing) {
            given.safeUntil = Math.min(given.safeUntil, stopAt);
            uncertain.add(given);
        }
        for (int at = 0; at < missing.size(); at += TurnRequests.MOST_RENEWED) {
            List<Given> batch = missing.subList(at, Math.min(missing.size(), at + TurnRequests.MOST_RENEWED));
            RenewRequest.Builder request = RenewRequest.newBuilder();
            for (Given given : batch) request.addTurns(TurnRequests.refOf(given.turn));
            ask.accept(new OwnCommand(command -> command.setRenew(request), reply -> told(batch, reply)));
        }
    }

    private void told(List<Given> batch, Reply reply) {
        // No answer leaves them as uncertain as they are.
        int count = reply.hasRenew() ? Math.min(batch.size(), reply.getRenew().getResultsCount()) : 0;
        for (int at = 0; at < count; at++) {
            Given given = batch.get(at);
            RenewResult result = reply.getRenew().getResults(at);
            boolean isKnown = turns.find(given.name()) == given;
            // Its holder was told to stop before this answer came. A sidecar that adopted it would keep it for ever.
            if (!isKnown && result.getAlive()) givenUp.found(given);
            else if (result.getAlive()) certain(given);
            else if (isKnown) lose(given, Losses.of(result.getCause()));
        }
    }

    private void certain(Given given) {
        given.safeUntil = Clock.NEVER;
        uncertain.remove(given);
    }

    /** With items that somebody worked on it counts an attempt, as when the sidecar notices the silence first. */
    private void giveBackGivenUp(Given given) {
        TurnRef turn = TurnRequests.refOf(given.turn);
        boolean wasTried = given.wasInUse && given.turn.getAttempt() > 0;
        giveBack(wasTried ? TurnRequests.silent(turn) : TurnRequests.release(turn));
    }

    /** Releases the turn, as if it had not been given. */
    private void giveBack(TurnRef turn) {
        giveBack(TurnRequests.release(turn));
    }

    /**
     * Ends the turn. Should that be lost too, the next hello names the turn again. What is refused for now (NO_HOME,
     * STORE_UNAVAILABLE) is sent again: the session would keep the turn. A queue that gives its items once takes no attempt back: its
     * items are released.
     */
    private void giveBack(NackRequest request) {
        ask.accept(new OwnCommand(command -> command.setNack(request), reply -> givenBack(request, reply), true));
    }

    private void givenBack(NackRequest request, Reply reply) {
        int refused = reply.hasError() ? reply.getError().getCode() : 0;
        boolean isForNow = refused == Status.Code.UNAVAILABLE.value();
        if (refused == Status.Code.FAILED_PRECONDITION.value() && request.getKind() != NackKind.NACK_KIND_RELEASE) {
            giveBack(TurnRequests.released(request));
        } else if (isForNow && !unreleased.isFull()) {
            unreleased.add(request);
        } else {
            givenUp.forget(new TurnName(request.getQueue(), request.getToken()));
        }
    }
}
