package io.keyturn.client.internal.words;

import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.keyturn.v1.Command;
import io.keyturn.v1.Reply;
import io.keyturn.v1.Turn;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** One of the eight calls of a worker: how it travels, and what its answer means for turns. */
public class Kind<Q extends MessageLite, A extends MessageLite> {
    public final MethodDescriptor<Q, A> method;
    /** It ends or keeps what the application has. Room for it is found when there is none for new work. */
    public final boolean keepsOrEnds;

    private final BiFunction<Command.Builder, Q, Command.Builder> put;
    private final Predicate<Reply> isAnswer;
    private final Function<Reply, A> answerOf;

    Kind(
            MethodDescriptor<Q, A> method,
            boolean keepsOrEnds,
            BiFunction<Command.Builder, Q, Command.Builder> put,
            Predicate<Reply> isAnswer,
            Function<Reply, A> answerOf) {
        this.method = method;
        this.keepsOrEnds = keepsOrEnds;
        this.put = put;
        this.isAnswer = isAnswer;
        this.answerOf = answerOf;
    }

    public final String name() {
        return method.getBareMethodName();
    }

    public final void put(Q request, Command.Builder command) {
        put.apply(command, request);
    }

    /** Null: it is the answer to another call. */
    public final A read(Q request, Reply reply) {
        return isAnswer.test(reply) ? filled(request, answerOf.apply(reply)) : null;
    }

    /** With what a session leaves out because the command said it. */
    A filled(Q request, A answer) {
        return answer;
    }

    /** How long it may wait before it is answered, ns. */
    public long wait(Q request) {
        return 0;
    }

    /** As it is sent however often: with ids for what has none. */
    public Q named(Q request, Supplier<String> newId) {
        return request;
    }

    /** As a unary call, which no session names: with who asks. */
    public Q identified(Q request, String consumerId) {
        return request;
    }

    /** Null: it has no ticket. */
    public TicketClaim claim(Q request) {
        return null;
    }

    /** It asks for a turn with a lease of its own. */
    public boolean isLeased(Q request) {
        return false;
    }

    /** The turn that it settles, by its token; null: none. */
    public TurnName settles(Q request) {
        return null;
    }

    /** @param abandoned nobody waits for the answer any more; {@code leave}: nor will anybody with its ticket */
    public void book(Q request, A answer, Books books, boolean abandoned, boolean leave) {}

    /** The turns that the answer gives. */
    public List<Turn> turns(A answer) {
        return List.of();
    }
}
