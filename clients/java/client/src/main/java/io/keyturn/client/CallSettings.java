package io.keyturn.client;

import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import java.time.Duration;

/**
 * How one raw call is made, by {@link #builder}. Cancelling the future that the call gave ends it: a caller that waits without a
 * ticket leaves its line, one with a ticket keeps its place.
 */
public final class CallSettings {
    /** Everything as it is if nothing is said. */
    public static final CallSettings DEFAULT = builder().build();

    final CallTerms terms;

    private CallSettings(CallTerms terms) {
        this.terms = terms;
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
        private long timeout = CallTerms.UNSET;
        private boolean leave;

        private Builder() {}

        /**
         * Until the call is given up ({@code DEADLINE_EXCEEDED}), answered or not, connected or not.
         *
         * @param timeout above zero; unset: the call's wait and 10 s
         * @return this
         */
        public Builder timeout(Duration timeout) {
            if (Checks.needed("timeout", timeout).isNegative() || timeout.isZero()) {
                throw Failures.wrong("timeout is " + timeout + "; allowed is a duration above zero");
            }
            this.timeout = Clock.nanos(timeout);
            return this;
        }

        /**
         * Whether cancelling gives up the place of the call's ticket too.
         *
         * @param leave unset: false
         * @return this
         */
        public Builder leave(boolean leave) {
            this.leave = leave;
            return this;
        }

        /**
         * The settings.
         *
         * @return they do not change any more
         */
        public CallSettings build() {
            return new CallSettings(new CallTerms(timeout, leave));
        }
    }
}
