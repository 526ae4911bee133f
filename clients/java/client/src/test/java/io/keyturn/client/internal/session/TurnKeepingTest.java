package io.keyturn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.TurnRequests;
import io.keyturn.v1.Command;
import io.keyturn.v1.NackKind;
import io.keyturn.v1.RenewResponse;
import io.keyturn.v1.RenewResult;
import io.keyturn.v1.Reply;
import io.keyturn.v1.Turn;
import io.keyturn.v1.TurnRef;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Turns that a silence took, and that the session has still when it is back. */
final class TurnKeepingTest {
    private static final long MARGIN = 60_000 * Clock.MS;
    private static final Turn TURN =
            Turn.newBuilder().setQueue("q").setKey("k").setToken(7).build();
    private static final List<TurnRef> THERE = List.of(TurnRequests.refOf(TURN));

    private final List<OwnCommand> asked = new ArrayList<>();
    private final Held held = new Held(TURN, one -> {});
    private final TurnKeeping turns = new TurnKeeping(
            new Renewals(null, null, life -> 0, (lost, why) -> {}), () -> MARGIN, asked::add);

    private static Command commandOf(OwnCommand asked) {
        Command.Builder command = Command.newBuilder();
        asked.put(command);
        return command.build();
    }

    private List<Long> givenBack() {
        return asked.stream()
                .map(TurnKeepingTest::commandOf)
                .filter(Command::hasNack)
                .map(command -> command.getNack().getToken())
                .toList();
    }

    private void silence() {
        long now = Clock.now();
        assertTrue(turns.tick(now, now));
    }

    /** A turn, held or not, that is told lost for silence. */
    private void lostInSilence(boolean isHeld) {
        turns.given(TURN, true, "");
        if (isHeld) turns.hold(held, Clock.now());
        silence();
        assertEquals(isHeld, held.loss() == TurnLoss.UNREACHABLE);
        turns.detached();
    }

    private void attached() {
        turns.attached(THERE, List.of(), Clock.NEVER);
    }

    @Test
    void isGivenBackWhenItsHolderHasEndedNotUnderIt() {
        lostInSilence(true);
        attached();
        assertEquals(List.of(), givenBack());
        assertTrue(turns.release(held));
        assertEquals(List.of(7L), givenBack());
        assertFalse(turns.release(held));
        turns.tick(Clock.now() + 2 * MARGIN, Clock.NEVER);
        assertEquals(List.of(7L), givenBack());
    }

    @Test
    void isGivenBackAMarginAfterItWasToldThoughItsHolderGoesOn() {
        lostInSilence(true);
        attached();
        long next = turns.nextAt(Clock.NEVER);
        assertTrue(next > Clock.now() && next <= Clock.now() + MARGIN, "it is not looked after in time");
        turns.tick(next - 1, Clock.NEVER);
        assertEquals(List.of(), givenBack());
        turns.tick(next, Clock.NEVER);
        assertEquals(List.of(7L), givenBack());
        assertFalse(turns.release(held));
        assertEquals(List.of(7L), givenBack());
    }

    @Test
    void isGivenBackAtOnceWhereNobodyHoldsIt() {
        lostInSilence(false);
        attached();
        assertEquals(List.of(7L), givenBack());
    }

    @Test
    void isGivenBackAtOnceWhenItsHolderHasEndedBefore() {
        lostInSilence(true);
        assertFalse(turns.release(held));
        attached();
        assertEquals(List.of(7L), givenBack());
    }

    @Test
    void waitsForItsHolderOnTheNextStreamTooWhenThatBreaks() {
        lostInSilence(true);
        attached();
        turns.detached();
        assertEquals(Clock.NEVER, turns.nextAt(Clock.NEVER));
        assertFalse(turns.release(held), "there is no stream");
        attached();
        assertEquals(List.of(7L), givenBack());
    }

    @Test
    void waitsForItsHolderWhenARenewFindsItAlive() {
        turns.given(TURN, true, "");
        turns.hold(held, Clock.now());
        turns.detached();
        turns.attached(List.of(), List.of(), Clock.NEVER);
        OwnCommand renew = asked.get(0);
        assertTrue(commandOf(renew).hasRenew());
        silence();
        assertEquals(TurnLoss.UNREACHABLE, held.loss());
        RenewResponse alive = RenewResponse.newBuilder().addResults(RenewResult.newBuilder().setAlive(true)).build();
        renew.answered(Reply.newBuilder().setRenew(alive).build());
        assertEquals(List.of(), givenBack());
        assertTrue(turns.release(held));
        assertEquals(List.of(7L), givenBack());
    }

    /** It was given up while somebody worked on its items, and the session has it still. */
    private void triedAndLost(boolean isHeld) {
        Turn turn = TURN.toBuilder().setAttempt(1).build();
        Held worker = new Held(turn, one -> {});
        turns.given(turn, true, "");
        if (isHeld) turns.hold(worker, Clock.now());
        silence();
        turns.detached();
        turns.release(worker);
        attached();
    }

    private List<NackKind> kinds() {
        return asked.stream().map(one -> commandOf(one).getNack().getKind()).toList();
    }

    private void refuse(int command, Status.Code code) {
        com.google.rpc.Status error = com.google.rpc.Status.newBuilder().setCode(code.value()).build();
        asked.get(command).answered(Reply.newBuilder().setError(error).build());
    }

    @Test
    void countsAnAttemptWhenSomebodyWorkedOnItsItemsAlsoWhenThatIsRefusedForNow() {
        triedAndLost(true);
        assertEquals(List.of(NackKind.NACK_KIND_RETRY), kinds());
        assertEquals("the worker was silent for longer than its session lives", commandOf(asked.get(0)).getNack().getError());
        refuse(0, Status.Code.UNAVAILABLE);
        turns.tick(turns.nextAt(Clock.NEVER), Clock.NEVER);
        assertEquals(List.of(NackKind.NACK_KIND_RETRY, NackKind.NACK_KIND_RETRY), kinds());
    }

    @Test
    void isReleasedWhereTheQueueGivesItsItemsOnce() {
        triedAndLost(true);
        refuse(0, Status.Code.FAILED_PRECONDITION);
        assertEquals(List.of(NackKind.NACK_KIND_RETRY, NackKind.NACK_KIND_RELEASE), kinds());
        refuse(1, Status.Code.FAILED_PRECONDITION);
        assertEquals(2, asked.size());
    }

    @Test
    void countsNoneWhenNobodyHadBegun() {
        triedAndLost(false);
        assertEquals(List.of(NackKind.NACK_KIND_RELEASE), kinds());
    }

    @Test
    void isNotGivenBackWhenTheApplicationHasItAgain() {
        lostInSilence(true);
        attached();
        turns.given(TURN, true, "ticket");
        turns.release(held);
        turns.tick(Clock.now() + 2 * MARGIN, Clock.NEVER);
        assertEquals(List.of(), givenBack());
    }
}
