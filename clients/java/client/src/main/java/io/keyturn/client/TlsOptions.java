package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.TlsSettings;
import java.nio.file.Path;

/**
 * How the connection is encrypted, made by {@link #builder}. All files are PEM, and are read again for a new connection when they
 * have changed.
 */
public final class TlsOptions {
    /** Trusts whom the system trusts, and shows no certificate. */
    public static final TlsOptions DEFAULT = builder().build();

    final TlsSettings settings;

    private TlsOptions(TlsSettings settings) {
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

    @Override
    public String toString() {
        return settings.toString();
    }

    /** Every method refuses a wrong value with a {@link KeyturnException} that names it and what is allowed. */
    public static final class Builder {
        private Path ca;
        private Path cert;
        private Path key;
        private String serverName;

        private Builder() {}

        /**
         * Whom to trust.
         *
         * @param file the certificate of the authority; unset: whom the system trusts
         * @return this
         */
        public Builder ca(Path file) {
            ca = Checks.needed("tls.ca", file);
            return this;
        }

        /**
         * Who this client is, for a sidecar that asks for it (mutual TLS).
         *
         * @param cert the certificate, with what it needs to be trusted; unset: none
         * @param key its private key
         * @return this
         */
        public Builder certificate(Path cert, Path key) {
            this.cert = Checks.needed("tls.cert", cert);
            this.key = Checks.needed("tls.key", key);
            return this;
        }

        /**
         * The name that the sidecar's certificate must be for.
         *
         * @param name unset: the host of the address
         * @return this
         */
        public Builder serverName(String name) {
            serverName = Checks.text("tls.serverName", name);
            return this;
        }

        /**
         * The options.
         *
         * @return they do not change any more
         */
        public TlsOptions build() {
            return new TlsOptions(new TlsSettings(ca, cert, key, serverName));
        }
    }
}
