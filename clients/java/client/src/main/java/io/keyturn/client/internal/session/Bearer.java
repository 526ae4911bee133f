package io.keyturn.client.internal.session;

import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.TokenSettings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Puts the token on every call and stream. A function is asked in a thread of its own: it may take its time. */
final class Bearer extends CallCredentials implements ClientInterceptor {
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    /** For calls a file is not read more often. */
    private static final long READ_EVERY = 1_000 * Clock.MS;
    /** Room for the token and the end of its line; what is longer is none. */
    private static final int MOST_BYTES = 16_384;

    private static final long IDLE_SECONDS = 10;

    private final TokenSettings source;
    private final ThreadMaker threads = new ThreadMaker(() -> "keyturn-token");
    private final ThreadPoolExecutor asker =
            new ThreadPoolExecutor(1, 1, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), threads);
    /** The last good one of the file. */
    private String good;

    private long readAt;

    /** Throws where the file has no token. */
    Bearer(TokenSettings source) {
        this.source = source;
        asker.allowCoreThreadTimeOut(true);
        if (source.file() != null) good = read();
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return next.newCall(method, options.withCallCredentials(this));
    }

    @Override
    public void applyRequestMetadata(RequestInfo call, Executor executor, MetadataApplier applier) {
        if (source.function() == null) {
            boolean isLong = call.getMethodDescriptor().getType() != MethodDescriptor.MethodType.UNARY;
            applier.apply(header(source.text() == null ? ofFile(isLong) : source.text()));
            return;
        }
        try {
            asker.execute(() -> ask(applier));
        } catch (RejectedExecutionException closed) {
            applier.fail(Status.CANCELLED.withDescription("the client was closed"));
        }
    }

    private void ask(MetadataApplier applier) {
        try {
            applier.apply(header(TokenSettings.checked("the token", source.function().call())));
        } catch (Exception | Error failed) {
            // Whatever it is, it is why the call fails.
            applier.fail(Status.UNAUTHENTICATED.withDescription("no token: " + Failures.messageOf(failed)));
        }
    }

    private static Metadata header(String token) {
        Metadata header = new Metadata();
        header.put(AUTHORIZATION, "Bearer " + token);
        return header;
    }

    /** {@code isLong}: what goes on for long shows the token of this very moment. */
    private synchronized String ofFile(boolean isLong) {
        if (!isLong && Clock.now() - readAt < READ_EVERY) return good;
        try {
            good = read();
        } catch (KeyturnException noGood) {
            // Who replaces it may be in the middle of it: the last good one counts.
            return good;
        }
        return good;
    }

    private String read() {
        readAt = Clock.now();
        try (InputStream file = Files.newInputStream(source.file())) {
            String text = new String(file.readNBytes(MOST_BYTES), StandardCharsets.ISO_8859_1);
            return TokenSettings.checked("the token in " + source.file(), text.trim());
        } catch (IOException unreadable) {
            KeyturnException error =
                    Failures.wrong("tokenFile is " + source.file() + ", which cannot be read: " + unreadable);
            error.initCause(unreadable);
            throw error;
        }
    }

    /** Waits until no thread is left, as long as that is worth waiting for: a function may never come back. */
    void close(long patience) {
        asker.shutdownNow();
        Threads.uninterruptibly(() -> threads.awaitEnd(asker, patience));
    }
}
