package io.keyturn.client.internal.session;

import com.google.protobuf.MessageLite;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.Books;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.Turn;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** The calls of a worker as unary calls, each by itself. For comparison, and for a single call. */
public final class UnaryTransport implements Transport {
    /** How long a call may take that leaves a place or gives back a turn: why we leave matters more. */
    static final long GIVING_UP = 1_000 * Clock.MS;
    /** How long all of it may take when the client is closed. */
    private static final long LEAVING = 2_000 * Clock.MS;

    /** How often a call is sent again that the sidecar did not take, each time over another connection. */
    private static final int MOST_UNTAKEN = 10;

    private final Connection connection;
    private final Loop loop;
    private final Callbacks callbacks;
    private final ClientSettings options;
    private final Supplier<String> newId;
    private final Renewals renewals;
    private final Confirmations confirmations = new Confirmations(this);
    private final Set<UnaryCall<?, ?>> open = ConcurrentHashMap.newKeySet();
    private final Books untold = new UntoldTurns(this);
    private final AtomicInteger opened = new AtomicInteger();
    /** Nothing new is taken but what ends turns. */
    private volatile boolean closed;
    /** Completes when nothing is open any more, or the time for that is over; null: nobody waits for it. Of the loop. */
    private CallFuture<Void> idle;
    /** Nothing is taken any more. */
    private volatile boolean over;

    public UnaryTransport(ClientSettings options, Connection connection, Supplier<String> newId) {
        this.options = options;
        this.connection = connection;
        this.loop = connection.loop();
        this.callbacks = connection.callbacks();
        this.newId = newId;
        this.renewals = new Renewals(this, loop, options::marginOf, Held::lose);
    }

    @Override
    public <Q extends MessageLite, A extends MessageLite> CallFuture<A> ask(
            Kind<Q, A> kind, Q request, CallTerms terms) {
        return confirmations.of(kind, request, send(kind, request, terms, false));
    }

    @Override
    public <Q extends MessageLite, A extends MessageLite> CallFuture<A> askOwn(Kind<Q, A> kind, Q request, long timeout) {
        return send(kind, request, CallTerms.nanos(timeout), true);
    }

    private <Q extends MessageLite, A extends MessageLite> CallFuture<A> send(
            Kind<Q, A> kind, Q request, CallTerms terms, boolean isOwn) {
        if (over || (closed && !kind.keepsOrEnds)) return CallFuture.failed(Failures.closed());
        return begin(kind, request, terms, isOwn);
    }

    private <Q extends MessageLite, A extends MessageLite> CallFuture<A> begin(
            Kind<Q, A> kind, Q request, CallTerms terms, boolean isOwn) {
        int before = opened.getAndIncrement();
        // Its own calls keep turns, or give back: they are bounded by those of the application.
        int most = isOwn ? Integer.MAX_VALUE : OpenCommands.most(kind, options.openCommands());
        if (before >= most) {
            opened.decrementAndGet();
            String what = before + " calls are open; at most " + most + " may be (openCommands)";
            return CallFuture.failed(Failures.of(what, Status.Code.RESOURCE_EXHAUSTED));
        }
        Q whole = kind.identified(kind.named(request, newId), options.consumerId());
        UnaryCall<Q, A> call = new UnaryCall<>(kind, whole, isOwn, terms.leave());
        open.add(call);
        call.future.onCancel(call::cancel);
        call.future.onUntold(answer -> kind.book(whole, answer, untold, true, terms.leave()));
        call.start(terms);
        if (closed && !kind.keepsOrEnds && !isOwn) call.cancel();
        return call.future;
    }

    @Override
    public Held hold(Turn turn, long askedAt) {
        Held held = new Held(turn, one -> loop.tell(() -> renewals.drop(one)));
        long since = confirmations.since(turn, askedAt);
        loop.tell(() -> {
            if (closed) held.lose(TurnLoss.CLOSED);
            else renewals.keep(held, since);
        });
        if (closed) held.lose(TurnLoss.CLOSED);
        return held;
    }

    @Override
    public KeyturnException unreachable() {
        return connection.unreachable();
    }

    @Override
    public CallFuture<Void> close() {
        closed = true;
        CallFuture<Void> done = new CallFuture<>();
        done.whenComplete((nothing, error) -> over = true);
        loop.tell(() -> {
            renewals.close(TurnLoss.CLOSED);
            for (UnaryCall<?, ?> call : open) if (!call.kind.keepsOrEnds) call.cancel();
            idle = done;
            // What ends turns, and what gives back what crossed the calling off, may come through.
            loop.after(LEAVING, () -> done.tell(null));
            lookWhetherIdle();
        });
        return done;
    }

    /** What was told last may have reached nobody: then its turns are given back first. */
    private void lookWhetherIdle() {
        if (idle == null || !open.isEmpty()) return;
        callbacks.execute(() -> loop.tell(() -> {
            if (open.isEmpty()) idle.tell(null);
        }));
    }

