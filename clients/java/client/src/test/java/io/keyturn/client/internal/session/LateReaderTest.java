package io.keyturn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.MessageLite;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.v1.LossCause;
import io.keyturn.v1.Notice;
import io.keyturn.v1.NoticeKind;
import io.keyturn.v1.RenewResponse;
import io.keyturn.v1.RenewResult;
import io.keyturn.v1.Turn;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A process that stood still: why a turn was lost does not depend on what it reads first, its clock or what the sidecar says. */
final class LateReaderTest {
    private static final long SECONDS = 30;
    /** Long enough that a busy machine does what is to be done before it is over. */
    private static final long SHORT = 3_000 * Clock.MS;

    private static final long LONG = 600_000 * Clock.MS;

    private final Loop loop = new Loop(System.getLogger("test"));
    private final CountDownLatch goesOn = new CountDownLatch(1);
    private final CompletableFuture<CallFuture<RenewResponse>> renewal = new CompletableFuture<>();
    private final List<TurnLoss> told = new ArrayList<>();

    private final Renewals renewals = new Renewals(new Asked(), loop, lease -> 0, (held, why) -> told.add(why));
    private final TurnKeeping turns = new TurnKeeping(renewals, () -> 0, command -> {});

    /** It hands a renewal to the test. */
    private final class Asked implements Transport {
        @Override
        public <Q extends MessageLite, A extends MessageLite> CallFuture<A> ask(Kind<Q, A> kind, Q request, CallTerms terms) {
            throw new UnsupportedOperationException();
        }

        @Override
        @SuppressWarnings("unchecked") // Nothing but a Renew is asked for.
        public <Q extends MessageLite, A extends MessageLite> CallFuture<A> askOwn(Kind<Q, A> kind, Q request, long timeout) {
            CallFuture<RenewResponse> answer = new CallFuture<>();
            renewal.complete(answer);
            return (CallFuture<A>) answer;
        }

        @Override
        public Held hold(Turn turn, long askedAt) {
            throw new UnsupportedOperationException();
        }

        @Override
        public KeyturnException unreachable() {
            throw new UnsupportedOperationException();
        }

        @Override
        public CallFuture<Void> close() {
            throw new UnsupportedOperationException();
        }
    }

    @AfterEach
    void end() throws InterruptedException {
        goesOn.countDown();
        loop.shutdown();
        loop.awaitEnd(SECONDS * 1_000 * Clock.MS);
    }

    /** No timer goes off from now on. */
    private void standStill() throws Exception {
        CountDownLatch stands = new CountDownLatch(1);
        loop.execute(() -> {
            stands.countDown();
            try {
                goesOn.await();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        });
        stands.await();
    }

    private static void until(long moment) {
        while (Clock.now() < moment) LockSupport.parkNanos(moment - Clock.now());
    }

    private static Turn turn(long lease) {
        return Turn.newBuilder()
                .setQueue("q")
                .setKey("k")
                .setToken(7)
                .setLease(Clock.duration(lease))
                .build();
    }

    private TurnLoss noticed(long lease, boolean isLate) throws Exception {
        standStill();
        Held held = new Held(turn(lease), one -> {});
        long since = Clock.now();
        turns.given(held.turn, false, "");
        turns.hold(held, since);
        if (isLate) until(since + lease);
        Notice notice = Notice.newBuilder()
                .setKind(NoticeKind.NOTICE_KIND_TURN_LOST)
                .setCause(LossCause.LOSS_CAUSE_LEASE_EXPIRED)
                .setTurn(held.turn)
                .build();
        turns.notice(notice, List::of);
        return held.loss();
    }

    private List<TurnLoss> renewed(long lease, boolean isLate) throws Exception {
        // It is due, and asked for at once.
        long since = Clock.now() - lease / 2;
        loop.execute(() -> renewals.keep(new Held(turn(lease), one -> {}), since));
        CallFuture<RenewResponse> answer = renewal.get(SECONDS, TimeUnit.SECONDS);
        standStill();
        if (isLate) until(since + lease);
        RenewResult lost = RenewResult.newBuilder()
                .setCause(LossCause.LOSS_CAUSE_LEASE_EXPIRED)
                .build();
        answer.tell(RenewResponse.newBuilder().addResults(lost).build());
        return told;
    }

    @Test
    void aNoticeThatIsReadInTimeSaysWhy() throws Exception {
        assertEquals(TurnLoss.LEASE_EXPIRED, noticed(LONG, false));
    }

    @Test
    void aNoticeThatIsReadAfterTheEndSaysNothingNew() throws Exception {
        assertEquals(TurnLoss.UNREACHABLE, noticed(SHORT / 30, true));
    }

    @Test
    void theAnswerToARenewalThatIsReadInTimeSaysWhy() throws Exception {
        assertEquals(List.of(TurnLoss.LEASE_EXPIRED), renewed(LONG, false));
    }

    @Test
    void theAnswerToARenewalThatIsReadAfterTheEndSaysNothingNew() throws Exception {
        assertEquals(List.of(TurnLoss.UNREACHABLE), renewed(SHORT, true));
    }
}
