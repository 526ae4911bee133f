package io.keyturn.client;

import io.grpc.Status;
import io.keyturn.client.ConsumerOptions.Stage;
import io.keyturn.client.Failures.Failure;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.AcquireResponse;
import io.keyturn.v1.Delivery;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;

/**
 * Workers of queues' items, made by {@link Keyturn#consume}. There are never more handlers at once than {@code concurrency}; the
 * place of one is free as soon as what it came to was sent. A connection that breaks does not end a consumer. For any thread.
 */
public final class Consumer implements AutoCloseable {
    private static final int MOST_TURNS_PER_ACQUIRE = 1_000;
    /** A sidecar that answers at once with nothing is not asked in a busy loop. */
    private static final long LEAST_BETWEEN = 50 * Clock.MS;
    /** How long a handler that was told to stop is waited for before its turn is released all the same. */
    private static final long AFTER_STOP = 800 * Clock.MS;

    private static final Duration DEFAULT_STOP = Duration.ofSeconds(20);

    private final Base base;
    private final List<String> queues;
    private final WorkHandler handler;
    private final ConsumerOptions options;
    private final HandlerThreads threads;
    private final BackOff backOff = new BackOff();
    /** Of handlers that could not be started. */
    private final BackOff starting = new BackOff();
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private final Worker.Boss boss = new Listener();

    /** Whose handlers run. */
    private final Set<Worker> running = new HashSet<>();
    /** Whose turns are not settled yet, those that run included. */
    private final Set<Worker> unsettled = new HashSet<>();

    /** Turns that an Acquire on its way may bring. Those that run and these are never more than the concurrency. */
    private int asked;

    private int releasing;
    /** Handlers that a stop cut off. */
    private int cutOff;
    private CallFuture<AcquireResponse> acquiring;
    /** Until the next try of an Acquire that failed. */
    private ScheduledFuture<?> pausing;
    private boolean stopping;
    private Throwable fatal;
    private long deadline = Clock.NEVER;
    private ScheduledFuture<?> deadlineTimer;

    Consumer(Base base, List<String> queues, WorkHandler handler, ConsumerOptions options) {
        this.base = base;
        this.handler = Checks.needed("the handler", handler);
        this.options = options;
        this.threads = new HandlerThreads(options.executor());
        for (String queue : Checks.needed("queues", queues)) Checks.text("a queue", queue);
        this.queues = List.copyOf(new LinkedHashSet<>(queues));
        Checks.within("the number of queues", this.queues.size(), 1, 100);
    }

    void start() {
        fill();
    }

    /**
     * Completes when it has stopped. Fails, after what runs has ended, when it cannot go on: the sidecar refuses its Acquire (a bad
     * name, no permission), or the error listener throws.
     *
     * @return a future of its end
     */
    public CompletableFuture<Void> done() {
        return done.copy();
    }

    /**
     * How many handlers run now.
     *
     * @return at most the concurrency
     */
    public synchronized int running() {
        return running.size();
    }

    /**
     * Stops with 20 s for handlers that run, and waits for it.
     *
     * @throws ConsumerStoppedException when handlers were cut off: they had no time to end
     * @throws KeyturnException FAILED_PRECONDITION in one of its handlers, which would wait for itself: use {@link #stop}
     */
    @Override
    public void close() {
        Worker.refuseToWaitFor(base, boss);
        base.getUninterruptibly(stop(DEFAULT_STOP));
    }

    /**
     * Takes no more turns, lets handlers finish, releases what was delivered and not started. After the time-out handlers are
     * interrupted, and their turns are released; it ends at the latest three seconds after that, also if a handler does not.
     *
     * @param timeout up to 24 h; of several stops the shortest counts
     * @return completes when nothing runs; fails with a {@link ConsumerStoppedException} when handlers were cut off
     */
    public CompletableFuture<Void> stop(Duration timeout) {
        Checks.within("timeout", timeout, Duration.ZERO, Checks.DAY);
        begin(timeout);
        return done.handle((nothing, error) -> {
            int cut;
            synchronized (this) {
                cut = cutOff;
            }
            if (cut > 0) throw new ConsumerStoppedException(cut);
            return null;
        });
    }

