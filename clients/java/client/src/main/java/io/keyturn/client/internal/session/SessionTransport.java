package io.keyturn.client.internal.session;

import com.google.protobuf.MessageLite;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Metrics;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.v1.Turn;
import java.util.function.Supplier;

/** The calls of a worker over a session. */
public final class SessionTransport implements Transport {
    private final Session session;
    private final Loop loop;
    private final Callbacks callbacks;
    private final Metrics metrics;
    private final Supplier<String> newId;
    /** Of turns with a lease of their own. What is tied lives as long as the session is known to. */
    private final Confirmations confirmations = new Confirmations(this);

    public SessionTransport(ClientSettings options, Connection connection, Supplier<String> newId) {
        this.loop = connection.loop();
        this.callbacks = connection.callbacks();
        this.metrics = options.metrics();
        this.newId = newId;
        Renewals renewals = new Renewals(this, loop, options::marginOf, this::lose);
        this.session = new Session(options, connection, renewals);
    }

    private void lose(Held held, TurnLoss why) {
        session.turns().lose(held, why);
    }

    @Override
    public <Q extends MessageLite, A extends MessageLite> CallFuture<A> ask(
            Kind<Q, A> kind, Q request, CallTerms terms) {
        CallFuture<A> asked = send(kind, request, terms, false);
        return kind.isLeased(request) ? confirmations.of(kind, request, asked) : asked;
    }

    @Override
    public <Q extends MessageLite, A extends MessageLite> CallFuture<A> askOwn(Kind<Q, A> kind, Q request, long timeout) {
        return send(kind, request, CallTerms.nanos(timeout), true);
    }

    private <Q extends MessageLite, A extends MessageLite> CallFuture<A> send(
            Kind<Q, A> kind, Q request, CallTerms terms, boolean isOwn) {
        Q named = kind.named(request, newId);
        WorkerCommand<Q, A> command =
                new WorkerCommand<>(kind, named, terms, session.turns(), callbacks, metrics);
        command.isOwn = isOwn;
        if (command.bytes() > LARGEST_CALL) {
            String what = "the call takes " + command.bytes() + " bytes; at most " + LARGEST_CALL;
            return CallFuture.failed(Failures.wrong(what));
        }
        command.future.onCancel(() -> loop.tell(() -> session.abandon(command)));
        command.future.onUntold(answer -> loop.tell(() -> session.untold(command, answer)));
        session.ask(command);
        return command.future;
    }

    @Override
    public Held hold(Turn turn, long askedAt) {
        Held held = new Held(turn, one -> loop.tell(() -> session.release(one)));
        long since = confirmations.since(turn, askedAt);
        loop.tell(() -> session.turns().hold(held, since));
        TurnLoss loss = session.lossOfAll();
        if (loss != null) held.lose(loss);
        return held;
    }

    @Override
    public KeyturnException unreachable() {
        return session.unreachable();
    }

    @Override
    public CallFuture<Void> close() {
        CallFuture<Void> closed = new CallFuture<>();
        loop.tell(() -> session.close(() -> closed.tell(null)));
        return closed;
    }
}
