package io.keyturn.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.keyturn.client.Consumer;
import io.keyturn.client.ConsumerOptions;
import io.keyturn.client.ConsumerStoppedException;
import io.keyturn.client.DeadLetterException;
import io.keyturn.client.ItemDurability;
import io.keyturn.client.Keyturn;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Leadership;
import io.keyturn.client.Producer;
import io.keyturn.client.ProducerOptions;
import io.keyturn.client.ReleaseException;
import io.keyturn.client.RetryLaterException;
import io.keyturn.client.ScopedTurn;
import io.keyturn.client.SpoolOptions;
import io.keyturn.client.TurnOptions;
import io.keyturn.client.TurnOutcome;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** What goes on under a name after its request: consumers, producers, turns that are held. */
final class Handles {
    private final Map<String, Work> works = new ConcurrentHashMap<>();
    private final Map<String, Consumer> consumers = new ConcurrentHashMap<>();
    private final Map<String, Producer> producers = new ConcurrentHashMap<>();
    private final Map<String, Leading> leading = new ConcurrentHashMap<>();
    private final Map<String, Leadership> leaderships = new ConcurrentHashMap<>();
    private final java.util.function.Consumer<JsonObject> tell;

    Handles(java.util.function.Consumer<JsonObject> tell) {
        this.tell = tell;
    }

    /** The client that these belong to is closed. */
    void forget(Set<String> handles) {
        for (String handle : handles) {
            Work work = works.remove(handle);
            if (work != null) work.close();
            consumers.remove(handle);
            producers.remove(handle);
            leading.remove(handle);
            leaderships.remove(handle);
        }
    }

    /** By the call with a handler. In a thread of its own, which is interrupted to cancel it. */
    JsonObject withTurn(Keyturn client, Fields request, Work work) throws Exception {
        TurnOutcome<String> outcome =
                client.withTurnChecked(request.text("queue"), request.text("key"), options(request), turn -> {
                    String value = returned(work.perform(Work.Held.of(turn)));
                    if (value != null && request.has("idempotency_key")) {
                        turn.complete(value.getBytes(StandardCharsets.UTF_8));
                    }
                    return value;
                });
        return Shown.outcome(outcome);
    }

    /** The same with try-with-resources. */
    JsonObject turn(Keyturn client, Fields request, Work work) throws Exception {
        try (ScopedTurn turn = client.turn(request.text("queue"), request.text("key"), options(request))) {
            if (turn.declined().isPresent()) return Shown.outcome(turn.declined().get());
            if (turn.blocked().isPresent()) return Shown.outcome(turn.blocked().get());
            String value = returned(work.perform(Work.Held.of(turn)));
            turn.complete(value == null ? null : value.getBytes(StandardCharsets.UTF_8));
            return Shown.outcome(new TurnOutcome.Done<>(value, turn.token()));
        }
    }

    private static TurnOptions options(Fields request) {
        TurnOptions.Builder options = TurnOptions.builder();
        request.optionalDuration("wait_ms").ifPresent(options::waitFor);
        request.optionalText("order").ifPresent(word -> options.order(word(TurnOptions.Order.class, "order", word)));
        request.optionalDuration("lease_ms").ifPresent(options::lease);
        request.optionalDuration("max_hold_ms").ifPresent(options::maxHold);
        request.optionalText("idempotency_key").ifPresent(options::idempotencyKey);
        return options.build();
    }

    JsonObject consume(Keyturn client, Fields request) {
        String handle = request.text("handle");
        Work work = begin(request);
        ConsumerOptions.Builder options = ConsumerOptions.builder();
        request.optionalCount("concurrency").ifPresent(options::concurrency);
        request.optionalCount("max_items_per_turn").ifPresent(options::maxItemsPerTurn);
        request.optionalDuration("lease_ms").ifPresent(options::lease);
        options.onError((error, stage, of) -> trouble(handle, Shown.word(stage, ""), error));
        Consumer consumer = client.consume(
                request.texts("queues"), options.build(), given -> handle(given, work.perform(Work.Held.of(given))));
        consumers.put(handle, consumer);
        consumer.done().whenComplete((nothing, error) -> {
            if (error != null) tell.accept(told("failed", handle, error));
        });
        return new JsonObject();
    }

    CompletableFuture<JsonObject> stop(Fields request) {
        Duration timeout = request.optionalDuration("timeout_ms").orElse(Duration.ofSeconds(20));
        return found(consumers, request).stop(timeout).handle((nothing, error) -> {
            // That handlers were cut off is told as trouble, too.
            boolean isCutOff = error != null && KeyturnException.of(error) instanceof ConsumerStoppedException;
            if (error != null && !isCutOff) throw KeyturnException.of(error);
            JsonObject stopped = new JsonObject();
            stopped.addProperty("cut_off", isCutOff);
            return stopped;
        });
    }

    JsonObject lead(Keyturn client, Fields request) {
        Leading one = new Leading(request, tell);
        // Its first phase may be finished before this returns.
        leading.put(request.text("handle"), one);
        leaderships.put(request.text("handle"), one.lead(client, request));
        return new JsonObject();
    }

