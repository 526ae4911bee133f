package io.keyturn.client;

import io.grpc.Status;
import io.keyturn.client.Failures.Failure;
import io.keyturn.v1.SubmitRequest;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** Hands items over, again until the sidecar has answered. */
final class Submitting {
    /** A Submit that failed so may be sent again. */
    private static final Set<Failure> BORNE = EnumSet.of(Failure.AWAY);

    private Submitting() {}

    static CompletableFuture<SubmitOutcome> one(Base base, String queue, QueueItem item, SubmitOptions options) {
        Checks.needed("options", options);
        QueueItem named = item.named(base);
        named.checkSize(0);
        CallFuture<List<SubmitOutcome>> sent = send(base, queue, List.of(named), options);
        CallFuture<SubmitOutcome> one = new CallFuture<>();
        one.onCancel(() -> sent.cancel(true));
        sent.whenComplete((results, error) -> {
            if (error == null) one.tell(results.get(0));
            else one.fail(KeyturnException.unwrapped(error));
        });
        return one;
    }

    static CompletableFuture<List<SubmitOutcome>> many(Base base, String queue, List<QueueItem> items, SubmitOptions options) {
        Checks.needed("options", options);
        List<QueueItem> named = new ArrayList<>();
        for (QueueItem item : Checks.needed("items", items)) {
            named.add(Checks.needed("items[" + named.size() + "]", item).named(base));
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
        private final SubmitOptions options;
        private final List<List<QueueItem>> messages;
        private final CallFuture<List<SubmitOutcome>> done;
        private final List<SubmitOutcome> results = new ArrayList<>();
        private int at;

        Many(
                Base base,
                String queue,
                List<QueueItem> items,
                SubmitOptions options,
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
                done.fail(
                        new SubmitManyException(KeyturnException.unwrapped(error), List.copyOf(results), rest));
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
            item.checkSize(at);
            if (open == null || open.size() == QueueItem.MOST_ITEMS || bytes + item.size() > QueueItem.LARGEST_MESSAGE) {
                open = new ArrayList<>();
                messages.add(open);
                bytes = 0;
            }
            open.add(item);
            bytes += item.size();
        }
        return messages;
    }

    static SubmitRequest requestOf(String queue, List<QueueItem> items, long waitForRoom, ItemDurability durability) {
        SubmitRequest.Builder request = SubmitRequest.newBuilder()
                .setQueue(queue)
                .setWaitForRoom(Protos.nanos(waitForRoom))
                .setDurability(ItemDurability.wire(durability));
        for (QueueItem item : items) request.addItems(item.message());
        return request.build();
    }

    private static CallFuture<List<SubmitOutcome>> send(
            Base base, String queue, List<QueueItem> items, SubmitOptions options) {
        SubmitRequest request = requestOf(queue, items, options.waitNanos(), options.durability());
        CallFuture<io.keyturn.v1.SubmitResponse> asked = Patience.patiently(
                base, options.until(), BORNE, () -> false, left ->
                        base.transport.ask(Kinds.SUBMIT, request, CallSettings.nanos(left)));
        CallFuture<List<SubmitOutcome>> sent = new CallFuture<>();
        sent.onCancel(() -> asked.cancel(true));
        asked.whenComplete((answer, error) -> {
            if (error != null) sent.fail(KeyturnException.unwrapped(error));
            else if (answer.getResultsCount() != items.size()) sent.fail(badAnswer(answer, items.size()));
            else sent.tell(answer.getResultsList().stream().map(SubmitOutcome::of).toList());
        });
        return sent;
    }

    static KeyturnException badAnswer(io.keyturn.v1.SubmitResponse answer, int items) {
        String what = "the answer has " + answer.getResultsCount() + " results for " + items + " items";
        return new KeyturnException(what, Status.Code.INTERNAL, "BAD_ANSWER", ErrorDetails.NONE);
    }
}
