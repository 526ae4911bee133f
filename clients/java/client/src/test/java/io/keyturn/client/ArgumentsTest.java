package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.ExplainKeyRequest;
import io.keyturn.v1.NewItem;
import io.keyturn.v1.SubmitRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.function.Executable;

/** What cannot be is told at once, by the call that was given it, with its name; nothing is sent for it. */
class ArgumentsTest {
    /** Nothing listens there, so that nothing here is the sidecar's answer. */
    private static final String NOWHERE = "127.0.0.1:1";

    private record Wrong(String named, Executable call) {}

    private static Stream<Wrong> wrongs(Keyturn keyturn, ScopedTurn none) {
        Map<String, String> header = new HashMap<>();
        header.put("name", null);
        return Stream.of(
                new Wrong("key", () -> keyturn.turn("q", null)),
                new Wrong("key", () -> keyturn.turn("q", "")),
                new Wrong("key", () -> keyturn.turn("q", "half \ud800")),
                new Wrong("queue", () -> keyturn.turn(null, "k")),
                new Wrong("options", () -> keyturn.turn("q", "k", null)),
                new Wrong("options", () -> keyturn.withTurn("q", "k", null, turn -> 1)),
                new Wrong("the handler", () -> keyturn.withTurn("q", "k", null)),
                new Wrong("the handler", () -> keyturn.consume("q", null)),
                new Wrong("a queue", () -> keyturn.consume((String) null, work -> {})),
                new Wrong("queues", () -> keyturn.consume((List<String>) null, ConsumerOptions.DEFAULT, work -> {})),
                new Wrong("a queue", () -> keyturn.consume(Arrays.asList("q", null), ConsumerOptions.DEFAULT, work -> {})),
                new Wrong("the number of queues", () -> keyturn.consume(List.of(), ConsumerOptions.DEFAULT, work -> {})),
                new Wrong("options", () -> keyturn.consume("q", null, work -> {})),
                new Wrong("item", () -> keyturn.submit("q", (QueueItem) null)),
                new Wrong("options", () -> keyturn.submit("q", QueueItem.of("k", "x"), null)),
                new Wrong("items", () -> keyturn.submitMany("q", null)),
                new Wrong("items[1]", () -> keyturn.submitMany("q", Arrays.asList(QueueItem.of("k", "x"), null))),
                new Wrong("options", () -> keyturn.submitMany("q", List.of(), null)),
                new Wrong("timeout", () -> keyturn.result("q", "id", null)),
                new Wrong("timeout", () -> keyturn.result("q", "id", Duration.ofSeconds(-1))),
                new Wrong("request", () -> keyturn.enQueue(null)),
                new Wrong("settings", () -> keyturn.enQueue(io.keyturn.v1.EnQueueRequest.getDefaultInstance(), null)),
                new Wrong("future", () -> keyturn.get(null)),
                new Wrong("timeout", () -> keyturn.close(Duration.ofSeconds(-1))),
                new Wrong("timeout", () -> keyturn.close(Duration.ofDays(2))),
                new Wrong("item", () -> keyturn.producer("q").add(null)),
                new Wrong("timeout", () -> CallSettings.builder().timeout(null)),
                new Wrong("timeout", () -> CallSettings.builder().timeout(Duration.ofSeconds(Long.MIN_VALUE))),
                new Wrong("wait", () -> TurnOptions.builder().waitFor(Duration.ofSeconds(Long.MIN_VALUE))),
                new Wrong("lease", () -> TurnOptions.builder().lease(Duration.ofSeconds(Long.MAX_VALUE))),
                new Wrong("headers", () -> QueueItem.of("k", "x").withHeaders(header)),
                new Wrong("headers", () -> QueueItem.of("k", "x").withHeaders(null)),
                new Wrong("items", () -> QueueItem.of("k", "x").withAfter(null)),
                new Wrong("listener", () -> none.onLost(null)),
                new Wrong("queue", () -> keyturn.submit("half \udc00", QueueItem.of("k", "x"))),
                new Wrong("payload", () -> QueueItem.of("k", "half \ud800")),
                new Wrong("idempotencyKey", () -> TurnOptions.builder().idempotencyKey("half \ud800")),
                new Wrong("consumerId", () -> ConsumerOptions.builder().consumerId("half \ud800")),
                new Wrong("itemId", () -> new Prerequisite("q", "half \ud800")),
                new Wrong("idempotency_key", () -> keyturn.enQueue(EnQueueRequest.newBuilder()
                        .setQueue("q").setKey("k").setIdempotencyKey("half \ud800").build())),
                new Wrong("items[1].headers.value", () -> keyturn.submit(
                        SubmitRequest.newBuilder()
                                .setQueue("q")
                                .addItems(NewItem.newBuilder().setKey("\ud83d\ude00"))
                                .addItems(NewItem.newBuilder().putHeaders("name", "half \ud800"))
                                .build(),
                        CallSettings.DEFAULT)),
                new Wrong("key", () -> keyturn.admin().explainKey(
                        ExplainKeyRequest.newBuilder().setQueue("q").setKey("half \ud800").build())),
                new Wrong("queue", () -> keyturn.producer("a b", spooled())),
                new Wrong("address", () -> Keyturn.connect("no host:7420")),
                new Wrong("address", () -> Keyturn.connect("127.0.0.1:0")),
                new Wrong("address", () -> Keyturn.connect("127.0.0.1:65536")),
                new Wrong("address", () -> Keyturn.connect("unix:")),
                new Wrong("tls", () -> Keyturn.connect(NOWHERE, tls(TlsOptions.builder().ca(Path.of("/nowhere/ca.pem")).build()))));
    }

    private static ProducerOptions spooled() {
        return ProducerOptions.builder().spool(SpoolOptions.builder(Path.of("/nowhere")).build()).onError((error, item) -> {}).build();
    }

    private static KeyturnOptions tls(TlsOptions tls) {
        return KeyturnOptions.builder().tls(tls).build();
    }

    @TestFactory
    Stream<DynamicTest> wrongArguments() {
        Keyturn keyturn = Keyturn.connect(NOWHERE);
        ScopedTurn none = new ScopedTurn("q", "k", null, null);
        List<Wrong> wrongs = wrongs(keyturn, none).toList();
        Stream<DynamicTest> tests = java.util.stream.IntStream.range(0, wrongs.size())
                .mapToObj(at -> DynamicTest.dynamicTest(at + " " + wrongs.get(at).named(), () -> check(wrongs.get(at))));
        return Stream.concat(tests, Stream.of(DynamicTest.dynamicTest("close", () -> keyturn.close(Duration.ZERO))));
    }

    private static void check(Wrong wrong) {
        KeyturnException error = assertThrows(KeyturnException.class, wrong.call());
        assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
        assertTrue(error.getMessage().contains(wrong.named()), error.getMessage());
    }
}
