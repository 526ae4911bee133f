package io.keyturn.client.internal.session;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Metrics;
import io.keyturn.client.TurnLostException;
import io.keyturn.client.internal.words.Books;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.client.internal.words.Statuses;
import io.keyturn.client.internal.words.TicketClaim;
import io.keyturn.client.internal.words.TurnName;
import io.keyturn.v1.Command;
import io.keyturn.v1.Reply;
import java.time.Duration;

/** A call of the application on a session. */
final class WorkerCommand<Q extends MessageLite, A extends MessageLite> extends OpenCommand implements Runnable {
    final Kind<Q, A> kind;
    final Q request;
    final long askedAt = Clock.now();
    final long deadline;
    final CallFuture<A> future = new CallFuture<>();
    /** When it is given up, so is the place of its ticket. */
    final boolean leave;
    /** Its caller waits for it no more; the sidecar may still answer. */
    boolean abandoned;
    /** It was on a stream that is gone: whether the sidecar knows it nobody can tell. */
    boolean wasSent;
    /** It counts among the open calls. */
    boolean isOpen;
    /** The client itself asks: it is told in the loop, which no code of the application delays. */
    boolean isOwn;

    private final Books books;
    private final Callbacks callbacks;
    private final Metrics metrics;
    private A answer;
    private KeyturnException error;

    WorkerCommand(Kind<Q, A> kind, Q request, CallTerms terms, Books books, Callbacks callbacks, Metrics metrics) {
        this.kind = kind;
        this.request = request;
        this.books = books;
        this.callbacks = callbacks;
        this.metrics = metrics;
        this.leave = terms.leave();
        this.deadline = terms.deadline(askedAt, kind.wait(request));
    }

    /** What of the message is its own. The message counts it once and remembers it. */
    @Override
    int bytes() {
        return request.getSerializedSize() + 16;
    }

    @Override
    void put(Command.Builder command) {
        kind.put(request, command);
    }

    TurnName settles() {
        return kind.settles(request);
    }

    TicketClaim claim() {
        return kind.claim(request);
    }

    @Override
    void unsent() {
        if (isSent()) wasSent = true;
        super.unsent();
    }

    @Override
    void answered(Reply reply) {
        if (reply.hasError()) {
            refused(Statuses.ofCommand(reply.getError()));
            return;
        }
        A read = kind.read(request, reply);
        if (read == null) {
            tell(null, Failures.of("the sidecar answered another call", Status.Code.INTERNAL));
            return;
        }
        kind.book(request, read, books, abandoned, leave);
        tell(read, null);
    }

    /** Its caller waits no more, for this reason. */
    void abandon(KeyturnException why) {
        if (abandoned) return;
        tell(null, why);
        abandoned = true;
    }

    private void refused(KeyturnException refusal) {
        TurnName settled = settles();
        if (settled != null && refusal instanceof TurnLostException lost) books.lost(settled, lost.loss());
        tell(null, refusal);
    }

    private void tell(A read, KeyturnException why) {
        if (abandoned) return;
        answer = read;
        error = why;
        if (isOwn) run();
        else callbacks.add(this);
    }

    /** In the callbacks' thread, or in the loop. */
    @Override
    public void run() {
        Status.Code code = error == null ? Status.Code.OK : error.code();
        try {
            if (metrics != Metrics.NONE) metrics.callDone(kind.name(), code, Duration.ofNanos(Clock.now() - askedAt));
        } finally {
            if (error == null) future.tell(answer);
            else future.fail(error);
        }
    }
}
