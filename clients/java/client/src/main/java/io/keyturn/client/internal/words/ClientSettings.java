package io.keyturn.client.internal.words;

import io.keyturn.client.Metrics;
import java.lang.System.Logger;
import java.time.Duration;

/**
 * Settings of a client.
 *
 * @param isUnary each call by itself, not all on one stream
 * @param consumerId empty: the id of the session
 * @param sessionId null: one that no other client has
 * @param margin null: a tenth of a life, at most 2 s
 * @param tls null: none
 * @param token null: nobody says who asks
 */
public record ClientSettings(
        boolean isUnary,
        String consumerId,
        String sessionId,
        Duration sessionTtl,
        Duration margin,
        int openCommands,
        long openBytes,
        TlsSettings tls,
        TokenSettings token,
        Logger logger,
        Metrics metrics,
        TracingSettings tracing) {
    private static final long LARGEST_MARGIN = 2_000 * Clock.MS;

    /** With the ids of one client: a ticket of dispatch belongs to its consumer id, whatever becomes of the connection. */
    public ClientSettings identified(String clientId) {
        String session = sessionId == null ? clientId : sessionId;
        String consumer = consumerId.isEmpty() ? session : consumerId;
        Metrics guarded = GuardedMetrics.of(metrics, logger);
        return new ClientSettings(
                isUnary, consumer, session, sessionTtl, margin, openCommands, openBytes, tls, token, logger, guarded, tracing);
    }

    /** Before the end of a life that long its holder is told to stop, ns. A margin above half of it would leave no time to work. */
    public long marginOf(long life) {
        return margin == null ? Math.min(life / 10, LARGEST_MARGIN) : Math.min(Clock.nanos(margin), life / 2);
    }
}
