package io.keyturn.client.internal.produce;

import io.grpc.Status;
import io.keyturn.client.ItemDurability;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.QueueItem;
import io.keyturn.client.SubmitOutcome;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.CallFuture;
import io.keyturn.client.internal.session.Patience;
import io.keyturn.client.internal.words.Answers;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Items;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.client.internal.words.SubmitSettings;
import io.keyturn.v1.SubmitRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Hands items over, again until the sidecar has answered. */
public final class Submitting {
    private Submitting() {}

    public static CompletableFuture<SubmitOutcome> one(Base base, String queue, QueueItem item, SubmitSettings options) {
        QueueItem named = base.named(item);
        Items.checkSize(named, 0);
        CallFuture<List<SubmitOutcome>> sent = send(base, queue, List.of(named), options);
        CallFuture<SubmitOutcome> one = new CallFuture<>();
        one.onCancel(() -> sent.cancel(true));
        sent.whenComplete((results, error) -> {
            if (error == null) one.tell(results.get(0));
            else one.fail(Failures.unwrapped(error));
        });
        return one;
    }

    public static CompletableFuture<List<SubmitOutcome>> many(Base base, String queue, List<QueueItem> items, SubmitSettings options) {
        List<QueueItem> named = new ArrayList<>();
        for (QueueItem item : Checks.needed("items", items)) {
            named.add(base.named(Checks.needed("items[" + named.size() + "]", item)));
        }
        CallFuture<List<SubmitOutcome>> done = base.pending();
        new Many(base, queue, named, options, messagesOf(named), done).next();
        return done;
    }

    /** One message after another: none is sent before the one before it was accepted. */
    private static final class Many {
        private final Base base;
        private final String queue;
        private final List<QueueItem> items;
        private final SubmitSettings options;
        private final List<List<QueueItem>> messages;
        private final CallFuture<List<SubmitOutcome>> done;
        private final List<SubmitOutcome> results = new ArrayList<>();
        private int at;

        Many(
                Base base,
                String queue,
                List<QueueItem> items,
                SubmitSettings options,
                List<List<QueueItem>> messages,
                CallFuture<List<SubmitOutcome>> done) {
            this.base = base;
            this.queue = queue;
            this.items = items;
            this.options = options;
            this.messages = messages;
            this.done = done;
        }

        void next() {
            if (at == messages.size()) {
                done.tell(List.copyOf(results));
                return;
            }
            if (done.isDone()) return;
            CallFuture<List<SubmitOutcome>> sent = send(base, queue, messages.get(at++), options);
            done.onCancel(() -> sent.cancel(true));
            sent.whenComplete((told, error) -> {
                if (error == null) {
                    results.addAll(told);
                    next();
                    return;
                }
                List<QueueItem> rest = items.subList(results.size(), items.size());
                done.fail(Failures.submitMany(Failures.unwrapped(error), List.copyOf(results), rest));
            });
        }
    }

    /** Cuts at 1,000 items and below the size of a message. All items are looked at before the first is sent. */
    private static List<List<QueueItem>> messagesOf(List<QueueItem> items) {
        List<List<QueueItem>> messages = new ArrayList<>();
        List<QueueItem> open = null;
        int bytes = 0;
        for (int at = 0; at < items.size(); at++) {
            QueueItem item = items.get(at);
            Items.checkSize(item, at);
            if (open == null || open.size() == Items.MOST || bytes + Items.size(item) > Items.LARGEST_MESSAGE) {
                open = new ArrayList<>();
                messages.add(open);
                bytes = 0;
            }
            open.add(item);
            bytes += Items.size(item);
        }
        return messages;
    }

    static SubmitRequest requestOf(String queue, List<QueueItem> items, long waitForRoom, ItemDurability durability) {
        SubmitRequest.Builder request = SubmitRequest.newBuilder()
                .setQueue(queue)
                .setWaitForRoom(Clock.duration(waitForRoom))
                .setDurability(Answers.durability(durability));
        for (QueueItem item : items) request.addItems(Items.message(item));
        return request.build();
    }

    private static CallFuture<List<SubmitOutcome>> send(
            Base base, String queue, List<QueueItem> items, SubmitSettings options) {
        SubmitRequest request = requestOf(queue, items, options.waitForRoom(), options.durability());
        CallFuture<io.keyturn.v1.SubmitResponse> asked = Patience.patiently(
                base, options.until(), Patience.SUBMITTING, () -> false, left ->
                        base.transport.ask(Kinds.SUBMIT, request, CallTerms.nanos(left)));
        CallFuture<List<SubmitOutcome>> sent = new CallFuture<>();
        sent.onCancel(() -> asked.cancel(true));
        asked.whenComplete((answer, error) -> {
            if (error != null) sent.fail(Failures.unwrapped(error));
            else if (answer.getResultsCount() != items.size()) sent.fail(badAnswer(answer, items.size()));
            else sent.tell(Answers.submitted(answer));
        });
        return sent;
    }

    static KeyturnException badAnswer(io.keyturn.v1.SubmitResponse answer, int items) {
        String what = "the answer has " + answer.getResultsCount() + " results for " + items + " items";
        return Failures.of(what, Status.Code.INTERNAL, "BAD_ANSWER", null);
    }
}
