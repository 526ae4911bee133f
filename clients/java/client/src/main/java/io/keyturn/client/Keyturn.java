package io.keyturn.client;

import io.keyturn.client.internal.produce.Results;
import io.keyturn.client.internal.produce.Submitting;
import io.keyturn.client.internal.session.AdminDeadline;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Connection;
import io.keyturn.client.internal.session.Inside;
import io.keyturn.client.internal.session.SessionTransport;
import io.keyturn.client.internal.session.Transport;
import io.keyturn.client.internal.session.UnaryTransport;
import io.keyturn.client.internal.tracing.FindTracing;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Ids;
import io.keyturn.client.internal.words.SubmitSettings;
import io.keyturn.client.internal.words.Tracing;
import io.keyturn.v1.AdminServiceGrpc;
import io.keyturn.v1.LeaderServiceGrpc;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;

/**
 * The client of one sidecar. For any number of threads; make one for a process, and close it at the end.
 *
 * <p>Futures are completed by a thread of the client: what is hung on them must not block, or be hung on with {@code *Async}.
 * Every future and every call that blocks ends, by its wait or time-out and 10 s. Failures are {@link KeyturnException}s.
 */
public final class Keyturn extends Turns implements AutoCloseable {
    private static final String DEFAULT_ADDRESS = "127.0.0.1:7420";
    private static final Pattern GROUP = Pattern.compile("[A-Za-z0-9._:/-]{1,128}");
    private static final Duration DEFAULT_RESULT_TIMEOUT = Duration.ofMinutes(5);

    private final String address;
    private final Connection connection;
    private final ClientSettings options;
    private final Application application;
    private final AdminServiceGrpc.AdminServiceBlockingStub admin;
    private final LeaderServiceGrpc.LeaderServiceBlockingStub leaders;
    private final Object closing = new Object();
    private boolean isClosed;

    private Keyturn(String address, Connection connection, Base base, ClientSettings options) {
        super(base);
        this.address = address;
        this.connection = connection;
        application = new Application(base, connection);
        this.options = options;
        leaders = LeaderServiceGrpc.newBlockingStub(connection.channel()).withInterceptors(new AdminDeadline());
        admin = AdminServiceGrpc.newBlockingStub(connection.channel()).withInterceptors(new AdminDeadline());
    }

    private static Keyturn of(String address, KeyturnOptions wanted) {
        Ids ids = new Ids();
        ClientSettings options = wanted.settings.identified(ids.get());
        Tracing tracing = FindTracing.of(options.tracing(), options.logger());
        Connection connection = new Connection(address, options);
        Transport transport = options.isUnary()
                ? new UnaryTransport(options, connection, ids)
                : new SessionTransport(options, connection, ids);
        return new Keyturn(address, connection, new Base(transport, connection, ids, options, tracing), options);
    }

    /**
     * A client of the sidecar that the environment variable {@code KEYTURN_ADDRESS} names, else of {@code 127.0.0.1:7420}.
     *
     * @return the client; the connection is made by the first call
     */
    public static Keyturn connect() {
        String named = System.getenv("KEYTURN_ADDRESS");
        return connect(named == null || named.isEmpty() ? DEFAULT_ADDRESS : named);
    }

    /**
     * A client of a sidecar.
     *
     * @param address {@code host:port} or {@code unix:/path}
     * @return the client; the connection is made by the first call
     */
    public static Keyturn connect(String address) {
        return connect(address, KeyturnOptions.DEFAULT);
    }

    /**
     * A client of a sidecar, with options.
     *
     * @param address {@code host:port} or {@code unix:/path}
     * @param options what is not as usual
     * @return the client; the connection is made by the first call
     * @throws KeyturnException INVALID_ARGUMENT for an address or a file of TLS that cannot be, and for a token that would be
     *     sent to another machine in clear text
     */
    public static Keyturn connect(String address, KeyturnOptions options) {
        return of(Checks.text("address", address), Checks.needed("options", options));
    }

    /**
     * Where the sidecar is.
     *
     * @return as it was given
     */
    public String address() {
        return address;
    }

    /**
     * Takes turns with items of a queue and hands each to the handler, one at a time, until it is stopped.
     *
     * @param queue its name
     * @param handler does the work
     * @return the consumer
     */
    public Consumer consume(String queue, WorkHandler handler) {
        return consume(queue, ConsumerOptions.DEFAULT, handler);
    }

    /**
     * The same with options.
     *
     * @param queue its name
     * @param options what is not as usual
     * @param handler does the work
     * @return the consumer
     */
    public Consumer consume(String queue, ConsumerOptions options, WorkHandler handler) {
        return consume(List.of(Checks.text("a queue", queue)), options, handler);
    }

    /**
     * The same of several queues.
     *
     * @param queues 1 to 100
     * @param options what is not as usual
     * @param handler does the work
     * @return the consumer
     */
    public Consumer consume(List<String> queues, ConsumerOptions options, WorkHandler handler) {
        return application.consume(queues, options, handler);
    }

    /**
     * Stands in a group, in which exactly one worker leads, and leads when its turn comes, again and again until it is stopped.
     *
     * @param group 1 to 128 characters of {@code A-Z a-z 0-9 . _ : / -}
     * @param career what the worker does in each phase
     * @return to be closed, which hands over
     */
    public Leadership lead(String group, LeaderCareer career) {
        return lead(group, LeadOptions.DEFAULT, career);
    }

