package io.keyturn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.v1.Command;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.Notice;
import io.keyturn.v1.NoticeKind;
import io.keyturn.v1.Reply;
import io.keyturn.v1.Turn;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A home of a cluster tells, after the answer to the hello, which turns the session has there. */
final class TurnKeptTest {
    private static final long MARGIN = 60_000 * Clock.MS;

    private final List<OwnCommand> asked = new ArrayList<>();
    private final TurnKeeping turns = new TurnKeeping(
            new Renewals(null, null, life -> 0, (lost, why) -> {}), () -> MARGIN, asked::add);

    private static Turn turn(long token) {
        return Turn.newBuilder().setQueue("q").setKey("k").setToken(token).build();
    }

    private static WorkerCommand<?, ?> enQueue(String ticket) {
        return open(
                Kinds.ENQUEUE,
                EnQueueRequest.newBuilder().setQueue("q").setKey("k").setTicket(ticket).build());
    }

    private static <Q extends MessageLite, A extends MessageLite> WorkerCommand<Q, A> open(Kind<Q, A> kind, Q request) {
        return new WorkerCommand<>(kind, request, CallTerms.DEFAULT, null, null, null);
    }

    private void tellKept(long token, WorkerCommand<?, ?>... open) {
        Notice notice = Notice.newBuilder()
                .setKind(NoticeKind.NOTICE_KIND_TURN_KEPT)
                .setTurn(turn(token))
                .build();
        turns.notice(notice, () -> List.of(open));
    }

    private List<Long> givenBack() {
        List<Long> tokens = new ArrayList<>();
        for (OwnCommand one : asked) {
            Command.Builder command = Command.newBuilder();
            one.put(command);
            if (command.hasNack()) tokens.add(command.getNack().getToken());
        }
        return tokens;
    }

    private Held held(long token) {
        turns.given(turn(token), true, "");
        Held held = new Held(turn(token), one -> {});
        turns.hold(held, Clock.now());
        return held;
    }

    @Test
    void oneThatIsKnownIsAsSafeAsTheNewStream() {
        for (boolean isTold : List.of(true, false)) {
            long token = isTold ? 7 : 8;
            Held held = held(token);
            turns.detached();
            // The hello did not name it, and no Renew is answered: it lives until then at the most.
            long until = Clock.now() + MARGIN;
            turns.attached(List.of(), List.of(), until);
            if (isTold) tellKept(token);
            turns.tick(until, Clock.NEVER);
            assertEquals(!isTold, held.isLost());
            assertEquals(List.of(), givenBack());
            turns.settled("q", "k", token, "");
        }
    }

    @Test
    void oneThatNobodyKnowsGoesBack() {
        tellKept(9);
        assertEquals(List.of(9L), givenBack());
    }

    private void refuse(int command, Status.Code code) {
        com.google.rpc.Status error = com.google.rpc.Status.newBuilder().setCode(code.value()).build();
        asked.get(command).answered(Reply.newBuilder().setError(error).build());
    }

    @Test
    void aReleaseThatIsRefusedForNowIsSentAgainAfterASecondUntilItIsSettled() {
        tellKept(9);
        long before = Clock.now();
        refuse(0, Status.Code.UNAVAILABLE);
        long next = turns.nextAt(Clock.NEVER);
        assertTrue(next >= before + 1_000 * Clock.MS && next <= Clock.now() + 1_000 * Clock.MS, "not after a second");
        turns.tick(next - 1, Clock.NEVER);
        assertEquals(List.of(9L), givenBack());
        turns.tick(next, Clock.NEVER);
        assertEquals(List.of(9L, 9L), givenBack());
        refuse(1, Status.Code.ABORTED);
        assertEquals(Clock.NEVER, turns.nextAt(Clock.NEVER));
    }

    @Test
    void aReleaseThatIsRefusedForNowIsLeftToTheNextStreamWhenItsStreamBreaks() {
        tellKept(9);
        refuse(0, Status.Code.UNAVAILABLE);
        turns.detached();
        assertEquals(Clock.NEVER, turns.nextAt(Clock.NEVER));
    }

    @Test
    void itWaitsForAnOpenCallThatMayBeAnsweredWithIt() {
        WorkerCommand<?, ?> call = enQueue("t");
        tellKept(9, call);
        tellKept(10, call);
        tellKept(10, call);
        assertEquals(List.of(), givenBack());
        turns.given(turn(9), true, "t");
        turns.done(call);
        assertEquals(List.of(10L), givenBack());
    }

    @Test
    void aCallWithoutATicketIsNotAnsweredWithIt() {
        tellKept(9, enQueue(""));
        assertEquals(List.of(9L), givenBack());
    }

    @Test
    void itIsLeftToTheCallThatSettlesIt() {
        NackRequest nack = NackRequest.newBuilder().setQueue("q").setKey("k").setToken(9).build();
        tellKept(9, open(Kinds.NACK, nack));
        assertEquals(List.of(), givenBack());
    }

    @Test
    void oneThatASilenceTookGoesBackWhenItsHolderHasEnded() {
        Held held = held(7);
        long now = Clock.now();
        turns.tick(now, now);
        assertEquals(TurnLoss.UNREACHABLE, held.loss());
        tellKept(7);
        assertEquals(List.of(), givenBack());
        turns.release(held);
        assertEquals(List.of(7L), givenBack());
    }
}