    /** One Acquire at a time waits, for all that is free: who comes free while it waits is served by the next one. */
    private void fill() {
        AcquireRequest request;
        int turns;
        synchronized (this) {
            int free = options.concurrency() - running.size() - asked;
            if (asked > 0 || stopping || free <= 0) {
                endIfIdle();
                return;
            }
            turns = Math.min(free, MOST_TURNS_PER_ACQUIRE);
            asked = turns;
            request = request(turns);
        }
        // One ticket for all tries: turns whose answer was lost are in the next one.
        acquire(request, Clock.now());
    }

    private AcquireRequest request(int turns) {
        AcquireRequest.Builder request = AcquireRequest.newBuilder()
                .addAllQueues(queues)
                .setMaxTurns(turns)
                .setMaxItemsPerTurn(options.maxItemsPerTurn())
                .setWait(Protos.duration(options.waiting()))
                .setConsumerId(options.consumerId())
                .setTicket(base.newId.get());
        if (options.lease() != null) request.setLease(Protos.duration(options.lease()));
        return request.build();
    }

    private void acquire(AcquireRequest request, long askedAt) {
        long timeout = Clock.nanos(options.waiting()) + Transport.GRACE;
        CallFuture<AcquireResponse> answer;
        synchronized (this) {
            if (stopping) {
                asked = 0;
                endIfIdle();
                return;
            }
            answer = base.transport.ask(Kinds.ACQUIRE, request, CallSettings.nanos(timeout).leaving());
            acquiring = answer;
        }
        long tried = Clock.now();
        answer.whenComplete((told, error) -> {
            if (error != null) notAcquired(request, askedAt, KeyturnException.unwrapped(error));
            else acquired(told, askedAt, tried);
        });
    }

    private void notAcquired(AcquireRequest request, long askedAt, Throwable error) {
        boolean over;
        synchronized (this) {
            over = stopping;
        }
        Failure failure = Failures.failureOf(error);
        if (over || failure == Failure.REFUSED || failure == Failure.CANCELLED) {
            synchronized (this) {
                asked = 0;
            }
            if (!over) fail(error);
            synchronized (this) {
                endIfIdle();
            }
            return;
        }
        trouble(error, Stage.ACQUIRE, null);
        // Given up here, what its ticket was given goes back: the next try must not be told of it.
        boolean isOverdue = error instanceof KeyturnException known && known.code() == Status.Code.DEADLINE_EXCEEDED;
        AcquireRequest next = isOverdue ? request.toBuilder().setTicket(base.newId.get()).build() : request;
        pauseUntil(backOff.next(Failures.retryAfter(error)), () -> acquire(next, askedAt));
    }

    private void acquired(AcquireResponse answer, long askedAt, long tried) {
        backOff.reset();
        long early = tried + LEAST_BETWEEN - Clock.now();
        if (answer.getDeliveriesCount() == 0 && early > 0) {
            pauseUntil(early, () -> take(List.of(), askedAt));
            return;
        }
        take(answer.getDeliveriesList(), askedAt);
    }

    private synchronized void pauseUntil(long nanos, Runnable task) {
        if (!stopping) pausing = base.after(nanos, task);
        if (!stopping && pausing != null) return;
        asked = 0;
        endIfIdle();
    }

    private void take(List<Delivery> deliveries, long askedAt) {
        List<Worker> begun = new ArrayList<>();
        synchronized (this) {
            for (Delivery delivery : deliveries) {
                if (stopping || delivery.getItemsCount() == 0) released(Worker.release(base, delivery.getTurn()));
                else begun.add(new Worker(base, options, handler, boss, delivery, askedAt));
            }
            running.addAll(begun);
            unsettled.addAll(begun);
        }
        // Not under the lock: the executor may be the application's.
        boolean isRejected = false;
        for (Worker worker : begun) isRejected |= !start(worker);
        if (isRejected) {
            pauseUntil(starting.next(0), () -> take(List.of(), askedAt));
            return;
        }
        if (!begun.isEmpty()) starting.reset();
        synchronized (this) {
            asked = 0;
        }
        fill();
    }

