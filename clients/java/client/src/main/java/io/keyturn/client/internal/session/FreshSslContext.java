package io.keyturn.client.internal.session;

import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.netty.buffer.ByteBufAllocator;
import io.grpc.netty.shaded.io.netty.handler.ssl.ApplicationProtocolNegotiator;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.keyturn.client.internal.words.TlsSettings;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.System.Logger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSessionContext;

/**
 * Certificates as they are when a connection is made: they are read again when their files have changed. While the files are no
 * good (in the middle of a replacement a key is not that of the certificate) the last good ones are used.
 */
final class FreshSslContext extends SslContext {
    private final TlsSettings options;
    private final Logger logger;
    private volatile SslContext current;
    /** What the files looked like when they were read last. */
    private volatile List<Object> seen;

    /** @throws SSLException or IllegalArgumentException when the files are no good */
    FreshSslContext(TlsSettings options, Logger logger) throws SSLException {
        this.options = options;
        this.logger = logger;
        this.seen = look();
        this.current = read();
    }

    private SslContext read() throws SSLException {
        SslContextBuilder context = GrpcSslContexts.forClient();
        if (options.ca() != null) context.trustManager(options.ca().toFile());
        if (options.cert() != null) context.keyManager(options.cert().toFile(), options.key().toFile());
        return context.build();
    }

    private List<Object> look() {
        List<Object> found = new ArrayList<>();
        for (Path path : new Path[] {options.ca(), options.cert(), options.key()}) {
            if (path != null) found.add(stampOf(path));
        }
        return found;
    }

    private static Object stampOf(Path path) {
        try {
            BasicFileAttributes file = Files.readAttributes(path, BasicFileAttributes.class);
            return List.of(file.lastModifiedTime(), file.size(), String.valueOf(file.fileKey()));
        } catch (IOException gone) {
            return "gone";
        }
    }

    private SslContext fresh() {
        List<Object> now = look();
        if (now.equals(seen)) return current;
        // Before they are read: what is written while they are read counts as a change.
        seen = now;
        try {
            current = read();
        } catch (SSLException | RuntimeException noGood) {
            // Whatever is wrong with them, somebody may be replacing them: the next connection looks again.
            seen = List.of();
            logger.log(Level.WARNING, "the files of " + options + " changed and are no good; the last good ones are used", noGood);
        }
        return current;
    }

    @Override
    public boolean isClient() {
        return true;
    }

    @Override
    public List<String> cipherSuites() {
        return current.cipherSuites();
    }

    @Override
    @SuppressWarnings("deprecation") // What is extended asks for it.
    public ApplicationProtocolNegotiator applicationProtocolNegotiator() {
        return current.applicationProtocolNegotiator();
    }

    @Override
    public SSLEngine newEngine(ByteBufAllocator allocator) {
        return fresh().newEngine(allocator);
    }

    @Override
    public SSLEngine newEngine(ByteBufAllocator allocator, String host, int port) {
        return fresh().newEngine(allocator, host, port);
    }

    @Override
    public SSLSessionContext sessionContext() {
        return current.sessionContext();
    }
}
