package io.keyturn.client.internal.consume;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.session.BackOff;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.CallFuture;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Failures.Failure;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.AcquireResponse;
import io.keyturn.v1.Delivery;
import java.util.List;
import java.util.concurrent.ScheduledFuture;

/** Asks for turns, one Acquire at a time; one that did not come through is made again. For any thread. */
final class Acquiring {
    interface Owner {
        /** Never null, and may be none. */
        void taken(List<Delivery> deliveries, long askedAt);

        /** No turns come; {@code refusal}: why none ever will, null: it was stopped. */
        void ended(Throwable refusal);

        /** An Acquire was answered, perhaps with none. */
        void acquired();

        /** It is tried again. */
        void notAcquired(Throwable error);
    }

    private final Base base;
    private final Owner owner;
    private final BackOff backOff = new BackOff();
    private CallFuture<AcquireResponse> open;
    /** Until the next try. */
    private ScheduledFuture<?> pausing;
    private boolean isStopped;

    Acquiring(Base base, Owner owner) {
        this.base = base;
        this.owner = owner;
    }

    /** {@code askedAt}: when its first try was sent. */
    void ask(AcquireRequest request, long askedAt) {
        CallFuture<AcquireResponse> answer = tried(request);
        if (answer == null) {
            owner.ended(null);
            return;
        }
        long tried = Clock.now();
        answer.whenComplete((told, error) -> {
            if (error != null) failed(request, askedAt, Failures.unwrapped(error));
            else acquired(told, askedAt, tried);
        });
    }

    /** Null: it was stopped. */
    private synchronized CallFuture<AcquireResponse> tried(AcquireRequest request) {
        if (isStopped) return null;
        long timeout = Clock.nanos(request.getWait()) + CallTerms.GRACE;
        open = base.transport.ask(Kinds.ACQUIRE, request, CallTerms.nanos(timeout).leaving());
        return open;
    }

    private void failed(AcquireRequest request, long askedAt, Throwable error) {
        boolean over = isStopped();
        Failure failure = Failures.failureOf(error);
        if (over || failure == Failure.REFUSED || failure == Failure.CANCELLED) {
            owner.ended(over ? null : error);
            return;
        }
        owner.notAcquired(error);
        // Given up here, what its ticket was given goes back: the next try must not be told of it.
        boolean isOverdue = error instanceof KeyturnException known && known.code() == Status.Code.DEADLINE_EXCEEDED;
        AcquireRequest next = isOverdue ? request.toBuilder().setTicket(base.newId.get()).build() : request;
        pause(backOff.next(Failures.retryAfter(error)), () -> ask(next, askedAt));
    }

    private void acquired(AcquireResponse answer, long askedAt, long tried) {
        backOff.reset();
        owner.acquired();
        long early = tried + Clock.LEAST_BETWEEN - Clock.now();
        if (answer.getDeliveriesCount() > 0 || early <= 0) owner.taken(answer.getDeliveriesList(), askedAt);
        else pause(early, () -> owner.taken(List.of(), askedAt));
    }

    /** Nothing is asked before the task, which is not run when it is stopped before. */
    void pause(long nanos, Runnable task) {
        if (!isPausing(nanos, task)) owner.ended(null);
    }

    private synchronized boolean isPausing(long nanos, Runnable task) {
        if (!isStopped) pausing = base.after(nanos, task);
        return !isStopped && pausing != null;
    }

    private synchronized boolean isStopped() {
        return isStopped;
    }

    /** Asks no more. What is on its way ends; true: it paused, and nobody is told of that end. */
    boolean stop() {
        CallFuture<AcquireResponse> last;
        synchronized (this) {
            isStopped = true;
            last = open;
        }
        if (last != null) last.cancel(true);
        synchronized (this) {
            return pausing != null && pausing.cancel(false);
        }
    }
}
