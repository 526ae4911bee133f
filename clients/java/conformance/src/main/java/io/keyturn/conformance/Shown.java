package io.keyturn.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import io.keyturn.client.DeliveredItem;
import io.keyturn.client.ProducerResult;
import io.keyturn.client.Protos;
import io.keyturn.client.TurnOutcome;
import io.keyturn.v1.AckResponse;
import io.keyturn.v1.AcquireResponse;
import io.keyturn.v1.AwaitResponse;
import io.keyturn.v1.Delivery;
import io.keyturn.v1.EnQueueResponse;
import io.keyturn.v1.Item;
import io.keyturn.v1.LossCause;
import io.keyturn.v1.NackResponse;
import io.keyturn.v1.RenewResponse;
import io.keyturn.v1.RenewResult;
import io.keyturn.v1.SubmitResult;
import io.keyturn.v1.Turn;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/** Answers of the client in the words of the protocol. */
final class Shown {
    private Shown() {}

    /** `DECISION_ACCEPT` as `accept`, `TOO_SOON` as `too_soon`. */
    static String word(Enum<?> value, String prefix) {
        String name = value.name();
        return (name.startsWith(prefix) ? name.substring(prefix.length()) : name).toLowerCase(Locale.ROOT);
    }

    static JsonObject enQueue(EnQueueResponse answer) {
        JsonObject shown = new JsonObject();
        shown.addProperty("decision", word(answer.getDecision(), "DECISION_"));
        switch (answer.getDecision()) {
            case DECISION_ACCEPT -> {
                shown.add("turn", turn(answer.getTurn()));
                text(shown, "ticket", answer.getTicket());
            }
            case DECISION_BLOCK -> {
                shown.addProperty("ahead", answer.getAhead());
                if (answer.hasRetryAfter()) ms(shown, "retry_after_ms", Protos.duration(answer.getRetryAfter()));
                text(shown, "ticket", answer.getTicket());
            }
            default -> {
                shown.addProperty("reason", word(answer.getReason(), "REASON_"));
                text(shown, "survivor_id", answer.getSurvivorId());
                if (answer.hasRetryAfter()) ms(shown, "retry_after_ms", Protos.duration(answer.getRetryAfter()));
                bytes(shown, "result", answer.getResult());
            }
        }
        return shown;
    }

    static JsonObject results(List<SubmitResult> results) {
        JsonArray all = new JsonArray();
        for (SubmitResult result : results) all.add(result(result));
        return with("results", all);
    }

    private static JsonObject result(SubmitResult result) {
        JsonObject shown = with("item_id", result.getItemId());
        shown.addProperty("decision", word(result.getDecision(), "DECISION_"));
        if (result.getReason().getNumber() != 0) shown.addProperty("reason", word(result.getReason(), "REASON_"));
        text(shown, "survivor_id", result.getSurvivorId());
        text(shown, "superseded_id", result.getSupersededId());
        if (result.hasRetryAfter()) ms(shown, "retry_after_ms", Protos.duration(result.getRetryAfter()));
        if (result.getOnItsWay()) shown.addProperty("on_its_way", true);
        return shown;
    }

    static JsonObject manyResults(List<io.keyturn.client.SubmitOutcome> results) {
        JsonArray all = new JsonArray();
        for (io.keyturn.client.SubmitOutcome result : results) all.add(result(result));
        return with("results", all);
    }

    static JsonObject result(io.keyturn.client.SubmitOutcome result) {
        JsonObject shown = with("item_id", result.itemId());
        shown.addProperty("decision", result.accepted() ? "accept" : "decline");
        result.reason().ifPresent(reason -> shown.addProperty("reason", word(reason, "")));
        result.survivorId().ifPresent(id -> shown.addProperty("survivor_id", id));
        result.supersededId().ifPresent(id -> shown.addProperty("superseded_id", id));
        result.retryAfter().ifPresent(after -> ms(shown, "retry_after_ms", after));
        if (result.onItsWay()) shown.addProperty("on_its_way", true);
        return shown;
    }

    static JsonObject result(ProducerResult result) {
        if (!result.spooled()) return result(result.result().orElseThrow());
        JsonObject shown = with("item_id", result.itemId());
        shown.addProperty("decision", "spooled");
        return shown;
    }

    static JsonObject acquire(AcquireResponse answer) {
        JsonArray deliveries = new JsonArray();
        for (Delivery delivery : answer.getDeliveriesList()) {
            JsonObject shown = new JsonObject();
            shown.add("turn", turn(delivery.getTurn()));
            JsonArray items = new JsonArray();
            for (Item item : delivery.getItemsList()) items.add(item(item));
            shown.add("items", items);
            deliveries.add(shown);
        }
        JsonObject shown = new JsonObject();
        shown.add("deliveries", deliveries);
        return shown;
    }

