package io.keyturn.conformance;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** The player of the Java client: does what the lines on stdin say, with the client as an application uses it. */
public final class Main {
    private Main() {}

    /**
     * Plays until the end of stdin.
     *
     * @param arguments none
     * @throws IOException when stdin cannot be read
     */
    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Player player = new Player(line -> {
            synchronized (out) {
                out.print(line + "\n");
                out.flush();
            }
        });
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) player.take(line);
        player.end();
        System.exit(0);
    }
}
