package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.TlsSettings;
import io.keyturn.client.internal.words.TokenSettings;
import io.keyturn.client.internal.words.TracingSettings;
import java.lang.System.Logger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;

/** Settings of a client, made by {@link #builder}. What is not said has a default. */
public final class KeyturnOptions {
    /** How calls travel. */
    public enum TransportKind {
        /** Every call on one stream, which keeps turns alive and reconnects. */
        SESSION,
        /** Each call by itself. A turn whose call is cancelled in the moment in which it is given ends with its lease. */
        UNARY
    }

    /** Everything as it is if nothing is said. */
    public static final KeyturnOptions DEFAULT = builder().build();

    final ClientSettings settings;

    private KeyturnOptions(ClientSettings settings) {
        this.settings = settings;
    }

    /**
     * Begins with the defaults.
     *
     * @return a builder, for one thread
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Every method refuses a wrong value with a {@link KeyturnException} that names it and what is allowed. */
    public static final class Builder {
        private TransportKind transport = TransportKind.SESSION;
        private String consumerId = "";
        private String sessionId;
        private Duration sessionTtl = Duration.ofSeconds(10);
        private Duration margin;
        private int openCommands = 100_000;
        private long openBytes = 256L * 1_048_576;
        private TlsSettings tls;
        private TokenSettings token;
        private boolean isInsecure;
        private Logger logger = System.getLogger("io.keyturn.client");
        private Metrics metrics = Metrics.NONE;
        private TracingSettings tracing = TracingSettings.DEFAULT;

        private Builder() {}

        /**
         * How calls travel.
         *
         * @param kind unset: {@code SESSION}
         * @return this
         */
        public Builder transport(TransportKind kind) {
            transport = Checks.needed("transport", kind);
            return this;
        }

        /**
         * Who asks, for people who look, in calls that do not say.
         *
         * @param id up to 256 bytes; unset: the id of the session, which outlives a connection as a peer's address does not
         * @return this
         */
        public Builder consumerId(String id) {
            consumerId = Checks.id("consumerId", id);
            return this;
        }

        /**
         * Who takes over the turns of a broken stream. Of two clients with one id the newer wins, and the older ends for good.
         *
         * @param id up to 256 bytes; unset: one that no other client has
         * @return this
         */
        public Builder sessionId(String id) {
            sessionId = Checks.id("sessionId", id);
            return this;
        }

        /**
         * How long turns outlive a broken stream. Within this a client that comes back has them still.
         *
         * @param ttl 100 ms to 24 h; unset: 10 s
         * @return this
         */
        public Builder sessionTtl(Duration ttl) {
            sessionTtl = Checks.within("sessionTtl", ttl, Duration.ofMillis(100), Checks.DAY);
            return this;
        }

        /**
         * How long before a turn may have ended its holder is told to stop. Never more than half of its life.
         *
         * @param margin up to 24 h; unset: a tenth of its life, at most 2 s
         * @return this
         */
        public Builder margin(Duration margin) {
            this.margin = Checks.within("margin", margin, Duration.ZERO, Checks.DAY);
            return this;
        }

        /**
         * How many calls may wait for their answers; one more is refused ({@code RESOURCE_EXHAUSTED}).
         *
         * @param most 1 to 100,000; unset: 100,000
         * @return this
         */
        public Builder openCommands(int most) {
            openCommands = (int) Checks.within("openCommands", most, 1, 100_000);
            return this;
        }

        /**
         * How many bytes they may take together on a session.
         *
         * @param most 4 MiB or more; unset: 256 MiB
         * @return this
         */
        public Builder openBytes(long most) {
            openBytes = Checks.within("openBytes", most, 4_194_304, Long.MAX_VALUE / 2);
            return this;
        }

        /**
         * Encrypts the connection.
         *
         * @param tls whom to trust, and who we are; unset: not encrypted
         * @return this
         */
        public Builder tls(TlsOptions tls) {
            this.tls = Checks.needed("tls", tls).settings;
            return this;
        }

        /**
         * Who asks, where the sidecar wants to know. Of several methods about tokens the last counts.
         *
         * @param token as {@code keyturn token new} prints it; unset: no token
         * @return this
         */
        public Builder token(String token) {
            this.token = TokenSettings.of(token);
            return this;
        }

        /**
         * The same, with a file that has the token. Who replaces the file replaces the token: streams look at it whenever they
         * begin, calls once a second. While it cannot be read the last good token counts.
         *
         * @param file read when the client is made, too
         * @return this
         */
        public Builder tokenFile(Path file) {
            this.token = TokenSettings.of(file);
            return this;
        }

        /**
         * The same, with a function that gives the token, asked for each call and stream, in a thread of its own. What it throws is
         * what the call fails with.
         *
         * @param function may take its time, and is interrupted when the client is closed
         * @return this
         */
        public Builder tokenFrom(Callable<String> function) {
            this.token = TokenSettings.of(function);
            return this;
        }

        /**
         * The token may be sent to another machine in clear text: anybody on the way can read it.
         *
         * @param isInsecure unset: false, {@code connect} refuses it; loopback and sockets need no leave
         * @return this
         */
        public Builder insecure(boolean isInsecure) {
            this.isInsecure = isInsecure;
            return this;
        }

        /**
         * Where is told what the client goes on after.
         *
         * @param logger unset: that of the system named {@code io.keyturn.client}
         * @return this
         */
        public Builder logger(Logger logger) {
            this.logger = Checks.needed("logger", logger);
            return this;
        }

        /**
         * Who counts.
         *
         * @param metrics unset: nobody
         * @return this
         */
        public Builder metrics(Metrics metrics) {
            this.metrics = Checks.needed("metrics", metrics);
            return this;
        }

        /**
         * Items carry the context of a trace, attempts and turns are spans of OpenTelemetry.
         *
         * @param tracing how; unset: as {@link TracingOptions#DEFAULT}, where the API of OpenTelemetry is on the class path
         * @return this
         */
        public Builder tracing(TracingOptions tracing) {
            this.tracing = Checks.needed("tracing", tracing).settings;
            return this;
        }

        /**
         * No spans, and no headers, whatever is on the class path.
         *
         * @return this
         */
        public Builder withoutTracing() {
            tracing = TracingSettings.OFF;
            return this;
        }

        /**
         * The options.
         *
         * @return they do not change any more
         */
        public KeyturnOptions build() {
            boolean isUnary = transport == TransportKind.UNARY;
            return new KeyturnOptions(new ClientSettings(
                    isUnary, consumerId, sessionId, sessionTtl, margin, openCommands, openBytes, tls, token, isInsecure,
                    logger, metrics, tracing));
        }
    }
}