    JsonObject yield(Fields request) {
        found(leaderships, request).yield();
        return new JsonObject();
    }

    CompletableFuture<JsonObject> withdraw(Fields request) {
        Duration timeout = request.optionalDuration("timeout_ms").orElse(Duration.ofSeconds(20));
        return found(leaderships, request).stop(timeout).thenApply(nothing -> new JsonObject());
    }

    JsonObject finish(Fields request) {
        Leading leads = leading.get(request.text("handle"));
        if (leads != null) {
            leads.finish(request.object("with"));
            return new JsonObject();
        }
        found(works, request).finish(request.optionalNumber("token").orElse(0L), request.object("with"));
        return new JsonObject();
    }

    JsonObject producer(Keyturn client, Fields request) {
        String handle = request.text("handle");
        ProducerOptions.Builder options = ProducerOptions.builder();
        request.optionalCount("count").ifPresent(options::count);
        request.optionalDuration("interval_ms").ifPresent(options::interval);
        request.optionalCount("max_items").ifPresent(options::maxItems);
        request.optionalCount("max_bytes").ifPresent(options::maxBytes);
        request.optionalText("when_full")
                .ifPresent(word -> options.whenFull(word(ProducerOptions.WhenFull.class, "when_full", word)));
        request.optionalDuration("timeout_ms").ifPresent(options::timeout);
        request.optionalText("durability")
                .ifPresent(word -> options.durability(word(ItemDurability.class, "durability", word)));
        options.onError((error, item) -> trouble(handle, "producer", error));
        if (request.has("spool")) options.spool(spool(request.object("spool")));
        producers.put(handle, client.producer(request.text("queue"), options.build()));
        return new JsonObject();
    }

    CompletableFuture<JsonObject> add(Fields request) {
        return found(producers, request).add(Items.item(request.get("item"))).thenApply(Shown::result);
    }

    CompletableFuture<JsonObject> flush(Fields request) {
        return found(producers, request).flush().thenApply(nothing -> new JsonObject());
    }

    JsonObject closeProducer(Fields request) {
        found(producers, request).close();
        return new JsonObject();
    }

    Work begin(Fields request) {
        String handle = request.text("handle");
        Work work = new Work(handle, request.object("work"), tell);
        works.put(handle, work);
        return work;
    }

    private static SpoolOptions spool(Fields fields) {
        SpoolOptions.Builder spool = SpoolOptions.builder(Path.of(fields.text("directory")));
        fields.optionalDuration("interval_ms").ifPresent(spool::interval);
        fields.optionalCount("count").ifPresent(spool::count);
        fields.optionalNumber("max_bytes").ifPresent(spool::maxBytes);
        return spool.build();
    }

    private void trouble(String handle, String stage, Throwable error) {
        JsonObject event = told("trouble", handle, error);
        event.addProperty("stage", stage);
        tell.accept(event);
    }

    private static JsonObject told(String name, String handle, Throwable error) {
        JsonObject event = Shown.with("event", name);
        event.addProperty("handle", handle);
        event.add("error", ShownError.of(error));
        return event;
    }

    /** What a handler of a consumer does or throws for an outcome. */
    private static void handle(io.keyturn.client.Work given, Fields outcome) throws Exception {
        int done = outcome.optionalCount("done").orElse(0);
        if (outcome.flag("retry")) {
            throw new RetryLaterException(outcome.optionalDuration("delay_ms").orElse(null), "asked to retry", null, done);
        }
        if (outcome.has("dead_letter")) throw new DeadLetterException(outcome.text("dead_letter"), null, done);
        if (outcome.flag("release")) throw new ReleaseException("asked to release", done);
        throwIfAsked(outcome);
        if (!outcome.flag("ack")) throw new WrongRequest(outcome.json() + " is no outcome of a consumer");
        outcome.optionalBytes("result").ifPresent(given::result);
        if (!outcome.has("follow_ups")) return;
        for (JsonElement value : outcome.list("follow_ups")) {
            Fields followUp = Fields.of(value, "follow_ups");
            given.followUp(followUp.text("queue"), Items.item(followUp.get("item")));
        }
    }

    /** What a handler of a turn returns or throws. */
    private static String returned(Fields outcome) throws Exception {
        throwIfAsked(outcome);
        return outcome.optionalText("value").orElse(null);
    }

    private static void throwIfAsked(Fields outcome) throws Exception {
        if (outcome.has("throw")) throw new Exception(outcome.text("throw"));
    }

    /** Only the words that the client's type has: an application cannot even write another one. */
    static <E extends Enum<E>> E word(Class<E> type, String name, String word) {
        try {
            return Enum.valueOf(type, word.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException unknown) {
            throw new IllegalArgumentException(name + ": " + unknown.getMessage() + ", " + word, unknown);
        }
    }

    private static <T> T found(Map<String, T> all, Fields request) {
        T one = all.get(request.text("handle"));
        if (one == null) throw new WrongRequest("nothing is called " + request.text("handle"));
        return one;
    }
}
