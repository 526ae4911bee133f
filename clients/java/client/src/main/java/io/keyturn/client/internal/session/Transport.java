package io.keyturn.client.internal.session;

import com.google.protobuf.MessageLite;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.v1.Turn;

/** Calls and turns, over one stream (the normal way) or as unary calls. Every failure is a {@link KeyturnException}. */
public interface Transport {
    /** Bytes of a call with everything: a message of more ends the stream, with everything on it. */
    int LARGEST_CALL = 4 * 1_048_576 - 64;

    <Q extends MessageLite, A extends MessageLite> CallFuture<A> ask(Kind<Q, A> kind, Q request, CallTerms terms);

    /** The same, asked in the loop and told in the loop: for what must not wait for the application. */
    <Q extends MessageLite, A extends MessageLite> CallFuture<A> askOwn(Kind<Q, A> kind, Q request, long timeout);

    /**
     * Keeps a turn alive until it is released, and tells when it is lost. {@code askedAt}: the clock when the call that gave it was
     * sent: its life is counted from there, because only durations are trusted.
     */
    Held hold(Turn turn, long askedAt);

    /** Calls that are open are refused. Done when nothing of the transport is left. */
    CallFuture<Void> close();

    /** In the loop. Null: there is a connection, or nobody needs one. Else why there is none. */
    KeyturnException unreachable();
}
