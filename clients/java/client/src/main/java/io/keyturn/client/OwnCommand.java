package io.keyturn.client;

import io.keyturn.v1.Command;
import io.keyturn.v1.Reply;
import java.util.function.Consumer;

/** What the session asks for itself. Of a stream that breaks it is dropped: the next one begins anew. */
final class OwnCommand extends OpenCommand {
    private final Consumer<Command.Builder> call;
    private final Consumer<Reply> onAnswer;

    OwnCommand(Consumer<Command.Builder> call, Consumer<Reply> onAnswer) {
        this.call = call;
        this.onAnswer = onAnswer;
    }

    @Override
    int bytes() {
        return 64;
    }

    @Override
    void put(Command.Builder command) {
        call.accept(command);
    }

    @Override
    void answered(Reply reply) {
        onAnswer.accept(reply);
    }
}