    static JsonObject ack(AckResponse answer, boolean withNext) {
        JsonArray followUps = new JsonArray();
        for (SubmitResult result : answer.getFollowUpsList()) followUps.add(result(result));
        JsonObject shown = with("follow_ups", followUps);
        if (withNext) shown.add("next", acquire(answer.getNext()));
        return shown;
    }

    static JsonObject nack(NackResponse answer) {
        JsonObject shown = new JsonObject();
        shown.addProperty("retry", answer.hasRetryAt());
        shown.addProperty("dead_lettered", answer.getDeadLettered());
        return shown;
    }

    static JsonObject renew(RenewResponse answer) {
        JsonArray results = new JsonArray();
        for (RenewResult result : answer.getResultsList()) {
            JsonObject shown = new JsonObject();
            shown.addProperty("alive", result.getAlive());
            boolean hasCause = result.getCause() != LossCause.LOSS_CAUSE_UNSPECIFIED;
            if (!result.getAlive()) {
                shown.addProperty("cause", hasCause ? word(result.getCause(), "LOSS_CAUSE_") : "unknown");
            }
            results.add(shown);
        }
        return with("results", results);
    }

    static JsonObject await(AwaitResponse answer) {
        JsonObject shown = with("state", word(answer.getState(), "ITEM_STATE_"));
        bytes(shown, "result", answer.getResult());
        text(shown, "error", answer.getError());
        shown.addProperty("attempt", answer.getAttempt());
        return shown;
    }

    static JsonObject outcome(TurnOutcome<?> outcome) {
        JsonObject shown = new JsonObject();
        if (outcome instanceof TurnOutcome.Done<?> done) {
            shown.addProperty("status", "done");
            if (done.value() != null) shown.addProperty("value", String.valueOf(done.value()));
        } else if (outcome instanceof TurnOutcome.Declined<?> declined) {
            shown.addProperty("status", "declined");
            shown.addProperty("reason", word(declined.reason(), ""));
            declined.survivorId().ifPresent(id -> shown.addProperty("survivor_id", id));
            declined.retryAfter().ifPresent(after -> ms(shown, "retry_after_ms", after));
            declined.result().ifPresent(bytes -> shown.add("result", Fields.shown(bytes)));
        } else if (outcome instanceof TurnOutcome.Blocked<?> blocked) {
            shown.addProperty("status", "blocked");
            blocked.ahead().ifPresent(ahead -> shown.addProperty("ahead", ahead));
            blocked.retryAfter().ifPresent(after -> ms(shown, "retry_after_ms", after));
        }
        return shown;
    }

    static JsonArray started(List<DeliveredItem> items) {
        JsonArray all = new JsonArray();
        for (DeliveredItem item : items) {
            JsonObject shown = with("item_id", item.itemId());
            shown.add("payload", Fields.shown(item.payload()));
            shown.addProperty("attempt", item.attempt());
            all.add(shown);
        }
        return all;
    }

    static JsonObject with(String name, String value) {
        JsonObject shown = new JsonObject();
        shown.addProperty(name, value);
        return shown;
    }

    static JsonObject with(String name, JsonElement value) {
        JsonObject shown = new JsonObject();
        shown.add(name, value);
        return shown;
    }

    static void ms(JsonObject shown, String name, Duration duration) {
        shown.addProperty(name, Math.round(duration.toNanos() / 1e6));
    }

    private static JsonObject turn(Turn turn) {
        JsonObject shown = with("queue", turn.getQueue());
        shown.addProperty("key", turn.getKey());
        shown.addProperty("token", turn.getToken());
        ms(shown, "lease_ms", Protos.duration(turn.getLease()));
        shown.addProperty("attempt", turn.getAttempt());
        return shown;
    }

    private static JsonObject item(Item item) {
        JsonObject shown = with("item_id", item.getItemId());
        shown.add("payload", Fields.shown(item.getPayload().toByteArray()));
        JsonObject headers = new JsonObject();
        item.getHeadersMap().forEach(headers::addProperty);
        shown.add("headers", headers);
        text(shown, "idempotency_key", item.getIdempotencyKey());
        shown.addProperty("attempt", item.getAttempt());
        return shown;
    }

    private static void text(JsonObject shown, String name, String value) {
        if (!value.isEmpty()) shown.addProperty(name, value);
    }

    private static void bytes(JsonObject shown, String name, ByteString value) {
        if (!value.isEmpty()) shown.add(name, Fields.shown(value.toByteArray()));
    }
}