    /**
     * The same with options.
     *
     * @param group 1 to 128 characters of {@code A-Z a-z 0-9 . _ : / -}
     * @param options what is not as usual
     * @param career what the worker does in each phase
     * @return to be closed, which hands over
     */
    public Leadership lead(String group, LeadOptions options, LeaderCareer career) {
        if (!GROUP.matcher(Checks.text("group", group)).matches()) {
            throw Failures.wrong("group is \"" + group + "\"; allowed are 1 to 128 characters of A-Z a-z 0-9 . _ : / -");
        }
        // Both together are no longer than an id may be.
        String name = this.options.consumerId().length() > 64 ? "" : this.options.consumerId() + "/";
        String id = name + base.newId.get();
        return application.lead(group, Checks.needed("options", options).settings.identified(id), career);
    }

    /**
     * The calls for people about leaders: who leads, and to ask a leader to hand over. As {@link #admin}; to lead use {@link #lead}.
     *
     * @return a stub on the connection of this client
     */
    public LeaderServiceGrpc.LeaderServiceBlockingStub leaders() {
        return leaders;
    }

    /**
     * Hands one item over. It gets an id if it has none, the same on every try, so that a lost answer makes no second item.
     *
     * @param queue where it goes
     * @param item the message
     * @return what became of it
     */
    public CompletableFuture<SubmitOutcome> submit(String queue, QueueItem item) {
        return submit(queue, item, SubmitOptions.DEFAULT);
    }

    /**
     * The same with options.
     *
     * @param queue where it goes
     * @param item the message
     * @param options what is not as usual
     * @return what became of it
     */
    public CompletableFuture<SubmitOutcome> submit(String queue, QueueItem item, SubmitOptions options) {
        return Submitting.one(base, Checks.text("queue", queue), Checks.needed("item", item), settingsOf(options));
    }

    /**
     * Hands items over in order, in as many messages as it takes.
     *
     * @param queue where they go
     * @param items any number
     * @return one result per item, in order; fails with a {@link SubmitManyException}, which says what was accepted and what was not
     */
    public CompletableFuture<List<SubmitOutcome>> submitMany(String queue, List<QueueItem> items) {
        return submitMany(queue, items, SubmitOptions.DEFAULT);
    }

    /**
     * The same with options.
     *
     * @param queue where they go
     * @param items any number
     * @param options what is not as usual
     * @return one result per item, in order; fails with a {@link SubmitManyException}, which says what was accepted and what was not
     */
    public CompletableFuture<List<SubmitOutcome>> submitMany(String queue, List<QueueItem> items, SubmitOptions options) {
        return Submitting.many(base, Checks.text("queue", queue), items, settingsOf(options));
    }

    private static SubmitSettings settingsOf(SubmitOptions options) {
        return Checks.needed("options", options).settings;
    }

    /**
     * What an item came to, wherever it is worked on, with 5 min until it must be known.
     *
     * @param queue its queue
     * @param itemId its id
     * @return the result of its end, empty when that had none; fails with an {@link ItemFailedException} when no result can come
     */
    public CompletableFuture<Optional<byte[]>> result(String queue, String itemId) {
        return result(queue, itemId, DEFAULT_RESULT_TIMEOUT);
    }

    /**
     * The same with a time-out.
     *
     * @param queue its queue
     * @param itemId its id
     * @param timeout then it fails with DEADLINE_EXCEEDED; {@link TurnOptions#FOREVER}
     * @return the result of its end, empty when that had none; fails with an {@link ItemFailedException} when no result can come
     */
    public CompletableFuture<Optional<byte[]>> result(String queue, String itemId, Duration timeout) {
        return Results.of(base, queue, itemId, timeout);
    }

    /**
     * A buffer that collects items and hands them over in batches.
     *
     * @param queue where they go
     * @return to be closed, which flushes it
     */
    public Producer producer(String queue) {
        return producer(queue, ProducerOptions.DEFAULT);
    }

    /**
     * The same with options.
     *
     * @param queue where they go
     * @param options what is not as usual
     * @return to be closed, which flushes it
     */
    public Producer producer(String queue, ProducerOptions options) {
        return application.producer(queue, options);
    }

    /**
     * The calls for people. Each ends after 10 s unless the stub has another deadline; a watch does not. Its errors are those of
     * gRPC: {@link KeyturnException#of} reads them.
     *
     * @return a stub on the connection of this client
     */
    public AdminServiceGrpc.AdminServiceBlockingStub admin() {
        return admin;
    }

    /** {@link #close(Duration)} with 20 s for handlers and hand-overs, and what the items of producers have. */
    @Override
    public void close() {
        close(null);
    }

    /**
     * Stops consumers and leaders, closes producers; then calls that are open are refused (CANCELLED), and no thread and no socket is left.
     * Closing twice is fine, also at once: each returns when it is closed.
     *
     * @param timeout how long handlers and items that wait have, up to 24 h; null: each its own
     * @throws KeyturnException FAILED_PRECONDITION in a handler, a phase of a leader or a callback of this client, which would wait for
     *     themselves; nothing was closed then
     */
    public void close(Duration timeout) {
        if (timeout != null) Checks.within("timeout", timeout, Duration.ZERO, Checks.DAY);
        Inside.refuseToWaitFor(base, null);
        synchronized (closing) {
            if (isClosed) return;
            isClosed = true;
            application.close(timeout);
            callers.close();
            base.close();
            base.transport.close().awaitQuietly(5_000 * Clock.MS);
            connection.close();
            application.awaitThreads();
        }
    }
}
