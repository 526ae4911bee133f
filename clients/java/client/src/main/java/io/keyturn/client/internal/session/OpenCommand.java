package io.keyturn.client.internal.session;

import io.keyturn.v1.Command;
import io.keyturn.v1.Reply;

/** A command on its way: what is sent, and who waits for its answer. */
abstract class OpenCommand {
    private static final long NOT_SENT = Long.MIN_VALUE;

    int id;
    /** In the order of all commands of the client. */
    long place;
    /** When it was written to the stream that there is. */
    private long sentAt = NOT_SENT;

    boolean isSent() {
        return sentAt != NOT_SENT;
    }

    long sentAt() {
        return sentAt;
    }

    void sent(long now) {
        sentAt = now;
    }

    void unsent() {
        sentAt = NOT_SENT;
    }

    /** On the wire. */
    abstract int bytes();

    abstract void put(Command.Builder command);

    abstract void answered(Reply reply);
}
