package io.keyturn.client.internal.produce;

import io.grpc.Status;
import io.keyturn.client.FieldViolation;
import io.keyturn.client.ItemDurability;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.QueueItem;
import io.keyturn.client.SubmitOutcome;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.words.Answers;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures.Failure;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.v1.SubmitResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One Submit of a batch, and what it means for each item. */
final class HandOver {
    /**
     * How long a Submit waits for room: in a queue that is full for a moment room is told as soon as it is there. When it is full
     * for longer the sidecar says when to come again.
     */
    static final long WAIT_FOR_ROOM = 1_000 * Clock.MS;

    private static final Pattern ITEM_FIELD = Pattern.compile("^items\\[(\\d{1,9})]");

    sealed interface Outcome {}

    /** One result for each, in order. */
    record Answered(List<SubmitOutcome> results) implements Outcome {}

    /** These, by their index, will never be accepted; nothing of the others was. */
    record SomeRefused(Map<Integer, KeyturnException> errors) implements Outcome {}

    /** More than the queue can ever hold together. */
    record TooMany() implements Outcome {}

    record Refused(Throwable error) implements Outcome {}

    /** Another try may do: nobody answered, and it may have been accepted, or there is no room, or the call was ended here. */
    record Again(Throwable error) implements Outcome {
        boolean isCancelled() {
            return Failures.failureOf(error) == Failure.CANCELLED;
        }
    }

    private HandOver() {}

    /** Never fails. */
    static CompletableFuture<Outcome> of(
            Base base, String queue, List<QueueItem> items, long timeout, long waitForRoom, ItemDurability durability) {
        CallTerms terms = CallTerms.nanos(Clock.after(timeout, waitForRoom));
        return base.transport
                .ask(Kinds.SUBMIT, Submitting.requestOf(queue, items, waitForRoom, durability), terms)
                .handle((answer, error) -> error == null ? answered(answer, items) : failed(error, items.size()));
    }

    private static Outcome answered(SubmitResponse answer, List<QueueItem> items) {
        if (answer.getResultsCount() != items.size()) return new Refused(Submitting.badAnswer(answer, items.size()));
        return new Answered(Answers.submitted(answer));
    }

    private static Outcome failed(Throwable thrown, int count) {
        Throwable error = Failures.unwrapped(thrown);
        // It is nothing about the items: they wait, on disk where there is one, until certificates fit.
        if (Failures.isTls(error)) return new Again(error);
        Failure failure = Failures.failureOf(error);
        return failure == Failure.REFUSED ? refusal(error, count) : new Again(error);
    }

    private static Outcome refusal(Throwable error, int count) {
        if (!(error instanceof KeyturnException known) || known.code() != Status.Code.INVALID_ARGUMENT) {
            return new Refused(error);
        }
        Map<Integer, KeyturnException> errors = new HashMap<>();
        for (FieldViolation violation : known.violations()) {
            int index = indexOf(violation);
            if (index >= 0 && index < count) errors.put(index, forItem(known, index));
        }
        if (!errors.isEmpty()) return new SomeRefused(errors);
        boolean isTooMany = count > 1 && known.violations().stream().anyMatch(one -> one.field().equals("items"));
        return isTooMany ? new TooMany() : new Refused(error);
    }

    private static int indexOf(FieldViolation violation) {
        Matcher found = ITEM_FIELD.matcher(violation.field());
        return found.find() ? Integer.parseInt(found.group(1)) : -1;
    }

    /** Of a batch that was refused, what concerns one item. */
    private static KeyturnException forItem(KeyturnException error, int index) {
        List<FieldViolation> violations =
                error.violations().stream().filter(one -> indexOf(one) == index).toList();
        return Failures.ofViolations(error.code(), error.reason(), violations);
    }
}
