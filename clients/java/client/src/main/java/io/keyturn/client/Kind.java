package io.keyturn.client;

import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.keyturn.v1.Command;
import io.keyturn.v1.Reply;
import io.keyturn.v1.Turn;
import java.util.List;
import java.util.function.Supplier;

/** One of the eight calls of a worker: how it travels, and what its answer means for turns. */
abstract class Kind<Q extends MessageLite, A extends MessageLite> {
    /** The longest wait that a queue's policy can ask for. */
    static final long LONGEST_WAIT = 300_000 * Clock.MS;

    final MethodDescriptor<Q, A> method;
    /** It ends or keeps what the application has. Room for it is found when there is none for new work. */
    final boolean keepsOrEnds;

    Kind(MethodDescriptor<Q, A> method, boolean keepsOrEnds) {
        this.method = method;
        this.keepsOrEnds = keepsOrEnds;
    }

    final String name() {
        return method.getBareMethodName();
    }

    abstract void put(Q request, Command.Builder command);

    /** Null: it is the answer to another call. */
    abstract A read(Q request, Reply reply);

    /** How long it may wait before it is answered, ns. */
    long wait(Q request) {
        return 0;
    }

    /** As it is sent however often: with ids for what has none. */
    Q named(Q request, Supplier<String> newId) {
        return request;
    }

    /** As a unary call, which no session names: with who asks. */
    Q identified(Q request, String consumerId) {
        return request;
    }

    /** Null: it has no ticket. */
    TicketClaim claim(Q request) {
        return null;
    }

    /** The turn that it settles, by its token; null: none. */
    TurnName settles(Q request) {
        return null;
    }

    /** @param abandoned nobody waits for the answer any more; {@code leave}: nor will anybody with its ticket */
    void book(Q request, A answer, Books books, boolean abandoned, boolean leave) {}

    /** The turns that the answer gives. */
    List<Turn> turns(A answer) {
        return List.of();
    }

    static void bookTurn(Turn turn, boolean tied, String ticket, Books books, boolean abandoned, boolean leave) {
        if (abandoned) books.undelivered(turn, leave ? "" : ticket);
        else books.given(turn, tied, ticket);
    }
}
