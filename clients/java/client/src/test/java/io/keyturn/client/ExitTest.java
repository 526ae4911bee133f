package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a process leaves behind, each in one of its own. */
@Tag("sidecar")
class ExitTest {
    private static final int SIGTERM = 128 + 15;

    /** Its main thread ends, and nobody has closed the client. */
    public static final class Forgetful {
        public static void main(String[] arguments) {
            Keyturn keyturn = Keyturn.connect(arguments[0]);
            keyturn.consume("forgotten", work -> {});
            keyturn.producer("forgotten").add(QueueItem.of("k", "x")).join();
            keyturn.turn("q", "k");
            System.out.println("held");
        }
    }

    /** The end of a worker, as the readme has it. */
    public static final class Graceful {
        public static void main(String[] arguments) {
            Keyturn keyturn = Keyturn.connect(arguments[0]);
            Runtime.getRuntime().addShutdownHook(new Thread(keyturn::close));
            Consumer consumer = keyturn.consume("graceful", work -> {
                System.out.println("begun");
                // Ends when the process is told to.
                Wait.until(() -> Wait.explain(keyturn, "graceful", "signal").hasHolder());
                work.result("finished".getBytes(StandardCharsets.UTF_8));
            });
            consumer.done().join();
        }
    }

    private static Process run(Class<?> main, Sidecar sidecar) throws IOException {
        return run(System.getProperty("java.class.path"), main.getName(), sidecar.address());
    }

    static Process run(String path, String... main) throws IOException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of("-cp", path));
        command.addAll(List.of(main));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    static String line(Process process) throws IOException {
        return new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
    }

    @Test
    void aProcessThatForgetsToCloseEndsAllTheSame() throws Exception {
        try (Sidecar sidecar = Sidecar.start()) {
            Process process = run(Forgetful.class, sidecar);
            try {
                assertEquals("held", line(process));
                assertTrue(process.waitFor(Wait.SECONDS, TimeUnit.SECONDS), "its threads keep it alive");
                assertEquals(0, process.exitValue());
            } finally {
                process.destroyForcibly();
            }
        }
    }

    @Test
    void aProcessThatIsToldToEndFinishesItsHandlers() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            Process process = run(Graceful.class, sidecar);
            try {
                String item = keyturn.get(keyturn.submit("graceful", QueueItem.of("k", "x"))).itemId();
                assertEquals("begun", line(process));
                process.destroy();
                try (ScopedTurn signal = keyturn.turn("graceful", "signal")) {
                    Optional<byte[]> result = keyturn.get(keyturn.result("graceful", item, Duration.ofSeconds(Wait.SECONDS)));
                    assertEquals("finished", new String(result.orElseThrow(), StandardCharsets.UTF_8));
                    signal.complete();
                }
                assertTrue(process.waitFor(Wait.SECONDS, TimeUnit.SECONDS), "it does not end");
                assertEquals(SIGTERM, process.exitValue());
            } finally {
                process.destroyForcibly();
            }
        }
    }
}
