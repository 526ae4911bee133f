package io.keyturn.conformance;

import com.google.gson.JsonObject;
import io.keyturn.client.CallSettings;
import io.keyturn.client.Keyturn;
import io.keyturn.client.Protos;
import io.keyturn.v1.Decision;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.EnQueueRequest;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/** As many pairs of calls as fit into a time. */
final class Pairs {
    private static final String UNLOCK =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

    private Pairs() {}

    /** EnQueue and DeQueue, each key used by one of those in flight at a time. */
    static JsonObject keyturn(Keyturn client, Fields request) {
        String queue = request.text("queue");
        return counted(request, key -> client.enQueue(EnQueueRequest.newBuilder()
                        .setQueue(queue)
                        .setKey(key)
                        .setWait(Protos.duration(Duration.ofSeconds(10)))
                        .build(), CallSettings.DEFAULT)
                .thenCompose(answer -> {
                    if (answer.getDecision() != Decision.DECISION_ACCEPT) return CompletableFuture.completedFuture(false);
                    DeQueueRequest end = DeQueueRequest.newBuilder()
                            .setQueue(queue)
                            .setKey(key)
                            .setToken(answer.getTurn().getToken())
                            .build();
                    return client.deQueue(end).thenApply(ended -> true);
                }));
    }

    /** A lock of Redis, as its documentation shows it. */
    static JsonObject redis(Fields request) {
        RedisClient redis = RedisClient.create("redis://" + request.text("address"));
        try {
            RedisAsyncCommands<String, String> commands = redis.connect().async();
            return counted(request, key -> {
                String token = UUID.randomUUID().toString();
                return commands.set(key, token, SetArgs.Builder.nx().px(20_000)).thenCompose(set -> {
                    if (!"OK".equals(set)) return CompletableFuture.completedFuture(false);
                    return commands.eval(UNLOCK, ScriptOutputType.INTEGER, new String[] {key}, token)
                            .thenApply(deleted -> true);
                });
            });
        } finally {
            redis.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    private static JsonObject counted(Fields request, Function<String, CompletionStage<Boolean>> pair) {
        int inFlight = Math.toIntExact(request.number("in_flight"));
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(request.number("seconds"));
        AtomicLong done = new AtomicLong();
        CompletableFuture<?>[] runs = new CompletableFuture<?>[inFlight];
        for (int n = 0; n < inFlight; n++) {
            runs[n] = new CompletableFuture<>();
            new Run(pair, request.number("keys"), inFlight, until, done, runs[n]).next(n);
        }
        CompletableFuture.allOf(runs).join();
        JsonObject shown = new JsonObject();
        shown.addProperty("pairs", done.get());
        return shown;
    }

    /** One after another. */
    private record Run(
            Function<String, CompletionStage<Boolean>> pair,
            long keys,
            int inFlight,
            long until,
            AtomicLong done,
            CompletableFuture<?> over) {
        void next(long n) {
            pair.apply("key-" + n % keys).whenComplete((counts, error) -> {
                if (error == null && counts) done.incrementAndGet();
                if (error != null) over.completeExceptionally(error);
                else if (System.nanoTime() - until < 0) next(n + inFlight);
                else over.complete(null);
            });
        }
    }
}
