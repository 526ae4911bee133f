package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;

/**
 * Whether the port of the sidecar answers a TLS handshake. A thread makes the handshake, one at a time for all calls that failed:
 * the port may be slow, and the loop waits for nothing. Of the loop.
 */
final class TlsProbe {
    /** How long a handshake may take. */
    static final long LONGEST = 1_000 * Clock.MS;
    /** How long its answer serves other calls. */
    private static final long FRESH = 1_000 * Clock.MS;
    /** A port may answer handshakes for a while before the sidecar behind it is up: only a second answer so much later counts. */
    private static final long APART = 2_000 * Clock.MS;

    private final String address;
    private final Loop loop;
    private final Executor threads;
    private final List<Runnable> waiting = new ArrayList<>();
    /** Null: no thread makes a handshake. */
    private Socket raw;
    /** The time for the handshake is over, and its thread is not. */
    private boolean isOverdue;

    private boolean isClosed;
    private ScheduledFuture<?> limit;
    private long beganAt;
    /** NEVER: no handshake was made yet. */
    private long endedAt = Clock.NEVER;
    /** The first of the handshakes in a row that were answered; NEVER: the last one was not. */
    private long answeredSince = Clock.NEVER;

    TlsProbe(String address, Loop loop, Executor threads) {
        this.address = address;
        this.loop = loop;
        this.threads = threads;
    }

    boolean isAnswered() {
        return answeredSince != Clock.NEVER;
    }

    /** Two handshakes were answered, and between them there was time enough for a sidecar to start. */
    boolean isCertain() {
        return isAnswered() && beganAt - answeredSince >= APART;
    }

    /** Runs the task in the loop as soon as there is an answer of late, after a second at most. */
    void ask(Runnable then) {
        long now = Clock.now();
        boolean isFresh = endedAt != Clock.NEVER && now - endedAt < FRESH;
        if (isClosed || isOverdue || (raw == null && isFresh) || !SpeaksTls.canAsk(address)) {
            then.run();
            return;
        }
        waiting.add(then);
        if (raw == null) begin(now);
    }

    private void begin(long now) {
        Socket socket = new Socket();
        raw = socket;
        beganAt = now;
        limit = loop.after(LONGEST, () -> {
            isOverdue = true;
            closeSocket(socket);
            answer(false);
        });
        try {
            threads.execute(() -> {
                boolean speaks = SpeaksTls.over(socket, address);
                loop.tell(() -> over(speaks));
            });
        } catch (RejectedExecutionException closed) {
            over(false);
        }
    }

    private void over(boolean speaks) {
        raw = null;
        limit.cancel(false);
        if (!isOverdue) answer(speaks);
        isOverdue = false;
    }

    private void answer(boolean speaks) {
        endedAt = Clock.now();
        if (!speaks) answeredSince = Clock.NEVER;
        else if (answeredSince == Clock.NEVER) answeredSince = endedAt;
        List<Runnable> told = List.copyOf(waiting);
        waiting.clear();
        told.forEach(Runnable::run);
    }

    /** Nobody waits any more. */
    void close() {
        isClosed = true;
        if (raw != null) closeSocket(raw);
        List<Runnable> told = List.copyOf(waiting);
        waiting.clear();
        told.forEach(Runnable::run);
    }

    private static void closeSocket(Socket socket) {
        try {
            socket.close();
        } catch (IOException gone) {
            // It is closed all the same.
            return;
        }
    }
}
