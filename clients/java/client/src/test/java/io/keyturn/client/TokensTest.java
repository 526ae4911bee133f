package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.ExplainKeyRequest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who asks: tokens of the client, against a sidecar that wants to know. It lets ada in, who may do nothing in other queues than q. */
@Tag("sidecar")
final class TokensTest {
    /** Nothing but a refusal ends a call, however slow the machine is. */
    private static final com.google.protobuf.Duration FAR = Protos.duration(Duration.ofMinutes(5));

    @TempDir
    Path folder;

    private Sidecar sidecar;

    @BeforeEach
    void start() throws Exception {
        accept("first-token");
        sidecar = Sidecar.start("auth: { tokens: " + folder.resolve("tokens.yaml")
                + ", rights: { ada: [{ queues: [q], groups: [g], may: [produce, consume, view] }] } }");
    }

    @AfterEach
    void stop() throws Exception {
        sidecar.close();
    }

    /** From now on this is the token of ada. A half of it is never read. */
    private void accept(String token) throws Exception {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        write("tokens.yaml", "ada: { sha256: " + HexFormat.of().formatHex(hash) + " }\n");
    }

    private Path write(String name, String text) throws IOException {
        Path made = Files.writeString(folder.resolve("new"), text);
        return Files.move(made, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    private Keyturn connect(KeyturnOptions.TransportKind transport, Consumer<KeyturnOptions.Builder> token) {
        KeyturnOptions.Builder options =
                KeyturnOptions.builder().transport(transport).sessionTtl(Duration.ofHours(1));
        token.accept(options);
        return Keyturn.connect(sidecar.address(), options.build());
    }

    private static CompletableFuture<?> ask(Keyturn keyturn, String queue) {
        return keyturn.enQueue(
                EnQueueRequest.newBuilder().setQueue(queue).setKey("k").setWait(FAR).build());
    }

    private static void explain(Keyturn keyturn) {
        keyturn.admin().explainKey(ExplainKeyRequest.newBuilder().setQueue("q").setKey("k").build());
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aTokenLetsCallsOfWorkersAndOfPeopleIn(KeyturnOptions.TransportKind transport) throws Exception {
        Path file = write("token", "first-token\n");
        Path ofWindows = write("windows", " first-token\r\n");
        List<Consumer<KeyturnOptions.Builder>> sources = List.of(
                options -> options.token("first-token"),
                options -> options.tokenFile(file),
                options -> options.tokenFile(ofWindows),
                options -> options.tokenFrom(() -> "first-token"));
        for (Consumer<KeyturnOptions.Builder> token : sources) {
            try (Keyturn keyturn = connect(transport, token)) {
                keyturn.get(keyturn.submit("q", QueueItem.of("k2", "1")));
                explain(keyturn);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void withoutATokenThatHoldsCallsFailAtOnceAndSayWhatToDo(KeyturnOptions.TransportKind transport) {
        Callable<String> failing = () -> {
            throw new IOException("the vault is closed");
        };
        Map<String, Consumer<KeyturnOptions.Builder>> sources = Map.of(
                "nothing says who is asking", options -> {},
                "not known here", options -> options.token("another-token"),
                "no token: the vault is closed", options -> options.tokenFrom(failing),
                "no token: the token is empty", options -> options.tokenFrom(() -> ""),
                "no token: the token", options -> options.tokenFrom(() -> null));
        sources.forEach((expected, token) -> {
            try (Keyturn keyturn = connect(transport, token)) {
                UnauthenticatedException error =
                        assertThrows(UnauthenticatedException.class, () -> keyturn.get(ask(keyturn, "q")));
                assertEquals(Status.Code.UNAUTHENTICATED, error.code());
                assertTrue(error.getMessage().contains(expected), error.getMessage());
                boolean isOfSidecar = error.reason().equals("NO_CREDENTIALS");
                assertEquals(isOfSidecar, error.getMessage().contains("tokenFile"), error.getMessage());
                KeyturnException ofPeople = KeyturnException.of(assertThrows(RuntimeException.class, () -> explain(keyturn)));
                assertTrue(ofPeople instanceof UnauthenticatedException, ofPeople.toString());
            }
        });
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void whatTheRightsDoNotAllowIsToldWithVerbAndQueue(KeyturnOptions.TransportKind transport) {
        try (Keyturn keyturn = connect(transport, options -> options.token("first-token"))) {
            PermissionDeniedException error =
                    assertThrows(PermissionDeniedException.class, () -> keyturn.get(ask(keyturn, "foreign")));
            assertEquals("NOT_ALLOWED", error.reason());
            assertEquals(Map.of("verb", "consume", "what", "queue foreign"), error.details().metadata());
            assertTrue(error.getMessage().contains("auth.rights"), error.getMessage());
            // The rest goes on.
            keyturn.get(keyturn.submit("q", QueueItem.of("k2", "1")));
        }
    }

    @Test
    void aSessionWhoseTokenIsReplacedInItsFileComesBackWithItsTurns() throws Exception {
        Path file = write("token", "first-token");
        try (Keyturn old = connect(KeyturnOptions.TransportKind.UNARY, options -> options.token("first-token"));
                Keyturn keyturn = connect(KeyturnOptions.TransportKind.SESSION, options -> options.tokenFile(file));
                ScopedTurn turn = keyturn.turn("q", "k")) {
            CompletableFuture<?> waiting = ask(old, "q");
            write("token", "second-token");
            accept("second-token");
            // Its call ends with its token; so does the stream of the other.
            assertThrows(UnauthenticatedException.class, () -> old.get(waiting));
            keyturn.get(keyturn.submit("q", QueueItem.of("k2", "1")));
            assertFalse(turn.isLost());
        }
    }

    @Test
    void whileTheFileCannotBeReadTheLastGoodTokenCounts() throws Exception {
        for (String text : new String[] {"", "two words", "x".repeat(100_000), null}) {
            Path file = write("token", "first-token");
            try (Keyturn keyturn = connect(KeyturnOptions.TransportKind.SESSION, options -> options.tokenFile(file))) {
                if (text == null) Files.delete(file);
                else write("token", text);
                // Its stream looks at the file when it begins, which is now.
                keyturn.get(keyturn.submit("q", QueueItem.of("k2", "1")));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aFunctionThatTakesItsTimeKeepsNeitherACallBeyondItsTimeOutNorTheClient(KeyturnOptions.TransportKind transport)
            throws Exception {
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch begun = new CountDownLatch(1);
        Callable<String> endless = () -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } finally {
                interrupted.countDown();
            }
            return "";
        };
        Keyturn keyturn = connect(transport, options -> options.tokenFrom(endless));
        CompletableFuture<?> waiting = ask(keyturn, "q");
        begun.await();
        keyturn.close();
        assertEquals(0, interrupted.getCount());
        KeyturnException error = assertThrows(KeyturnException.class, () -> keyturn.get(waiting));
        assertEquals(Status.Code.CANCELLED, error.code());
    }

    @Test
    void aWrongOptionIsRefusedAndNoErrorShowsTheToken() throws Exception {
        for (String token : new String[] {"", "my secret", "a\nb", "é", "\ufeffmy-secret", "x".repeat(8_193), "x".repeat(1_048_576)}) {
            refused(() -> KeyturnOptions.builder().token(token));
            Path file = write("token", token);
            refused(() -> connect(KeyturnOptions.TransportKind.SESSION, options -> options.tokenFile(file)));
        }
        refused(() -> KeyturnOptions.builder().token(null));
        refused(() -> KeyturnOptions.builder().tokenFile(null));
        refused(() -> KeyturnOptions.builder().tokenFrom(null));
        Path none = folder.resolve("none");
        String told = refused(() -> connect(KeyturnOptions.TransportKind.SESSION, options -> options.tokenFile(none)));
        assertTrue(told.contains(none.toString()), told);
        KeyturnOptions.builder().token("x".repeat(8_192));
    }

    private static String refused(Runnable option) {
        KeyturnException error = assertThrows(KeyturnException.class, option::run);
        assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
        assertFalse(error.getMessage().contains("secret"), error.getMessage());
        return error.getMessage();
    }
}
