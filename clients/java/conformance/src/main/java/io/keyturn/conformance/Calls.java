package io.keyturn.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.keyturn.client.CallSettings;
import io.keyturn.client.Keyturn;
import io.keyturn.v1.AckRequest;
import io.keyturn.v1.AwaitRequest;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.Durability;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.FollowUp;
import io.keyturn.v1.NackKind;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.RenewRequest;
import io.keyturn.v1.SubmitRequest;
import io.keyturn.v1.TurnRef;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** The ops that are one call of the client. They begin at once, in the order of the lines. */
final class Calls {
    /** @param future what is cancelled */
    record Asked<A>(CompletableFuture<A> future, Function<A, JsonObject> shown) {
        CompletableFuture<JsonObject> answer() {
            return future.thenApply(shown);
        }
    }

    @FunctionalInterface
    interface Call {
        Asked<?> ask(Keyturn client, Fields request, CallSettings settings);
    }

    static final Map<String, Call> ALL = Map.of(
            "enqueue", Calls::enqueue,
            "dequeue", Calls::dequeue,
            "submit", Calls::submit,
            "submit_many", Calls::submitMany,
            "acquire", (client, request, settings) ->
                    new Asked<>(client.acquire(Items.acquire(request), settings), Shown::acquire),
            "ack", Calls::ack,
            "nack", Calls::nack,
            "renew", Calls::renew,
            "await", Calls::await,
            "result", Calls::result);

    private Calls() {}

    private static Asked<?> enqueue(Keyturn client, Fields request, CallSettings settings) {
        EnQueueRequest.Builder call = EnQueueRequest.newBuilder()
                .setQueue(request.text("queue"))
                .setKey(request.text("key"));
        request.optionalText("ticket").ifPresent(call::setTicket);
        request.duration("wait_ms", call::setWait);
        request.duration("lease_ms", call::setLease);
        request.optionalText("idempotency_key").ifPresent(call::setIdempotencyKey);
        return new Asked<>(client.enQueue(call.build(), settings), Shown::enQueue);
    }

    private static Asked<?> dequeue(Keyturn client, Fields request, CallSettings settings) {
        DeQueueRequest.Builder call = DeQueueRequest.newBuilder()
                .setQueue(request.text("queue"))
                .setKey(request.text("key"))
                .setAbandoned(request.flag("abandoned"));
        request.optionalNumber("token").ifPresent(call::setToken);
        request.optionalText("ticket").ifPresent(call::setTicket);
        request.bytes("result", call::setResult);
        return new Asked<>(client.deQueue(call.build(), settings), answer -> {
            JsonObject shown = new JsonObject();
            shown.addProperty("promoted", answer.getPromoted());
            shown.addProperty("waiting", answer.getWaiting());
            return shown;
        });
    }

    private static Asked<?> submit(Keyturn client, Fields request, CallSettings settings) {
        SubmitRequest.Builder call = SubmitRequest.newBuilder().setQueue(request.text("queue"));
        for (JsonElement item : request.list("items")) call.addItems(Items.message(item));
        request.duration("wait_for_room_ms", call::setWaitForRoom);
        request.optionalText("durability")
                .ifPresent(word -> call.setDurability(Durability.valueOf("DURABILITY_" + word.toUpperCase(Locale.ROOT))));
        return new Asked<>(client.submit(call.build(), settings), answer -> Shown.results(answer.getResultsList()));
    }

    private static Asked<?> submitMany(Keyturn client, Fields request, CallSettings settings) {
        return new Asked<>(client.submitMany(request.text("queue"), Items.items(request)), Shown::manyResults);
    }

    private static Asked<?> ack(Keyturn client, Fields request, CallSettings settings) {
        AckRequest.Builder call = AckRequest.newBuilder()
                .setQueue(request.text("queue"))
                .setKey(request.text("key"))
                .setToken(request.number("token"));
        request.bytes("result", call::setResult);
        if (request.has("follow_ups")) {
            for (JsonElement value : request.list("follow_ups")) {
                Fields followUp = Fields.of(value, "follow_ups");
                call.addFollowUps(FollowUp.newBuilder()
                        .setQueue(followUp.text("queue"))
                        .setItem(Items.message(followUp.get("item"))));
            }
        }
        boolean withNext = request.has("next");
        if (withNext) call.setNext(Items.acquire(request.object("next")));
        return new Asked<>(client.ack(call.build(), settings), answer -> Shown.ack(answer, withNext));
    }

    private static Asked<?> nack(Keyturn client, Fields request, CallSettings settings) {
        NackRequest.Builder call = NackRequest.newBuilder()
                .setQueue(request.text("queue"))
                .setKey(request.text("key"))
                .setToken(request.number("token"))
                .setKind(NackKind.valueOf("NACK_KIND_" + request.text("kind").toUpperCase(Locale.ROOT)));
        request.duration("delay_ms", call::setDelay);
        request.optionalText("error").ifPresent(call::setError);
        request.optionalCount("done").ifPresent(call::setDone);
        return new Asked<>(client.nack(call.build(), settings), Shown::nack);
    }

    private static Asked<?> renew(Keyturn client, Fields request, CallSettings settings) {
        RenewRequest.Builder call = RenewRequest.newBuilder();
        for (JsonElement value : request.list("turns")) {
            Fields turn = Fields.of(value, "turns");
            call.addTurns(TurnRef.newBuilder()
                    .setQueue(turn.text("queue"))
                    .setKey(turn.text("key"))
                    .setToken(turn.number("token")));
        }
        request.duration("lease_ms", call::setLease);
        return new Asked<>(client.renew(call.build(), settings), Shown::renew);
    }

    private static Asked<?> await(Keyturn client, Fields request, CallSettings settings) {
        AwaitRequest.Builder call = AwaitRequest.newBuilder()
                .setQueue(request.text("queue"))
                .setItemId(request.text("item_id"));
        request.duration("wait_ms", call::setWait);
        return new Asked<>(client.await(call.build(), settings), Shown::await);
    }

    private static Asked<?> result(Keyturn client, Fields request, CallSettings settings) {
        Duration timeout = request.optionalDuration("timeout_ms").orElse(Duration.ofMinutes(5));
        return new Asked<>(client.result(request.text("queue"), request.text("item_id"), timeout), bytes -> {
            JsonObject shown = new JsonObject();
            bytes.ifPresent(result -> shown.add("result", Fields.shown(result)));
            return shown;
        });
    }
}
