package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.v1.EnQueueRequest;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Certificates that do not fit, and that are replaced. */
@Tag("sidecar")
final class CertificatesTest {
    private static final String PASSWORD = "nobody's";

    @TempDir
    private static Path folder;

    private static Path right;
    private static Path wrong;
    private static Sidecar sidecar;

    @BeforeAll
    static void startSidecar() throws Exception {
        right = certificate("right");
        wrong = certificate("wrong");
        sidecar = Sidecar.start("tls: { cert: " + right + ", key: " + folder.resolve("right.key") + " }");
    }

    @AfterAll
    static void stopSidecar() throws Exception {
        sidecar.close();
    }

    /** A certificate that is its own authority, with its key. */
    private static Path certificate(String name) throws Exception {
        Path store = folder.resolve(name + ".p12");
        Process made = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                        "-genkeypair", "-alias", "it", "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=" + name,
                        "-ext", "san=ip:127.0.0.1", "-validity", "30", "-storetype", "PKCS12",
                        "-keystore", store.toString(), "-storepass", PASSWORD)
                .inheritIO()
                .start();
        assertEquals(0, made.waitFor());
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream file = Files.newInputStream(store)) {
            keys.load(file, PASSWORD.toCharArray());
        }
        pem(name + ".key", "PRIVATE KEY", keys.getKey("it", PASSWORD.toCharArray()).getEncoded());
        return pem(name + ".pem", "CERTIFICATE", keys.getCertificate("it").getEncoded());
    }

    private static Path pem(String file, String what, byte[] bytes) throws Exception {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        return Files.writeString(
                folder.resolve(file), "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n");
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aTurnThatNoConnectionCameAboutForHasNoPlaceToGiveUp(KeyturnOptions.TransportKind transport) throws Exception {
        List<String> asked = new CopyOnWriteArrayList<>();
        Metrics metrics = new Metrics() {
            @Override
            public void callDone(String method, Status.Code code, Duration took) {
                asked.add(method);
            }
        };
        KeyturnOptions options = KeyturnOptions.builder()
                .transport(transport)
                .tls(TlsOptions.builder().ca(wrong).build())
                // Nothing but the certificate ends the call, however slow the machine is.
                .sessionTtl(Duration.ofHours(1))
                .metrics(metrics)
                .build();
        TurnOptions patient = TurnOptions.builder().waitFor(TurnOptions.FOREVER).build();
        Keyturn keyturn = Keyturn.connect(sidecar.address(), options);
        assertThrows(KeyturnException.class, () -> keyturn.turn("q", "k", patient));
        keyturn.close();
        assertEquals(List.of("EnQueue"), asked);
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void anAuthorityThatDoesNotFitIsToldAtOnceAndIsReadAgainWhenItsFileChanges(KeyturnOptions.TransportKind transport)
            throws Exception {
        Path ca = Files.copy(wrong, folder.resolve("ca-" + transport + ".pem"));
        KeyturnOptions options =
                KeyturnOptions.builder().transport(transport).tls(TlsOptions.builder().ca(ca).build()).build();
        EnQueueRequest request = EnQueueRequest.newBuilder().setQueue("q").setKey("k-" + transport).setTicket("t").build();
        try (Keyturn keyturn = Keyturn.connect(sidecar.address(), options)) {
            KeyturnException error = assertThrows(KeyturnException.class, () -> keyturn.turn("q", "k"));
            assertEquals(Status.Code.UNAVAILABLE, error.code());
            String words = "cannot reach " + sidecar.address() + ": no connection over TLS: the certificate of the sidecar";
            assertTrue(error.getMessage().startsWith(words), error.getMessage());
            Files.copy(right, ca, StandardCopyOption.REPLACE_EXISTING);
            // A connection that was begun before may fail still.
            Wait.until(() -> isGranted(keyturn, request));
        }
    }

    private static void saysAtOnce(Sidecar other, KeyturnOptions options, String words) {
        List<Consumer<Keyturn>> calls = List.of(
                keyturn -> keyturn.get(keyturn.submit("q", QueueItem.of("k", "x"))),
                keyturn -> keyturn.turn("q", "k", TurnOptions.builder().waitFor(TurnOptions.FOREVER).build()),
                keyturn -> keyturn.get(keyturn.result("q", "i", TurnOptions.FOREVER)));
        for (Consumer<Keyturn> call : calls) {
            try (Keyturn keyturn = Keyturn.connect(other.address(), options)) {
                KeyturnException error = assertThrows(KeyturnException.class, () -> call.accept(keyturn));
                // Not that of a time-out.
                assertEquals(Status.Code.UNAVAILABLE, error.code());
                assertTrue(error.getMessage().startsWith("cannot reach " + other.address() + ": "), error.getMessage());
                assertTrue(error.getMessage().contains(words), error.getMessage());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aClientWithoutTlsIsToldAtOnceThatTheSidecarSpeaksIt(KeyturnOptions.TransportKind transport) {
        KeyturnOptions plain = KeyturnOptions.builder().transport(transport).build();
        saysAtOnce(sidecar, plain, "the sidecar speaks TLS, and this client does not (KeyturnOptions.tls)");
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aClientWithTlsIsToldAtOnceThatTheSidecarDoesNotSpeakIt(KeyturnOptions.TransportKind transport) throws Exception {
        TlsOptions tls = TlsOptions.builder().ca(right).build();
        try (Sidecar plain = Sidecar.start()) {
            saysAtOnce(plain, KeyturnOptions.builder().transport(transport).tls(tls).build(), "the sidecar does not speak TLS");
        }
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aSidecarThatIsNotThereIsNamedWithTheReason(KeyturnOptions.TransportKind transport) {
        KeyturnOptions options = KeyturnOptions.builder().transport(transport).build();
        SubmitOptions soon = SubmitOptions.builder().timeout(Duration.ofSeconds(3)).build();
        try (Keyturn keyturn = Keyturn.connect("127.0.0.1:1", options)) {
            KeyturnException error = assertThrows(
                    KeyturnException.class, () -> keyturn.get(keyturn.submit("q", QueueItem.of("k", "x"), soon)));
            assertTrue(error.getMessage().contains("cannot reach 127.0.0.1:1: Connection refused"), error.getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aPortThatAnswersHandshakesBeforeItsSidecarIsUpEndsNoCall(KeyturnOptions.TransportKind transport) throws Exception {
        KeyturnOptions options = KeyturnOptions.builder().transport(transport).build();
        try (Sidecar plain = Sidecar.start();
                TwoPorts port = new TwoPorts(plain.address(), sidecar.address());
                Keyturn keyturn = Keyturn.connect(port.address(), options)) {
            keyturn.get(keyturn.submit("q", QueueItem.of("k", "x")));
            assertTrue(port.isUp());
        }
    }

    private static boolean isGranted(Keyturn keyturn, EnQueueRequest request) {
        try {
            return keyturn.get(keyturn.enQueue(request)).hasTurn();
        } catch (KeyturnException before) {
            return false;
        }
    }
}
