package io.keyturn.client.internal.session;

import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NegotiationType;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Statuses;
import io.keyturn.client.internal.words.TlsSettings;
import io.keyturn.client.internal.words.Version;
import java.util.ArrayDeque;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;

/** The connection to a sidecar, and the threads of its client. Everything is this client's alone, so that closing it leaves nothing. */
public final class Connection {
    /** A sidecar that vanished without a word is noticed after the two together. */
    private static final int KEEPALIVE_TIME_SECONDS = 20;

    private static final int KEEPALIVE_TIMEOUT_SECONDS = 10;
    /** Answers stop growing at 3 MiB; what a session gathers in one message may be more than one of them. */
    private static final int LARGEST_ANSWER = 64 * 1_048_576;
    /** Failures come in swarms; the connection is made anew once for all of them. */
    private static final long BETWEEN_RECONNECTS = 50 * Clock.MS;

    private static final int PATIENCE_SECONDS = 5;
    private static final String UNIX = "unix:";

    private final String address;
    private final Loop loop;
    private final Callbacks callbacks;
    private final ThreadMaker resolvers = Threads.maker("keyturn-resolver");
    private final ThreadPoolExecutor resolver = Threads.pool(resolvers);
    private final ThreadMaker network = new ThreadMaker(() -> "keyturn-network");
    private final EventLoopGroup group;
    private final ManagedChannel channel;
    /** Null: nobody says who asks. */
    private final Bearer bearer;
    /** The channel, with the token. */
    private final Channel calls;
    /** Null: none. */
    private final TlsSettings tls;
    private final TlsProbe probe;
    /** The sidecar said something. */
    private volatile boolean hasStood;

    private long failedAt = -BETWEEN_RECONNECTS;
    /** What waits until the channel has forgotten a failure. Of the loop. */
    private final ArrayDeque<Runnable> behind = new ArrayDeque<>();

