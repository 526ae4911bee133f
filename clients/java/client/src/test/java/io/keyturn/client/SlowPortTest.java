package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Ports that hold up their clients. */
final class SlowPortTest {
    /** Only a test that hangs comes near it. */
    private static final Duration FAR = Duration.ofSeconds(60);

    private static final SubmitOptions SOON =
            SubmitOptions.builder().timeout(Duration.ofSeconds(1)).build();
    private static final byte[] LONG_RECORD = {0x16, 3, 3, 0x40, 0};

    /** Closes what is not TLS, and sends a record of TLS to the rest, so slowly that it never ends. */
    private static final class Trickle implements AutoCloseable {
        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final AtomicInteger handshakes = new AtomicInteger();
        private final AtomicInteger most = new AtomicInteger();

        Trickle() throws IOException {
            begin(this::accept);
        }

        String address() {
            return "127.0.0.1:" + server.getLocalPort();
        }

        private static void begin(Runnable task) {
            Thread thread = new Thread(task, "trickle");
            thread.setDaemon(true);
            thread.start();
        }

        private void accept() {
            try {
                while (true) {
                    Socket one = server.accept();
                    begin(() -> serve(one));
                }
            } catch (IOException closed) {
                return;
            }
        }

        private void serve(Socket one) {
            try (one) {
                if (one.getInputStream().read() != LONG_RECORD[0]) return;
                most.accumulateAndGet(handshakes.incrementAndGet(), Math::max);
                try {
                    one.setSoTimeout(100);
                    one.getOutputStream().write(LONG_RECORD);
                    while (isOpen(one)) one.getOutputStream().write(0);
                } finally {
                    handshakes.decrementAndGet();
                }
            } catch (IOException gone) {
                return;
            }
        }

        private static boolean isOpen(Socket one) throws IOException {
            try {
                return one.getInputStream().read() >= 0;
            } catch (java.net.SocketTimeoutException open) {
                return true;
            }
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aHandshakeThatNeverEndsHoldsUpNeitherCallsNorTheEndOfTheClient(KeyturnOptions.TransportKind transport) throws Exception {
        try (Trickle port = new Trickle()) {
            KeyturnOptions options = KeyturnOptions.builder().transport(transport).build();
            Keyturn keyturn = Keyturn.connect(port.address(), options);
            List<CompletableFuture<Throwable>> calls = IntStream.range(0, 20)
                    .mapToObj(n -> keyturn.submit("q", QueueItem.of("k", "x"), SOON).handle((answer, error) -> error))
                    .toList();
            assertTimeoutPreemptively(FAR, () -> {
                for (CompletableFuture<Throwable> call : calls) {
                    String told = call.get().toString();
                    assertTrue(told.contains("cannot reach " + port.address() + ": "), told);
                }
                keyturn.close(Duration.ZERO);
            });
            assertEquals(1, port.most.get());
            Wait.until(() -> port.handshakes.get() == 0);
        }
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aCallWithoutAConnectionNamesTheAddressWhenItsTimeIsOver(KeyturnOptions.TransportKind transport) throws Exception {
        // It takes connections, and says nothing.
        try (ServerSocket mute = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            String address = "127.0.0.1:" + mute.getLocalPort();
            KeyturnOptions options = KeyturnOptions.builder().transport(transport).build();
            try (Keyturn keyturn = Keyturn.connect(address, options)) {
                KeyturnException error = assertThrows(
                        KeyturnException.class, () -> keyturn.get(keyturn.submit("q", QueueItem.of("k", "x"), SOON)));
                assertEquals(Status.Code.DEADLINE_EXCEEDED, error.code());
                String words = "no answer before the call's time-out: cannot reach " + address + ": no answer yet";
                assertEquals(words, error.getMessage());
            }
        }
    }
}