    private boolean start(Worker worker) {
        try {
            threads.execute(worker::run);
            return true;
        } catch (Throwable rejected) {
            // Nothing has begun, so no attempt counts.
            synchronized (this) {
                running.remove(worker);
                unsettled.remove(worker);
                released(worker.giveUp());
            }
            trouble(rejected, Stage.HANDLER, worker.work());
            return false;
        }
    }

    private void released(CompletableFuture<Void> release) {
        releasing++;
        release.whenComplete((nothing, error) -> {
            synchronized (this) {
                releasing--;
                endIfIdle();
            }
        });
    }

    private final class Listener implements Worker.Boss {
        @Override
        public void free(Worker worker) {
            synchronized (Consumer.this) {
                running.remove(worker);
            }
            fill();
        }

        @Override
        public void over(Worker worker) {
            synchronized (Consumer.this) {
                running.remove(worker);
                unsettled.remove(worker);
            }
            fill();
        }

        @Override
        public void cutOff() {
            synchronized (Consumer.this) {
                cutOff++;
            }
        }

        @Override
        public boolean isStopping() {
            synchronized (Consumer.this) {
                return stopping;
            }
        }

        @Override
        public void trouble(Throwable error, Stage stage, Work work) {
            Consumer.this.trouble(error, stage, work);
        }
    }

    private void trouble(Throwable error, Stage stage, Work work) {
        base.logger.log(Level.DEBUG, () -> "consumer of " + queues + ", " + stage + ": " + Failures.messageOf(error), error);
        try {
            options.onError().onError(error, stage, work);
        } catch (Throwable thrown) {
            fail(thrown);
        }
    }

    /** It cannot go on: what runs may finish, then {@link #done} says why. */
    private void fail(Throwable error) {
        synchronized (this) {
            if (fatal == null) fatal = error;
        }
        base.logger.log(Level.ERROR, "the consumer of " + queues + " ends", error);
        begin(DEFAULT_STOP);
    }

    private void begin(Duration timeout) {
        CallFuture<AcquireResponse> open;
        synchronized (this) {
            long until = Clock.after(Clock.now(), Clock.nanos(timeout));
            if (done.isDone() || until >= deadline) return;
            deadline = until;
            if (deadlineTimer != null) deadlineTimer.cancel(false);
            deadlineTimer = base.after(Clock.nanos(timeout), this::runOut);
            stopping = true;
            open = acquiring;
        }
        if (open != null) open.cancel(true);
        synchronized (this) {
            // What waits for its next try brings nothing more.
            if (pausing != null && pausing.cancel(false)) asked = 0;
            endIfIdle();
        }
    }

    private void runOut() {
        synchronized (this) {
            for (Worker worker : running) worker.stop();
        }
        base.after(AFTER_STOP, this::giveUp);
    }

    private void giveUp() {
        List<Worker> left;
        synchronized (this) {
            left = List.copyOf(running);
            running.clear();
        }
        CompletableFuture<?>[] all = left.stream().map(Worker::cutOff).toArray(CompletableFuture<?>[]::new);
        CompletableFuture.allOf(all).whenComplete((nothing, error) -> {
            synchronized (this) {
                end();
            }
        });
    }

    private void endIfIdle() {
        if (stopping && unsettled.isEmpty() && releasing == 0 && asked == 0) end();
    }

    private void end() {
        if (done.isDone()) return;
        if (deadlineTimer != null) deadlineTimer.cancel(false);
        threads.shutdown();
        // Not under the lock: who is told may ask.
        base.callbacks.execute(() -> {
            if (fatal == null) done.complete(null);
            else done.completeExceptionally(fatal);
        });
    }

    /** Waits until its threads are gone, for so many ns. */
    boolean awaitThreads(long nanos) throws InterruptedException {
        return threads.awaitEnd(nanos);
    }
}
