package io.keyturn.client.internal.session;

import io.keyturn.client.Protos;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.v1.Cancel;
import io.keyturn.v1.Command;
import io.keyturn.v1.Hello;
import io.keyturn.v1.Reply;
import java.util.function.Consumer;

/** What the session asks for itself. Of a stream that breaks it is dropped: the next one begins anew. */
final class OwnCommand extends OpenCommand {
    private final Consumer<Command.Builder> call;
    private final Consumer<Reply> onAnswer;
    /** It gives a turn back: who leaves waits for its outcome. */
    final boolean givesBack;

    OwnCommand(Consumer<Command.Builder> call, Consumer<Reply> onAnswer) {
        this(call, onAnswer, false);
    }

    OwnCommand(Consumer<Command.Builder> call, Consumer<Reply> onAnswer, boolean givesBack) {
        this.call = call;
        this.onAnswer = onAnswer;
        this.givesBack = givesBack;
    }

    static OwnCommand hello(ClientSettings options, Consumer<Reply> onAnswer) {
        Hello.Builder hello = Hello.newBuilder()
                .setConsumerId(options.consumerId())
                .setSessionId(options.sessionId())
                .setTtl(Protos.duration(options.sessionTtl()));
        return new OwnCommand(command -> command.setHello(hello), onAnswer);
    }

    /** It names no command: its answer proves that the sidecar is there. */
    static OwnCommand proof(Runnable onAnswer) {
        Cancel.Builder nothing = Cancel.newBuilder();
        return new OwnCommand(command -> command.setCancel(nothing), reply -> onAnswer.run());
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
