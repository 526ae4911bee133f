package io.keyturn.client.internal.session;

import io.keyturn.v1.Command;
import io.keyturn.v1.SessionRequest;
import java.util.ArrayDeque;

/** Commands that are open and not yet written to the stream, in order. */
final class Outbox {
    /** Bounds of one message. The sidecar takes up to 4 MiB; beyond some hundred commands a larger one is not faster. */
    private static final int COMMANDS_PER_MESSAGE = 1_024;

    private static final int BYTES_PER_MESSAGE = 1_048_576;

    private final OpenCommands open;
    private final ArrayDeque<OpenCommand> waiting = new ArrayDeque<>();
    /** What the session asks itself goes first: it is little, and other things depend on it in time. */
    private final ArrayDeque<OpenCommand> urgent = new ArrayDeque<>();

    Outbox(OpenCommands open) {
        this.open = open;
    }

    void push(OpenCommand command) {
        waiting.add(command);
    }

    void pushUrgent(OpenCommand command) {
        urgent.add(command);
    }

    /** A new stream: what was not written to the old one is asked for anew by its owner. */
    void clear() {
        waiting.clear();
        urgent.clear();
    }

    /** Writes as much as the stream takes. */
    void flush(SessionStream stream, long now) {
        while (stream.isReady() && !(waiting.isEmpty() && urgent.isEmpty())) {
            SessionRequest.Builder message = SessionRequest.newBuilder();
            int bytes = 0;
            while (!urgent.isEmpty()) bytes += write(urgent.poll(), message, now);
            while (!waiting.isEmpty() && message.getCommandsCount() < COMMANDS_PER_MESSAGE) {
                OpenCommand command = waiting.peek();
                if (message.getCommandsCount() > 0 && bytes + command.bytes() > BYTES_PER_MESSAGE) break;
                bytes += write(waiting.poll(), message, now);
            }
            if (message.getCommandsCount() > 0) stream.write(message.build());
        }
    }

    private int write(OpenCommand command, SessionRequest.Builder message, long now) {
        // Abandoned before it was sent: nobody needs to know.
        if (!open.has(command)) return 0;
        Command.Builder builder = Command.newBuilder().setId(command.id);
        command.put(builder);
        message.addCommands(builder.build());
        command.sent(now);
        return command.bytes();
    }
}
