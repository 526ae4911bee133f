package io.keyturn.conformance;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.keyturn.client.CallSettings;
import io.keyturn.client.Keyturn;
import io.keyturn.client.KeyturnOptions;
import io.keyturn.client.TlsOptions;
import io.keyturn.v1.DeQueueRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** Takes requests, line by line, and answers each once. */
final class Player {
    private static final String VERSION = "0.1.0";
    /** How long clients may take to close when the driver has gone. */
    private static final Duration FAREWELL = Duration.ofSeconds(2);

    private record Open(Keyturn client, Set<String> handles) {}

    /** A request without its answer, and what ends it. */
    private record Asked(Fields request, Runnable cancel) {}

    private final Consumer<String> write;
    private final Map<String, Open> clients = new ConcurrentHashMap<>();
    private final Map<Long, Asked> asked = new ConcurrentHashMap<>();
    private final Handles handles;
    private final Leftovers leftovers = new Leftovers();
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "player");
        thread.setDaemon(true);
        return thread;
    });

    Player(Consumer<String> write) {
        this.write = write;
        this.handles = new Handles(event -> write.accept(event.toString()));
    }

    void take(String line) {
        Fields request = Fields.of(JsonParser.parseString(line), "a line");
        long id = request.number("id");
        try {
            perform(id, request).whenComplete((ok, error) -> {
                if (error == null) answer(id, "ok", ok);
                else answer(id, "error", ShownError.of(error));
            });
        } catch (RuntimeException error) {
            answer(id, "error", ShownError.of(error));
        }
    }

    /** The driver has gone. */
    void end() {
        for (Open open : clients.values()) threads.execute(() -> open.client().close(Duration.ZERO));
        threads.shutdown();
        try {
            threads.awaitTermination(FAREWELL.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private void answer(long id, String name, JsonObject outcome) {
        asked.remove(id);
        JsonObject line = new JsonObject();
        line.addProperty("id", id);
        line.add(name, outcome);
        write.accept(line.toString());
    }

    /** What is one call begins here, in the order of the lines; what blocks has a thread. */
    private CompletableFuture<JsonObject> perform(long id, Fields request) {
        String op = request.text("op");
        Calls.Call call = Calls.ALL.get(op);
        if (call != null) {
            CallSettings settings = request.optionalDuration("timeout_ms")
                    .map(limit -> CallSettings.builder().timeout(limit).build())
                    .orElse(CallSettings.DEFAULT);
            Calls.Asked<?> made = call.ask(opened(request).client(), request, settings);
            asked.put(id, new Asked(request, () -> made.future().cancel(true)));
            return made.answer();
        }
        return switch (op) {
            case "hello" -> now(hello());
            case "open" -> now(open(request));
            case "close" -> later(id, request, () -> close(request));
            case "leftovers" -> later(id, request, leftovers::left);
            case "cancel" -> cancel(request);
            case "with_turn" -> {
                Work work = handles.begin(request);
                Keyturn client = begun(request);
                yield later(id, request, () -> handles.withTurn(client, request, work));
            }
            case "turn" -> {
                Work work = handles.begin(request);
                Keyturn client = begun(request);
                yield later(id, request, () -> handles.turn(client, request, work));
            }
            case "consume" -> now(handles.consume(begun(request), request));
            case "lead" -> now(handles.lead(begun(request), request));
            case "yield" -> now(handles.yield(request));
            case "withdraw" -> handles.withdraw(request);
            case "stop" -> handles.stop(request);
            case "finish" -> now(handles.finish(request));
            case "producer" -> now(handles.producer(begun(request), request));
            case "add" -> handles.add(request);
            case "flush" -> handles.flush(request);
            case "close_producer" -> later(id, request, () -> handles.closeProducer(request));
            case "pairs" -> later(id, request, () -> Pairs.keyturn(opened(request).client(), request));
            case "redis_pairs" -> later(id, request, () -> Pairs.redis(request));
            default -> throw new Unsupported("this player knows no " + op);
        };
    }

    private static CompletableFuture<JsonObject> now(JsonObject ok) {
        return CompletableFuture.completedFuture(ok);
    }

    private CompletableFuture<JsonObject> later(long id, Fields request, Callable<JsonObject> task) {
        CompletableFuture<JsonObject> done = new CompletableFuture<>();
        AtomicBoolean began = new AtomicBoolean();
        Future<?> running = threads.submit(() -> {
            began.set(true);
            try {
                done.complete(task.call());
            } catch (Throwable error) {
                done.completeExceptionally(error);
            }
        });
        // Not before it may be answered: then nobody would take it out again.
        if (!done.isDone())
            asked.put(id, new Asked(request, () -> {
                running.cancel(true);
                // A task that is called off before its thread has begun never runs: nobody else would answer.
                if (!began.get()) done.cancel(false);
            }));
        return done;
    }

    private static JsonObject hello() {
        JsonObject shown = Shown.with("language", "java");
        shown.addProperty("version", VERSION);
        shown.addProperty("runtime", "Java " + Runtime.version());
        return shown;
    }

    private JsonObject open(Fields request) {
        String name = request.text("client");
        if (clients.containsKey(name)) throw new WrongRequest("client " + name + " is open");
        KeyturnOptions.Builder options = KeyturnOptions.builder();
        request.optionalText("transport")
                .map(word -> Handles.word(KeyturnOptions.TransportKind.class, "transport", word))
                .ifPresent(options::transport);
        request.optionalText("consumer_id").ifPresent(options::consumerId);
        request.optionalText("session_id").ifPresent(options::sessionId);
        request.optionalDuration("session_ttl_ms").ifPresent(options::sessionTtl);
        request.optionalDuration("margin_ms").ifPresent(options::margin);
        request.optionalCount("open_commands").ifPresent(options::openCommands);
        request.optionalNumber("open_bytes").ifPresent(options::openBytes);
        if (request.has("tls")) options.tls(tls(request.object("tls")));
        if (request.has("bearer")) bearer(options, request.object("bearer"));
        Keyturn client = Keyturn.connect(request.text("address"), options.build());
        clients.put(name, new Open(client, ConcurrentHashMap.newKeySet()));
        return new JsonObject();
    }

    /** How a client gets its token: one of these is said. */
    private static void bearer(KeyturnOptions.Builder options, Fields bearer) {
        bearer.optionalText("text").ifPresent(options::token);
        bearer.optionalText("file").map(Path::of).ifPresent(options::tokenFile);
        bearer.optionalText("gives").ifPresent(token -> options.tokenFrom(() -> token));
        bearer.optionalText("fails").ifPresent(why -> options.tokenFrom(() -> {
            throw new IllegalStateException(why);
        }));
    }

    private static TlsOptions tls(Fields fields) {
        TlsOptions.Builder tls = TlsOptions.builder();
        fields.optionalText("ca").map(Path::of).ifPresent(tls::ca);
        if (fields.has("cert")) tls.certificate(Path.of(fields.text("cert")), Path.of(fields.text("key")));
        fields.optionalText("server_name").ifPresent(tls::serverName);
        return tls.build();
    }

    private JsonObject close(Fields request) {
        Open open = opened(request);
        clients.remove(request.text("client"));
        open.client().close(request.optionalDuration("timeout_ms").orElse(null));
        handles.forget(open.handles());
        return new JsonObject();
    }

    /** Late: an application that wants to leave the line when a call is cancelled gives up its ticket's place. */
    private CompletableFuture<JsonObject> cancel(Fields request) {
        Asked one = asked.get(request.number("call"));
        if (one == null) return now(new JsonObject());
        one.cancel().run();
        Optional<String> ticket = one.request().optionalText("ticket");
        if (ticket.isEmpty() || !request.flag("leave")) return now(new JsonObject());
        DeQueueRequest place = DeQueueRequest.newBuilder()
                .setQueue(one.request().text("queue"))
                .setKey(one.request().text("key"))
                .setTicket(ticket.get())
                .build();
        return opened(one.request()).client().deQueue(place).thenApply(gone -> new JsonObject());
    }

    private Open opened(Fields request) {
        Open open = clients.get(request.text("client"));
        if (open == null) throw new WrongRequest("no client is called " + request.text("client"));
        return open;
    }

    /** The client of a handle that begins with this request. */
    private Keyturn begun(Fields request) {
        Open open = opened(request);
        open.handles().add(request.text("handle"));
        return open.client();
    }
}
