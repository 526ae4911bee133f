package io.keyturn.client;

import com.google.protobuf.MessageLite;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.client.internal.words.RawTexts;
import io.keyturn.v1.AckRequest;
import io.keyturn.v1.AckResponse;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.AcquireResponse;
import io.keyturn.v1.AwaitRequest;
import io.keyturn.v1.AwaitResponse;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.DeQueueResponse;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.NackResponse;
import io.keyturn.v1.RenewRequest;
import io.keyturn.v1.RenewResponse;
import io.keyturn.v1.SubmitRequest;
import io.keyturn.v1.SubmitResponse;
import java.util.concurrent.CompletableFuture;

/** The calls of the contract, in its own messages. */
abstract class RawCalls {
    final Base base;

    RawCalls(Base base) {
        this.base = base;
    }

    private <Q extends MessageLite, A extends MessageLite> CompletableFuture<A> raw(
            Kind<Q, A> kind, Q request, CallSettings settings) {
        return base.transport.ask(kind, RawTexts.checked(Checks.needed("request", request)), Checks.needed("settings", settings).terms);
    }

    /**
     * Waits for a future of this client, and fails as itself: with a {@link KeyturnException} or another of these, not wrapped.
     * An interrupt cancels it (CANCELLED), and stays set.
     *
     * @param future any
     * @param <A> what it gives
     * @return its value
     */
    public <A> A get(CompletableFuture<A> future) {
        return base.get(Checks.needed("future", future));
    }

    /**
     * Asks for the turn of a key: the call itself. Its turn is kept alive by the session until it is settled.
     *
     * @param request with a ticket it may be sent again
     * @return the decision
     */
    public CompletableFuture<EnQueueResponse> enQueue(EnQueueRequest request) {
        return enQueue(request, CallSettings.DEFAULT);
    }

    /**
     * The same with settings.
     *
     * @param request with a ticket it may be sent again
     * @param settings how it is made
     * @return the decision
     */
    public CompletableFuture<EnQueueResponse> enQueue(EnQueueRequest request, CallSettings settings) {
        return raw(Kinds.ENQUEUE, request, settings);
    }

    /**
     * Ends a caller's turn, or gives up a place.
     *
     * @param request the turn by its token, or the place by its ticket
     * @return what the end of the turn led to
     */
    public CompletableFuture<DeQueueResponse> deQueue(DeQueueRequest request) {
        return deQueue(request, CallSettings.DEFAULT);
    }

    /**
     * The same with settings.
     *
     * @param request the turn by its token, or the place by its ticket
     * @param settings how it is made
     * @return what the end of the turn led to
     */
    public CompletableFuture<DeQueueResponse> deQueue(DeQueueRequest request, CallSettings settings) {
        return raw(Kinds.DEQUEUE, request, settings);
    }

    /**
     * Hands over items: the call itself, which does not try again.
     *
     * @param request 1 to 1,000 items
     * @param settings how it is made
     * @return one decision per item
     */
    public CompletableFuture<SubmitResponse> submit(SubmitRequest request, CallSettings settings) {
        return raw(Kinds.SUBMIT, request, settings);
    }

    /**
     * Takes turns.
     *
     * @param request of which queues, or of which key
     * @param settings how it is made
     * @return what could be taken
     */
    public CompletableFuture<AcquireResponse> acquire(AcquireRequest request, CallSettings settings) {
        return raw(Kinds.ACQUIRE, request, settings);
    }

    /**
     * Ends a turn as done. Any process that knows queue, key and token may.
     *
     * @param request the turn, its result, what follows
     * @param settings how it is made
     * @return what that led to
     */
    public CompletableFuture<AckResponse> ack(AckRequest request, CallSettings settings) {
        return raw(Kinds.ACK, request, settings);
    }

    /**
     * Gives a turn back. Any process that knows queue, key and token may.
     *
     * @param request the turn, and what shall become of its items
     * @param settings how it is made
     * @return what became of them
     */
    public CompletableFuture<NackResponse> nack(NackRequest request, CallSettings settings) {
        return raw(Kinds.NACK, request, settings);
    }

    /**
     * Lets the leases of turns start again.
     *
     * @param request 1 to 1,000 turns
     * @param settings how it is made
     * @return one result per turn
     */
    public CompletableFuture<RenewResponse> renew(RenewRequest request, CallSettings settings) {
        return raw(Kinds.RENEW, request, settings);
    }

    /**
     * Asks what became of an item.
     *
     * @param request which, and how long to wait for its end
     * @param settings how it is made
     * @return its state
     */
    public CompletableFuture<AwaitResponse> await(AwaitRequest request, CallSettings settings) {
        return raw(Kinds.AWAIT, request, settings);
    }
}
