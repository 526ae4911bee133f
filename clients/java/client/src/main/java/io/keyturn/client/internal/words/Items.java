package io.keyturn.client.internal.words;

import io.grpc.Status;
import io.keyturn.client.FieldViolation;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.QueueItem;
import io.keyturn.v1.ItemRef;
import io.keyturn.v1.NewItem;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Items on their way, and what of them no sidecar ever accepts, whatever its state and settings: the bounds of the contract, which
 * settings can only lower. Those are looked at where a promise is given before a sidecar has seen the item: what a spool confirms
 * can be handed over.
 */
public final class Items {
    /** The most items of one Submit, and of one turn. */
    public static final int MOST = 1_000;
    /** A message may have 4 MiB; what is added up here is never less than what travels. */
    public static final int LARGEST_MESSAGE = 3_500_000;

    private static final int OVERHEAD = 16;

    private static final Pattern QUEUE = Pattern.compile("[A-Za-z0-9._:/-]{1,128}");
    private static final int KEY = 1_024;
    private static final int ID = 256;
    /** Of a payload, and of a result. */
    public static final int PAYLOAD = 1_048_576;
    private static final int HEADERS = 64;
    private static final int HEADER_BYTES = 8_192;
    private static final int AFTER = 100;
    private static final int SHOWN = 80;

    private Items() {}

    public static QueueItem of(NewItem message) {
        return ApiAccess.api().item(message);
    }

    public static NewItem message(QueueItem item) {
        return ApiAccess.api().message(item);
    }

    /** Bytes that it takes in a message, at most. */
    public static int size(QueueItem item) {
        return message(item).getSerializedSize() + OVERHEAD;
    }

    /** With an id, the same on every try. */
    public static QueueItem named(QueueItem item, Supplier<String> newId) {
        return item.itemId().isEmpty() ? item.withItemId(newId.get()) : item;
    }

    /** @throws KeyturnException as the sidecar would: naming the item that no message can carry */
    public static void checkSize(QueueItem item, int index) {
        int size = size(item);
        if (size <= LARGEST_MESSAGE) return;
        String what = "takes " + size + " bytes, allowed are " + LARGEST_MESSAGE + " with everything";
        throw refusal(List.of(new FieldViolation("items[" + index + "]", what)));
    }

    /** @throws KeyturnException INVALID_ARGUMENT unless a queue can be called so */
    public static String queue(String name) {
        if (QUEUE.matcher(Checks.text("queue", name)).matches()) return name;
        String shown = name.length() <= SHOWN ? name : name.substring(0, SHOWN) + "…";
        throw Failures.wrong("queue is \"" + shown + "\"; allowed are 1 to 128 characters of A-Z a-z 0-9 . _ : / -");
    }

    /** As the sidecar's: INVALID_ARGUMENT, naming each wrong field. Null: nothing is wrong. */
    public static KeyturnException refusal(QueueItem item, int index) {
        String at = "items[" + index + "]";
        NewItem message = message(item);
        List<FieldViolation> wrong = new ArrayList<>();
        text(wrong, at + ".key", message.getKey(), 0, KEY);
        text(wrong, at + ".item_id", message.getItemId(), 0, ID);
        text(wrong, at + ".idempotency_key", message.getIdempotencyKey(), 0, ID);
        payload(wrong, at + ".payload", item);
        headers(wrong, at + ".headers", message.getHeadersMap());
        after(wrong, at + ".after", message.getAfterList());
        return wrong.isEmpty() ? null : refusal(wrong);
    }

    /** What is wrong with the size of the payload of an item. Null: nothing. */
    public static String tooLarge(QueueItem item, String at) {
        List<FieldViolation> wrong = new ArrayList<>();
        payload(wrong, at + ".payload", item);
        return wrong.isEmpty() ? null : refusal(wrong).getMessage();
    }

    private static void payload(List<FieldViolation> wrong, String field, QueueItem item) {
        int bytes = message(item).getPayload().size();
        if (bytes <= PAYLOAD) return;
        wrong.add(new FieldViolation(field, bytes + " bytes is not allowed; allowed: up to " + PAYLOAD + " bytes"));
    }

    private static KeyturnException refusal(List<FieldViolation> wrong) {
        return Failures.ofViolations(Status.Code.INVALID_ARGUMENT, "BAD_REQUEST", wrong);
    }

    private static void text(List<FieldViolation> wrong, String field, String text, int least, int most) {
        int bytes = text.length() * 3 <= most ? text.length() : text.getBytes(StandardCharsets.UTF_8).length;
        if (bytes >= least && bytes <= most) return;
        String allowed = least + " to " + most + " bytes of UTF-8";
        wrong.add(new FieldViolation(field, bytes + " bytes is not allowed; allowed: " + allowed));
    }

    private static void headers(List<FieldViolation> wrong, String field, Map<String, String> headers) {
        if (headers.size() > HEADERS) {
            wrong.add(new FieldViolation(field, headers.size() + " headers is not allowed; allowed: up to " + HEADERS));
        }
        int bytes = 0;
        for (Map.Entry<String, String> one : headers.entrySet()) {
            bytes += one.getKey().getBytes(StandardCharsets.UTF_8).length;
            bytes += one.getValue().getBytes(StandardCharsets.UTF_8).length;
        }
        if (bytes <= HEADER_BYTES) return;
        String allowed = "up to " + HEADER_BYTES + " bytes together";
        wrong.add(new FieldViolation(field, bytes + " bytes is not allowed; allowed: " + allowed));
    }

    private static void after(List<FieldViolation> wrong, String field, List<ItemRef> after) {
        if (after.size() > AFTER) {
            wrong.add(new FieldViolation(field, after.size() + " entries is not allowed; allowed: 0 to " + AFTER));
        }
        for (int at = 0; at < after.size(); at++) {
            ItemRef ref = after.get(at);
            String one = field + "[" + at + "]";
            if (!QUEUE.matcher(ref.getQueue()).matches()) {
                wrong.add(new FieldViolation(one + ".queue", "\"" + ref.getQueue() + "\" is no name of a queue"));
            }
            text(wrong, one + ".item_id", ref.getItemId(), 1, ID);
        }
        if (after.stream().distinct().count() < after.size()) {
            wrong.add(new FieldViolation(field, "an item twice is not allowed; allowed: each once"));
        }
    }
}
