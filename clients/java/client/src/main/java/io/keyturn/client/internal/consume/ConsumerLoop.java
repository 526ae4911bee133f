package io.keyturn.client.internal.consume;

import io.keyturn.client.ConsumerOptions.Stage;
import io.keyturn.client.internal.session.BackOff;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Inside;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.ConsumerSettings;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.TurnRequests;
import io.keyturn.v1.AcquireRequest;
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
import java.util.function.BiConsumer;

/** Takes turns with items and has them handled, as many at once as there are places. For any thread. */
public final class ConsumerLoop implements Worker.Owner, Acquiring.Owner {
    /** How long handlers have when nobody says it. */
    public static final Duration DEFAULT_STOP = Duration.ofSeconds(20);

    private static final int MOST_TURNS_PER_ACQUIRE = 1_000;
    /** How long a handler that was told to stop is waited for before its turn is released all the same. */
    private static final long AFTER_STOP = 800 * Clock.MS;

    private final Base base;
    private final List<String> queues;
    private final Handlers handlers;
    private final ConsumerSettings options;
    private final HandlerThreads threads;
    private final Acquiring acquiring;
    private final TakingLog taking;
    /** Of handlers that could not be started. */
    private final BackOff starting = new BackOff();
    private final CompletableFuture<Void> done = new CompletableFuture<>();

    /** Whose handlers run. */
    private final Set<Worker> running = new HashSet<>();
    /** Whose turns are not settled yet, those that run included. */
    private final Set<Worker> unsettled = new HashSet<>();

    /** Turns that an Acquire on its way may bring. Those that run and these are never more than the concurrency. */
    private int asked;

    private int releasing;
    /** Handlers that a stop cut off. */
    private int cutOff;
    private boolean stopping;
    private Throwable fatal;
    private long deadline = Clock.NEVER;
    private ScheduledFuture<?> deadlineTimer;

    public ConsumerLoop(Base base, List<String> queues, ConsumerSettings options, Handlers handlers) {
        this.base = base;
        this.handlers = handlers;
        this.options = options;
        this.threads = new HandlerThreads(options.executor());
        this.acquiring = new Acquiring(base, this);
        for (String queue : Checks.needed("queues", queues)) Checks.text("a queue", queue);
        this.queues = List.copyOf(new LinkedHashSet<>(queues));
        this.taking = new TakingLog(base, this.queues);
        Checks.within("the number of queues", this.queues.size(), 1, 100);
    }

    public void start() {
        taking.start();
        fill();
    }

    public CompletableFuture<Void> done() {
        return done.copy();
    }

    public synchronized int running() {
        return running.size();
    }

    /** In one of its handlers, or in the thread that completes futures, whoever waits for its end would wait for himself. */
    public void refuseToWait() {
        Inside.refuseToWaitFor(base, this);
    }

    /** Tells, when nothing runs, how many handlers were cut off. */
    public CompletableFuture<Integer> stop(Duration timeout) {
        begin(timeout);
        return done.handle((nothing, error) -> {
            synchronized (this) {
                return cutOff;
            }
        });
    }

    /** One Acquire at a time waits, for all that is free: who comes free while it waits is served by the next one. */
    private void fill() {
        AcquireRequest request;
        synchronized (this) {
            int free = options.concurrency() - running.size() - asked;
            if (asked > 0 || stopping || free <= 0) {
                endIfIdle();
                return;
            }
            asked = Math.min(free, MOST_TURNS_PER_ACQUIRE);
            request = options.acquire(queues, asked, base.newId.get());
        }
        acquiring.ask(request, Clock.now());
    }

    @Override
    public void ended(Throwable refusal) {
        if (refusal != null) fail(refusal);
        synchronized (this) {
            asked = 0;
            endIfIdle();
        }
    }

    @Override
    public void notAcquired(Throwable error) {
        taking.notAcquired(error);
        trouble(error, Stage.ACQUIRE, handlers::trouble);
    }

    @Override
    public void acquired() {
        taking.acquired();
    }

    @Override
    public void taken(List<Delivery> deliveries, long askedAt) {
        List<Worker> begun = new ArrayList<>();
        synchronized (this) {
            for (Delivery delivery : deliveries) {
                if (stopping || delivery.getItemsCount() == 0) released(Worker.release(base, delivery.getTurn()));
                else begun.add(new Worker(base, options, handlers, this, delivery, askedAt));
            }
            running.addAll(begun);
            unsettled.addAll(begun);
        }
        // Not under the lock: the executor may be the application's.
        boolean isRejected = false;
        for (Worker worker : begun) isRejected |= !start(worker);
        if (isRejected) {
            acquiring.pause(starting.next(0), () -> taken(List.of(), askedAt));
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
            trouble(rejected, Stage.HANDLER, worker::tell);
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

    @Override
    public void free(Worker worker) {
        synchronized (this) {
            running.remove(worker);
        }
        fill();
    }

    @Override
    public void over(Worker worker) {
        synchronized (this) {
            running.remove(worker);
            unsettled.remove(worker);
        }
        fill();
    }

    @Override
    public synchronized void cutOff() {
        cutOff++;
    }

    @Override
    public synchronized boolean isStopping() {
        return stopping;
    }

    @Override
    public void trouble(Throwable error, Stage stage, BiConsumer<Throwable, Stage> told) {
        base.logger.log(Level.DEBUG, () -> "consumer of " + queues + ", " + stage + ": " + Failures.messageOf(error), error);
        // Its turn is settled only when it has returned.
        Inside inside = Inside.enter(base, this);
        try {
            told.accept(error, stage);
        } catch (Throwable thrown) {
            base.logger.log(Level.WARNING, "onError threw (stage " + stage + ")", thrown);
        } finally {
            inside.leave();
        }
    }

    /** It cannot go on: what runs may finish, then {@link #done} says why. */
    private void fail(Throwable error) {
        synchronized (this) {
            if (fatal == null) fatal = error;
        }
        String why = TurnRequests.shortened(Failures.messageOf(error));
        base.logger.log(Level.ERROR, () -> "a consumer ends (queues " + queues + "): " + why, error);
        begin(DEFAULT_STOP);
    }

    private void begin(Duration timeout) {
        synchronized (this) {
            long until = Clock.after(Clock.now(), Clock.nanos(timeout));
            if (done.isDone() || until >= deadline) return;
            deadline = until;
            if (deadlineTimer != null) deadlineTimer.cancel(false);
            deadlineTimer = base.after(Clock.nanos(timeout), this::runOut);
            stopping = true;
        }
        taking.stop();
        boolean wasPausing = acquiring.stop();
        synchronized (this) {
            if (wasPausing) asked = 0;
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
    public boolean awaitThreads(long nanos) throws InterruptedException {
        return threads.awaitEnd(nanos);
    }
}
