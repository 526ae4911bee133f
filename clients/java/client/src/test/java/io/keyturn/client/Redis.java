package io.keyturn.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/** A Redis that keeps nothing, for a cluster of one sidecar. It ends with the test, and with the process of the tests. */
final class Redis implements AutoCloseable {
    private static final String PROGRAM = "redis-server";

    private final Process process;
    private final Path directory;
    private final int port;

    private Redis(Process process, Path directory, int port) {
        this.process = process;
        this.directory = directory;
        this.port = port;
    }

    /** On a person's machine without it the test is left out. */
    static Redis start() throws IOException {
        boolean isThere = List.of(System.getenv("PATH").split(":")).stream()
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, PROGRAM)));
        if (!"true".equals(System.getenv("CI"))) Assumptions.assumeTrue(isThere, "apt-get install redis-server");
        int port = freePort();
        Path directory = Files.createTempDirectory("keyturn-redis");
        Process started = new ProcessBuilder(List.of(
                        PROGRAM, "--port", String.valueOf(port), "--bind", "127.0.0.1", "--save", "", "--appendonly",
                        "no", "--dir", directory.toString()))
                .redirectErrorStream(true)
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
        Redis redis = new Redis(started, directory, port);
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(started.getInputStream(), StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine())
            if (line.contains("Ready to accept connections")) return redis;
        throw new IOException(PROGRAM + " has ended before it was ready");
    }

    String url() {
        return "redis://127.0.0.1:" + port;
    }

    @Override
    public void close() throws IOException, InterruptedException {
        process.destroyForcibly().waitFor();
        Files.deleteIfExists(directory);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
