package io.keyturn.conformance;

import com.google.gson.JsonElement;
import io.keyturn.client.QueueItem;
import io.keyturn.client.Prerequisite;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.AfterUnknown;
import io.keyturn.v1.NewItem;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Items and acquires as requests have them. */
final class Items {
    private Items() {}

    static QueueItem item(JsonElement value) {
        Fields fields = Fields.of(value, "item");
        QueueItem item = QueueItem.of(fields.optionalText("key").orElse(""), fields.optionalBytes("payload").orElse(new byte[0]));
        if (fields.has("headers")) item = item.withHeaders(headers(fields));
        if (fields.optionalText("item_id").filter(id -> !id.isEmpty()).isPresent()) {
            item = item.withItemId(fields.text("item_id"));
        }
        if (fields.has("idempotency_key")) item = item.withIdempotencyKey(fields.text("idempotency_key"));
        if (fields.has("delay_ms")) item = item.withDelay(fields.optionalDuration("delay_ms").orElseThrow());
        if (fields.has("after")) item = item.withAfter(after(fields));
        if (fields.optionalText("after_unknown").filter("wait"::equals).isPresent()) item = item.waitingForUnknown();
        return item;
    }

    static NewItem message(JsonElement value) {
        Fields fields = Fields.of(value, "item");
        NewItem.Builder item = NewItem.newBuilder();
        fields.optionalText("key").ifPresent(item::setKey);
        fields.bytes("payload", item::setPayload);
        if (fields.has("headers")) item.putAllHeaders(headers(fields));
        fields.optionalText("item_id").ifPresent(item::setItemId);
        fields.optionalText("idempotency_key").ifPresent(item::setIdempotencyKey);
        fields.duration("delay_ms", item::setDelay);
        if (fields.has("after")) {
            for (JsonElement ref : fields.list("after")) {
                Fields named = Fields.of(ref, "after");
                item.addAfter(io.keyturn.v1.ItemRef.newBuilder()
                        .setQueue(named.text("queue"))
                        .setItemId(named.text("item_id")));
            }
        }
        fields.optionalText("after_unknown").map(Items::afterUnknown).ifPresent(item::setAfterUnknown);
        return item.build();
    }

    static List<QueueItem> items(Fields request) {
        return request.list("items").stream().map(Items::item).toList();
    }

    static AcquireRequest acquire(Fields request) {
        AcquireRequest.Builder acquire = AcquireRequest.newBuilder().addAllQueues(request.texts("queues"));
        request.optionalText("key").ifPresent(acquire::setKey);
        request.optionalText("ticket").ifPresent(acquire::setTicket);
        request.optionalCount("max_turns").ifPresent(acquire::setMaxTurns);
        request.optionalCount("max_items_per_turn").ifPresent(acquire::setMaxItemsPerTurn);
        request.duration("wait_ms", acquire::setWait);
        request.duration("lease_ms", acquire::setLease);
        return acquire.build();
    }

    private static AfterUnknown afterUnknown(String word) {
        return switch (word) {
            case "wait" -> AfterUnknown.AFTER_UNKNOWN_WAIT;
            case "refuse" -> AfterUnknown.AFTER_UNKNOWN_REFUSE;
            default -> throw new WrongRequest("after_unknown is " + word);
        };
    }

    private static List<Prerequisite> after(Fields fields) {
        List<Prerequisite> refs = new ArrayList<>();
        for (JsonElement ref : fields.list("after")) {
            Fields named = Fields.of(ref, "after");
            refs.add(new Prerequisite(named.text("queue"), named.text("item_id")));
        }
        return refs;
    }

    private static Map<String, String> headers(Fields fields) {
        Map<String, String> headers = new LinkedHashMap<>();
        Fields named = fields.object("headers");
        for (String name : named.json().keySet()) headers.put(name, named.text(name));
        return headers;
    }
}