    public Connection(String address, ClientSettings options) {
        boolean isNative = Epoll.isAvailable();
        // What is refused is refused before there is any thread.
        NettyChannelBuilder builder = builderOf(address, isNative);
        options.checkToken(address);
        secure(builder, options.tls(), options.logger());
        this.address = address;
        tls = options.tls();
        bearer = options.token() == null ? null : new Bearer(options.token());
        loop = new Loop(options.logger());
        probe = new TlsProbe(address, loop, resolver);
        callbacks = new Callbacks(options.logger());
        group = isNative ? new EpollEventLoopGroup(1, network) : new NioEventLoopGroup(1, network);
        builder.eventLoopGroup(group)
                .executor(loop)
                .offloadExecutor(resolver)
                .userAgent("keyturn-java/" + Version.VERSION)
                .maxInboundMessageSize(LARGEST_ANSWER)
                .keepAliveTime(KEEPALIVE_TIME_SECONDS, TimeUnit.SECONDS)
                .keepAliveTimeout(KEEPALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
                // Only what the sidecar is known not to have taken is sent again: a server that closes a connection says so (GOAWAY).
                .enableRetry()
                // The sidecar is a neighbour: neither a proxy of the environment nor a service config may come between.
                .disableServiceConfigLookUp()
                .proxyDetector(target -> null);
        channel = builder.build();
        calls = bearer == null ? channel : ClientInterceptors.intercept(channel, bearer);
    }

    private static NettyChannelBuilder builderOf(String address, boolean isNative) {
        if (address.startsWith(UNIX)) {
            if (!isNative) throw Failures.wrong("address is " + address + "; Unix sockets need epoll, which is not here");
            String path = Checks.text("the path of address", address.substring(UNIX.length()));
            return NettyChannelBuilder.forAddress(new DomainSocketAddress(path))
                    .overrideAuthority("localhost")
                    .channelType(EpollDomainSocketChannel.class);
        }
        int colon = address.lastIndexOf(':');
        String host = colon < 0 ? "" : address.substring(0, colon);
        String port = address.substring(colon + 1);
        boolean isPort = port.matches("\\d{1,5}") && Integer.parseInt(port) >= 1 && Integer.parseInt(port) <= 65_535;
        if (host.isEmpty() || !isPort) throw wrongAddress(address);
        try {
            return NettyChannelBuilder.forAddress(host, Integer.parseInt(port))
                    .channelType(isNative ? EpollSocketChannel.class : NioSocketChannel.class);
        } catch (IllegalArgumentException noHost) {
            throw wrongAddress(address);
        }
    }

    private static KeyturnException wrongAddress(String address) {
        return Failures.wrong("address is \"" + address + "\"; allowed are host:port and unix:/path");
    }

    private static void secure(NettyChannelBuilder builder, TlsSettings tls, System.Logger logger) {
        if (tls == null) {
            builder.negotiationType(NegotiationType.PLAINTEXT);
            return;
        }
        try {
            builder.sslContext(new FreshSslContext(tls, logger));
            if (tls.serverName() != null) builder.overrideAuthority(tls.serverName());
        } catch (SSLException | IllegalArgumentException unreadable) {
            KeyturnException error = Failures.wrong("tls: " + Failures.messageOf(unreadable) + " (" + tls + ")");
            error.initCause(unreadable);
            throw error;
        }
    }

    Loop loop() {
        return loop;
    }

    Callbacks callbacks() {
        return callbacks;
    }

    public Channel channel() {
        return calls;
    }

    String address() {
        return address;
    }

    /** Null: there is a connection, or nobody needs one. A call that fails says more. */
    KeyturnException unreachable() {
        ConnectivityState state = channel.getState(false);
        boolean isMissing = state == ConnectivityState.CONNECTING || state == ConnectivityState.TRANSIENT_FAILURE;
        return isMissing ? Failures.noAnswerYet(address) : null;
    }

    /** A connection came about, and both sides understood each other. */
    void stood() {
        hasStood = true;
    }

    /** In the loop: runs the task there when all is known of why a call came to its end; at once, or within a second. */
    void whenKnown(Status status, Metadata trailers, Runnable then) {
        boolean isMaybeTls = trailers.keys().isEmpty() && TlsWords.isMaybeTls(status, tls, hasStood);
        if (isMaybeTls) probe.ask(then);
        else then.run();
    }

    /** In the loop: why a call came to its end, as far as it is known, in words that tell what to do. */
    KeyturnException errorOf(Status status, Metadata trailers) {
        KeyturnException explained =
                trailers.keys().isEmpty() ? TlsWords.explained(status, address, tls, hasStood, probe) : null;
        return explained == null ? Statuses.ofStatus(status, trailers) : explained;
    }

    /**
     * The other side closed the connection and said that it had not taken this call (GOAWAY), as Node 20 does after a thousand
     * cancelled calls. The channel repeats those that it had not sent; of the others it says so in words only.
     */
    static boolean isUntaken(Status status) {
        String what = status.getDescription();
        return what != null && what.startsWith("Abrupt GOAWAY closed");
    }

    /** In the loop: the next call connects at once. The channel's own pauses grow to minutes; ours are above it. */
    void forgetFailure() {
        long now = Clock.now();
        if (now - failedAt < BETWEEN_RECONNECTS) return;
        failedAt = now;
        channel.enterIdle();
    }

    /**
     * In the loop: the same, and runs the task in the loop when it is so. Until then the channel answers a new call with the failure
     * of before: whoever is told of that first, mends what was wrong and calls again would be told the same.
     */
    void forgetFailure(Runnable then) {
        forgetFailure();
        behind.add(then);
        // Behind it in the order of the channel; whatever state it has then, one that is closed has no other.
        channel.notifyWhenStateChanged(ConnectivityState.SHUTDOWN, this::forgotten);
        if (channel.isShutdown()) forgotten();
    }

    private void forgotten() {
        Runnable next = behind.poll();
        if (next != null) next.run();
    }

    /** Waits until no thread and no socket is left, 5 s at most for each. */
    public void close() {
        channel.shutdownNow();
        Threads.uninterruptibly(() -> channel.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS));
        resolver.shutdown();
        if (bearer != null) bearer.close(TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS));
        loop.tell(() -> {
            probe.close();
            while (!behind.isEmpty()) forgotten();
        });
        loop.shutdown();
        callbacks.shutdown();
        long patience = TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        // What was heard last is worked on while there is a network: it may ask for more.
        Threads.uninterruptibly(() -> loop.awaitEnd(patience));
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        Threads.uninterruptibly(() -> network.awaitEnd(group, patience));
        Threads.uninterruptibly(() -> callbacks.awaitEnd(patience));
        Threads.uninterruptibly(() -> resolvers.awaitEnd(resolver, patience));
    }
}
