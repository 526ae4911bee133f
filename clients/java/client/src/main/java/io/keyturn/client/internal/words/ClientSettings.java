package io.keyturn.client.internal.words;

import io.keyturn.client.KeyturnException;
import io.keyturn.client.Metrics;
import java.lang.System.Logger;
import java.time.Duration;
import java.util.regex.Pattern;

/**
 * Settings of a client.
 *
 * @param isUnary each call by itself, not all on one stream
 * @param consumerId empty: the id of the session
 * @param sessionId null: one that no other client has
 * @param margin null: a tenth of a life, at most 2 s
 * @param tls null: none
 * @param token null: nobody says who asks
 * @param isInsecure the token may be sent to another machine in clear text
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
        boolean isInsecure,
        Logger logger,
        Metrics metrics,
        TracingSettings tracing) {
    private static final long LARGEST_MARGIN = 2_000 * Clock.MS;
    /** Sockets, and names that lead to this machine, whatever a name server says. */
    private static final Pattern OF_THIS_MACHINE = Pattern.compile(
            "^(unix:|(localhost|127(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}|\\[::1\\]):)", Pattern.CASE_INSENSITIVE);

    /** With the ids of one client: a ticket of dispatch belongs to its consumer id, whatever becomes of the connection. */
    public ClientSettings identified(String clientId) {
        String session = sessionId == null ? clientId : sessionId;
        String consumer = consumerId.isEmpty() ? session : consumerId;
        Logger log = GuardedLogger.of(logger);
        Metrics guarded = GuardedMetrics.of(metrics, log);
        return new ClientSettings(
                isUnary, consumer, session, sessionTtl, margin, openCommands, openBytes, tls, token, isInsecure,
                log, guarded, tracing);
    }

    /**
     * The sidecar would refuse the token, too, but only when everybody on the way has read it.
     *
     * @throws KeyturnException INVALID_ARGUMENT when it would be sent to another machine in clear text
     */
    public void checkToken(String address) {
        if (token == null || tls != null || isInsecure || OF_THIS_MACHINE.matcher(address).find()) return;
        throw Failures.wrong("token: it would be sent to " + address + " in clear text; use tls, or say insecure(true)");
    }

    /** Before the end of a life that long its holder is told to stop, ns. A margin above half of it would leave no time to work. */
    public long marginOf(long life) {
        return margin == null ? Math.min(life / 10, LARGEST_MARGIN) : Math.min(Clock.nanos(margin), life / 2);
    }
}
