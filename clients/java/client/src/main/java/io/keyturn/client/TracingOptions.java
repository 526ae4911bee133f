package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.TracingSettings;
import io.opentelemetry.api.OpenTelemetry;

/**
 * How spans of OpenTelemetry are made, made by {@link #builder}. It needs {@code io.opentelemetry:opentelemetry-api}, 1.57 or newer,
 * which an application that traces has.
 */
public final class TracingOptions {
    /** Everything as it is if nothing is said, but that it is an error if the API is not there. */
    public static final TracingOptions DEFAULT = builder().build();

    final TracingSettings settings;

    private TracingOptions(TracingSettings settings) {
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
        private boolean parent;
        private boolean key;
        private Object openTelemetry;

        private Builder() {}

        /**
         * An attempt is a child of the span that submitted its item, in one trace with it.
         *
         * @param parent unset: false, an attempt begins a trace, and links to that span
         * @return this
         */
        public Builder parent(boolean parent) {
            this.parent = parent;
            return this;
        }

        /**
         * The key is an attribute of spans, {@code keyturn.key}.
         *
         * @param key unset: false; keys may name people
         * @return this
         */
        public Builder key(boolean key) {
            this.key = key;
            return this;
        }

        /**
         * Who makes the spans.
         *
         * @param openTelemetry unset: that of the process, also one that is registered later
         * @return this
         */
        public Builder openTelemetry(OpenTelemetry openTelemetry) {
            this.openTelemetry = Checks.needed("tracing.openTelemetry", openTelemetry);
            return this;
        }

        /**
         * The options.
         *
         * @return they do not change any more
         */
        public TracingOptions build() {
            return new TracingOptions(new TracingSettings(false, true, parent, key, openTelemetry));
        }
    }
}
