package io.keyturn.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Threads and sockets beyond those that there were before the first client. */
final class Leftovers {
    /** What was closed is gone a moment later. */
    private static final long PATIENCE_NS = 2_000_000_000;

    private static final long BETWEEN_MS = 20;
    private static final Path OPEN_FILES = Path.of("/proc/self/fd");

    private final Map<String, Integer> before;

    Leftovers() {
        warmUp();
        before = counted();
    }

    /** The virtual machine keeps a socket of its own for ever from the first channel on, whoever that belonged to. */
    private static void warmUp() {
        try {
            SocketChannel.open().close();
        } catch (IOException noNetwork) {
            return;
        }
    }

    JsonObject left() throws InterruptedException {
        long until = System.nanoTime() + PATIENCE_NS;
        JsonArray what = more();
        while (!what.isEmpty() && System.nanoTime() < until) {
            Thread.sleep(BETWEEN_MS);
            what = more();
        }
        JsonObject shown = new JsonObject();
        shown.addProperty("count", what.size());
        shown.add("what", what);
        return shown;
    }

    private JsonArray more() {
        JsonArray what = new JsonArray();
        counted().forEach((kind, count) -> {
            int more = count - before.getOrDefault(kind, 0);
            if (more > 0) what.add(kind + ": " + more);
        });
        return what;
    }

    private static Map<String, Integer> counted() {
        Map<String, Integer> counts = new HashMap<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            ThreadGroup group = thread.getThreadGroup();
            // Those of the virtual machine, and of the player itself.
            boolean isOurs = group != null && group.getName().equals("main") && !thread.getName().startsWith("player");
            if (isOurs) counts.merge("thread " + thread.getName(), 1, Integer::sum);
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(OPEN_FILES)) {
            for (Path file : files) countSocket(file, counts);
        } catch (IOException elsewhere) {
            // A system without /proc: threads are told, sockets are not.
            return counts;
        }
        return counts;
    }

    private static void countSocket(Path file, Map<String, Integer> counts) {
        try {
            if (Files.readSymbolicLink(file).toString().startsWith("socket:")) counts.merge("socket", 1, Integer::sum);
        } catch (IOException closedMeanwhile) {
            return;
        }
    }
}
