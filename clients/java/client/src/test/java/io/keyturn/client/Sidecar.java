package io.keyturn.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A real sidecar as a child process. It ends with the test, and with the process of the tests. */
final class Sidecar implements AutoCloseable {
    private static final Pattern ADDRESS = Pattern.compile("\"grpc\":\"([^\"]+)\"");
    private static final int START_SECONDS = 60;
    /** Ports that systems give to nobody by themselves: what is killed finds its own free again, however many others start meanwhile. */
    private static final int FIRST_PORT = 12_000;

    private static final int PORTS = 8_000;
    private static final AtomicInteger NEXT_PORT =
            new AtomicInteger(ThreadLocalRandom.current().nextInt(PORTS));

    private final Path config;
    private Process process;
    private String address = ownAddress();

    private Sidecar(Path config) {
        this.config = config;
    }

    static Sidecar start() throws IOException, InterruptedException {
        return start("");
    }

    static Sidecar start(String yaml) throws IOException, InterruptedException {
        Path config = Files.createTempFile("keyturn", ".yaml");
        Files.writeString(config, yaml);
        Sidecar sidecar = new Sidecar(config);
        sidecar.run();
        return sidecar;
    }

    static Sidecar listeningOn(String address) throws IOException, InterruptedException {
        Sidecar sidecar = new Sidecar(Files.createTempFile("keyturn", ".yaml"));
        sidecar.address = address;
        sidecar.run();
        return sidecar;
    }

    String address() {
        return address;
    }

    private static String ownAddress() {
        for (int tried = 0; tried < 100; tried += 1) {
            int port = FIRST_PORT + NEXT_PORT.incrementAndGet() % PORTS;
            try (ServerSocket free = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return "127.0.0.1:" + free.getLocalPort();
            } catch (IOException taken) {
                // The next one.
            }
        }
        throw new IllegalStateException("a hundred ports in a row are in use");
    }

    /** As by kill -9. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Anew, at the same address. */
    void run() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("node", main().toString(), "serve"));
        command.addAll(List.of("--listen", address, "--http-listen", "127.0.0.1:0", "--console-listen", "off"));
        command.addAll(List.of("--config", config.toString()));
        Process started = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        process = started;
        Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
        BlockingQueue<String> found = new ArrayBlockingQueue<>(1);
        Thread reader = new Thread(() -> read(started, found), "sidecar-log");
        reader.setDaemon(true);
        reader.start();
        String told = found.poll(START_SECONDS, TimeUnit.SECONDS);
        if (told == null || told.startsWith("the sidecar")) {
            started.destroyForcibly();
            throw new IOException(told == null ? "the sidecar does not listen after " + START_SECONDS + " s" : told);
        }
        address = told;
    }

    @Override
    public void close() throws IOException, InterruptedException {
        kill();
        Files.deleteIfExists(config);
    }

    static Path root() {
        return Path.of("../../..").toAbsolutePath().normalize();
    }

    private static Path main() {
        String named = System.getenv("KEYTURN_SIDECAR_MAIN");
        Path main = named == null ? root().resolve("dist/bundle/main.js") : Path.of(named);
        if (!Files.exists(main)) throw new IllegalStateException(main + " is missing: run `npm run build` in " + root());
        return main;
    }

    /** To its end, so that the sidecar never waits for a reader. */
    private static void read(Process process, BlockingQueue<String> found) {
        StringBuilder log = new StringBuilder();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Matcher address = ADDRESS.matcher(line);
                if (address.find()) found.offer(address.group(1));
                if (log.length() < 10_000) log.append(line).append('\n');
            }
        } catch (IOException closed) {
            log.append(closed);
        }
        found.offer("the sidecar has ended: " + log);
    }
}
