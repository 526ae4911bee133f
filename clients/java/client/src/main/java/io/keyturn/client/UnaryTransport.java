package io.keyturn.client;

import com.google.protobuf.MessageLite;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.Turn;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** The calls of a worker as unary calls, each by itself. For comparison, and for a single call. */
final class UnaryTransport implements Transport {
    private final Connection connection;
    private final Loop loop;
    private final Callbacks callbacks;
    private final KeyturnOptions options;
    private final Supplier<String> newId;
    private final Renewals renewals;
    private final Confirmations confirmations = new Confirmations(this);
    private final Set<UnaryCall<?, ?>> open = ConcurrentHashMap.newKeySet();
    private final Books untold = new UntoldTurns(this);
    private final Semaphore room;
    private volatile boolean closed;

    UnaryTransport(KeyturnOptions options, Connection connection, Supplier<String> newId) {
        this.options = options;
        this.connection = connection;
        this.loop = connection.loop();
        this.callbacks = connection.callbacks();
        this.newId = newId;
        this.room = new Semaphore(options.openCommands());
        long margin = options.margin() == null ? -1 : Clock.nanos(options.margin());
        this.renewals = new Renewals(this, loop, margin, Held::lose);
    }

    @Override
    public <Q extends MessageLite, A extends MessageLite> CallFuture<A> ask(
            Kind<Q, A> kind, Q request, CallSettings settings) {
        Checks.needed("request", request);
        Checks.needed("settings", settings);
        return confirmations.of(kind, request, send(kind, request, settings, false));
    }

    @Override
    public <Q extends MessageLite, A extends MessageLite> CallFuture<A> askOwn(Kind<Q, A> kind, Q request, long timeout) {
        return send(kind, request, CallSettings.nanos(timeout), true);
    }

    private <Q extends MessageLite, A extends MessageLite> CallFuture<A> send(
            Kind<Q, A> kind, Q request, CallSettings settings, boolean isOwn) {
        if (closed) return CallFuture.failed(Failures.closed());
        if (!room.tryAcquire()) {
            String what = options.openCommands() + " calls are open; no more may be (openCommands)";
            return CallFuture.failed(new KeyturnException(what, Status.Code.RESOURCE_EXHAUSTED));
        }
        Q whole = kind.identified(kind.named(request, newId), options.consumerId());
        UnaryCall<Q, A> call = new UnaryCall<>(kind, whole, isOwn);
        open.add(call);
        call.future.onCancel(() -> call.cancel(settings.leave()));
        call.future.onUntold(answer -> kind.book(whole, answer, untold, true, settings.leave()));
        call.start(settings);
        if (closed) call.cancel(false);
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
    public CallFuture<Void> close() {
        closed = true;
        CallFuture<Void> done = new CallFuture<>();
        loop.tell(() -> {
            renewals.close(TurnLoss.CLOSED);
            for (UnaryCall<?, ?> call : open) call.cancel(false);
            done.tell(null);
        });
        return done;
    }

    /** Its listener runs in the executor of the channel, which is the loop. */
    private final class UnaryCall<Q extends MessageLite, A extends MessageLite> extends ClientCall.Listener<A> {
        final CallFuture<A> future = new CallFuture<>();
        private final Kind<Q, A> kind;
        private final Q request;
        private final boolean isOwn;
        private final long askedAt = Clock.now();
        private ClientCall<Q, A> call;
        private A answer;

        UnaryCall(Kind<Q, A> kind, Q request, boolean isOwn) {
            this.kind = kind;
            this.request = request;
            this.isOwn = isOwn;
        }

        void start(CallSettings settings) {
            long timeout = settings.timeout() == null
                    ? Clock.after(GRACE, kind.wait(request))
                    : Clock.nanos(settings.timeout());
            CallOptions deadline = CallOptions.DEFAULT.withDeadlineAfter(timeout, TimeUnit.NANOSECONDS);
            call = connection.channel().newCall(kind.method, deadline);
            call.start(this, new Metadata());
            call.request(1);
            call.sendMessage(request);
            call.halfClose();
        }

        void cancel(boolean leave) {
            call.cancel("cancelled by its caller", null);
            // A cancelled call leaves its ticket where it is; that takes a call of its own. Should it fail, `ticket_ttl` ends the place.
            DeQueueRequest place = leave ? placeOf(request) : null;
            if (place != null) send(Kinds.DEQUEUE, place, CallSettings.DEFAULT, true);
        }

        @Override
        public void onMessage(A message) {
            answer = message;
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            open.remove(this);
            room.release();
            KeyturnException error = errorOf(status, trailers);
            if (error != null && error.code() == Status.Code.UNAVAILABLE && error.reason().isEmpty()) {
                connection.forgetFailure();
            }
            if (isOwn) tell(error);
            else callbacks.execute(() -> tell(error));
        }

        private KeyturnException errorOf(Status status, Metadata trailers) {
            if (!status.isOk()) return closed ? Failures.closed() : Failures.ofStatus(status, trailers);
            return answer == null ? new KeyturnException("the answer is empty", Status.Code.INTERNAL) : null;
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
