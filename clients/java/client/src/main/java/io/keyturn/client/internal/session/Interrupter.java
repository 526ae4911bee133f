package io.keyturn.client.internal.session;

/** Tells one thread to stop, but never after its work has ended: the thread may be about something else by then. */
public final class Interrupter {
    private final Thread thread = Thread.currentThread();
    private boolean ended;
    private boolean interrupted;

    public synchronized void interrupt() {
        if (ended) return;
        interrupted = true;
        thread.interrupt();
    }

    /** The work has ended. What this one interrupted is not interrupted any more. */
    public synchronized void end() {
        if (ended) return;
        ended = true;
        if (interrupted && Thread.currentThread() == thread) Thread.interrupted();
    }
}
