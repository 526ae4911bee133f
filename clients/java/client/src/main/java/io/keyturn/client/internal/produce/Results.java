package io.keyturn.client.internal.produce;

import io.grpc.Status;
import io.keyturn.client.ItemFailedException;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.CallFuture;
import io.keyturn.client.internal.session.Patience;
import io.keyturn.client.internal.words.Answers;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.v1.AwaitRequest;
import io.keyturn.v1.AwaitResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Waits for the end of an item, in as many calls as it takes. */
public final class Results {

    /** For the answer that the time is over, on its way. */
    private static final long ANSWERING = 100 * Clock.MS;
    /** Whoever asks without waiting wants to know: so long an answer may take. */
    private static final long LEAST_CALL = 1_000 * Clock.MS;

    private final Base base;
    private final String queue;
    private final String itemId;
    private final Duration timeout;
    private final long until;
    private final CallFuture<Optional<byte[]>> done;

    private Results(Base base, String queue, String itemId, Duration timeout) {
        this.base = base;
        this.queue = queue;
        this.itemId = itemId;
        this.timeout = timeout;
        this.until = Clock.after(Clock.now(), Clock.nanos(timeout));
        this.done = base.pending();
    }

    public static CompletableFuture<Optional<byte[]>> of(Base base, String queue, String itemId, Duration timeout) {
        Checks.within("timeout", timeout, Duration.ZERO, Checks.FOREVER);
        Results results = new Results(base, Checks.text("queue", queue), Checks.id("itemId", itemId), timeout);
        results.ask();
        return results.done;
    }

    private void ask() {
        if (done.isDone()) return;
        long asked = Clock.now();
        CallFuture<AwaitResponse> answer = Patience.patiently(base, until, Patience.SETTLING, () -> Clock.now() >= until, ignored -> {
            long left = Math.max(0, until - Clock.now());
            long part = Math.min(left, Clock.LONGEST_CALL);
            // An answer at the very end says that it is still open, or nothing at all: both come to the same.
            long time = Math.max(LEAST_CALL, Math.min(Clock.after(left, ANSWERING), part + CallTerms.GRACE));
            AwaitRequest request = AwaitRequest.newBuilder()
                    .setQueue(queue)
                    .setItemId(itemId)
                    .setWait(Clock.duration(part))
                    .build();
            return base.transport.ask(Kinds.AWAIT, request, CallTerms.nanos(time));
        });
        done.onCancel(() -> answer.cancel(true));
        answer.whenComplete((told, error) -> {
            if (error == null) heard(told, asked);
            else done.fail(Failures.unwrapped(error));
        });
    }

    private void heard(AwaitResponse answer, long asked) {
        switch (answer.getState()) {
            case ITEM_STATE_DONE -> done.tell(Answers.bytes(answer.getResult()));
            case ITEM_STATE_DEAD -> failed(answer, ItemFailedException.State.DEAD);
            case ITEM_STATE_DISCARDED -> failed(answer, ItemFailedException.State.DISCARDED);
            case ITEM_STATE_SUPERSEDED -> failed(answer, ItemFailedException.State.SUPERSEDED);
            case ITEM_STATE_WAITING, ITEM_STATE_IN_FLIGHT -> again(asked);
            default -> failed(answer, ItemFailedException.State.UNKNOWN);
        }
    }

    private void again(long asked) {
        if (Clock.now() < until) {
            base.after(Math.max(0, asked + Clock.LEAST_BETWEEN - Clock.now()), this::ask);
            return;
        }
        String what = "item " + itemId + " of queue " + queue + " has no result after " + timeout;
        done.fail(Failures.of(what, Status.Code.DEADLINE_EXCEEDED));
    }

    private void failed(AwaitResponse answer, ItemFailedException.State state) {
        done.fail(Failures.itemFailed(queue, itemId, state, answer));
    }
}