    /**
     * What a call leaves behind that was given up here: its place, and what its ticket was given in that moment. Each takes a call
     * of its own; should that fail, the lease or {@code ticket_ttl} ends it.
     */
    private void leave(MessageLite request) {
        DeQueueRequest place = placeOf(request);
        if (place != null) {
            begin(Kinds.DEQUEUE, place, CallTerms.nanos(GIVING_UP), true);
            return;
        }
        if (!(request instanceof AcquireRequest acquire) || acquire.getTicket().isEmpty()) return;
        AcquireRequest again = acquire.toBuilder().clearWait().build();
        begin(Kinds.ACQUIRE, again, CallTerms.nanos(GIVING_UP), true).whenComplete((answer, error) -> {
            if (error == null) Kinds.ACQUIRE.book(again, answer, untold, true, true);
        });
    }

    /** Its listener runs in the executor of the channel, which is the loop. */
    private final class UnaryCall<Q extends MessageLite, A extends MessageLite> extends ClientCall.Listener<A> {
        final CallFuture<A> future = new CallFuture<>();
        private final Kind<Q, A> kind;
        private final Q request;
        private final boolean isOwn;
        private final boolean leaves;
        private final long askedAt = Clock.now();
        private volatile ClientCall<Q, A> call;
        private long until;
        /** How often the sidecar's connection was closed before it took the call. */
        private int untaken;

        private A answer;
        private volatile boolean isCancelled;
        /** Ends it with what is known by then; null: it goes on, or has ended. Of the loop. */
        private Runnable ending;

        UnaryCall(Kind<Q, A> kind, Q request, boolean isOwn, boolean leaves) {
            this.kind = kind;
            this.request = request;
            this.isOwn = isOwn;
            this.leaves = leaves;
        }

        void start(CallTerms terms) {
            until = terms.deadline(askedAt, kind.wait(request));
            send();
        }

        private void send() {
            CallOptions deadline = CallOptions.DEFAULT.withDeadlineAfter(until - Clock.now(), TimeUnit.NANOSECONDS);
            ClientCall<Q, A> made = connection.channel().newCall(kind.method, deadline);
            made.start(this, new Metadata());
            made.request(1);
            made.sendMessage(request);
            made.halfClose();
            call = made;
            // Between two tries it was the one before that was cancelled.
            if (isCancelled) cancel();
        }

        void cancel() {
            isCancelled = true;
            call.cancel("cancelled by its caller", null);
            loop.tell(this::endNow);
        }

        @Override
        public void onMessage(A message) {
            answer = message;
            connection.stood();
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            if (Connection.isUntaken(status) && !isCancelled && untaken++ < MOST_UNTAKEN && Clock.now() < until) {
                send();
                return;
            }
            ending = () -> ended(status, errorOf(status, trailers));
            connection.whenKnown(status, trailers, this::endNow);
            if (ending == null) return;
            // Its time may be over, or it may be cancelled, before all is known.
            if (isCancelled) endNow();
            else if (until - Clock.now() < TlsProbe.LONGEST) loop.after(until - Clock.now(), this::endNow);
        }

        private void endNow() {
            Runnable end = ending;
            ending = null;
            if (end != null) end.run();
        }

        private void ended(Status status, KeyturnException error) {
            boolean isOfTheConnection =
                    error != null && error.code() == Status.Code.UNAVAILABLE && error.reason().isEmpty();
            if (isOfTheConnection) connection.forgetFailure(() -> closed(status, error));
            else closed(status, error);
        }

        private void closed(Status status, KeyturnException error) {
            // Ended on this side, it may have been answered on the other. Before it counts as closed, so that closing waits.
            boolean isOurs = !status.isOk() && (isCancelled || status.getCode() == Status.Code.DEADLINE_EXCEEDED);
            if (leaves && isOurs && !over) leave(request);
            open.remove(this);
            opened.decrementAndGet();
            if (isOwn) tell(error);
            else callbacks.execute(() -> tell(error));
            lookWhetherIdle();
        }

        private KeyturnException errorOf(Status status, Metadata trailers) {
            if (!status.isOk()) return isCancelled && closed ? Failures.closed() : connection.errorOf(status, trailers);
            return answer == null ? Failures.of("the answer is empty", Status.Code.INTERNAL) : null;
        }

        private void tell(KeyturnException error) {
            Status.Code code = error == null ? Status.Code.OK : error.code();
            try {
                options.metrics().callDone(kind.name(), code, Duration.ofNanos(Clock.now() - askedAt));
            } finally {
                if (error == null) future.tell(answer);
                else future.fail(error);
            }
        }
    }

    /** Null: it has no ticket. */
    private static DeQueueRequest placeOf(MessageLite request) {
        if (request instanceof EnQueueRequest enqueue && !enqueue.getTicket().isEmpty()) {
            return place(enqueue.getQueue(), enqueue.getKey(), enqueue.getTicket());
        }
        if (request instanceof AcquireRequest acquire && !acquire.getTicket().isEmpty() && !acquire.getKey().isEmpty()) {
            return place(acquire.getQueues(0), acquire.getKey(), acquire.getTicket());
        }
        return null;
    }

    private static DeQueueRequest place(String queue, String key, String ticket) {
        return DeQueueRequest.newBuilder()
                .setQueue(queue)
                .setKey(key)
                .setTicket(ticket)
                .setAbandoned(true)
                .build();
    }
}
