package io.keyturn.client;

import io.keyturn.client.internal.lead.LeadLink;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Connection;
import io.keyturn.client.internal.session.Threads;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.LeadSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Whoever works for an application in the background: known, so that closing the client ends all of them. */
final class Application {
    private static final Duration DEFAULT_STOP = Duration.ofSeconds(20);
    /** How long handlers' threads that have ended their work are waited for. */
    private static final long LAST_STEPS = 1_000 * Clock.MS;

    private final Base base;
    private final Set<Consumer> consumers = ConcurrentHashMap.newKeySet();
    private final Set<Producer> producers = ConcurrentHashMap.newKeySet();
    private final Set<Leadership> leaderships = ConcurrentHashMap.newKeySet();
    private final List<Leadership> led = new ArrayList<>();
    private final List<Consumer> stopped = new ArrayList<>();
    private final List<Producer> closed = new ArrayList<>();
    /** Nobody begins any more. */
    private boolean isClosed;

    private final LeadLink leadLink;

    Application(Base base, Connection connection) {
        this.base = base;
        leadLink = new LeadLink(base, connection);
    }

    Leadership lead(String group, LeadSettings settings, LeaderCareer career) {
        Leadership leadership = new Leadership(base, leadLink, group, career, settings);
        begin(() -> leaderships.add(leadership));
        leadership.done().whenComplete((nothing, error) -> leaderships.remove(leadership));
        leadership.start();
        return leadership;
    }

    Consumer consume(List<String> queues, ConsumerOptions options, WorkHandler handler) {
        Consumer consumer = new Consumer(base, queues, handler, Checks.needed("options", options));
        begin(() -> consumers.add(consumer));
        consumer.done().whenComplete((nothing, error) -> consumers.remove(consumer));
        consumer.start();
        return consumer;
    }

    Producer producer(String queue, ProducerOptions options) {
        Producer producer = new Producer(base, queue, Checks.needed("options", options));
        begin(() -> producers.add(producer));
        producer.ended().whenComplete((nothing, error) -> producers.remove(producer));
        producer.start();
        return producer;
    }

    private synchronized void begin(Runnable registers) {
        if (isClosed) throw Failures.closed();
        registers.run();
    }

    /** @param timeout that handlers and items that wait have; null: each its own */
    void close(Duration timeout) {
        synchronized (this) {
            isClosed = true;
        }
        List<CompletableFuture<?>> ending = new ArrayList<>();
        for (Consumer consumer : consumers) {
            stopped.add(consumer);
            // Handlers that were cut off are told by their consumers: the client is closed all the same.
            ending.add(consumer.stop(timeout == null ? DEFAULT_STOP : timeout).handle((nothing, error) -> null));
        }
        for (Leadership leadership : leaderships) {
            led.add(leadership);
            ending.add(leadership.stop(timeout == null ? DEFAULT_STOP : timeout));
        }
        for (Producer producer : producers) {
            closed.add(producer);
            ending.add(producer.closeLater(timeout));
        }
        for (CompletableFuture<?> end : ending) base.getUninterruptibly(end);
        base.getUninterruptibly(leadLink.close());
    }

    void awaitThreads() {
        for (Consumer consumer : stopped) Threads.uninterruptibly(() -> consumer.awaitThreads(LAST_STEPS));
        for (Leadership leadership : led) Threads.uninterruptibly(() -> leadership.awaitThreads(LAST_STEPS));
        for (Producer producer : closed) Threads.uninterruptibly(() -> producer.awaitThread(LAST_STEPS / Clock.MS));
    }
}
