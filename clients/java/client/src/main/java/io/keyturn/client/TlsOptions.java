package io.keyturn.client;

import java.nio.file.Path;

/**
 * How the connection is encrypted. All files are PEM, and are read again for a new connection when they have changed.
 *
 * @param ca whom to trust; null: whom the system trusts
 * @param cert the certificate of this client, for a sidecar that asks for one; null: none
 * @param key its private key; null: none
 * @param serverName the name that the sidecar's certificate must be for; null: the host of the address
 */
public record TlsOptions(Path ca, Path cert, Path key, String serverName) {
    /**
     * Refuses half a pair.
     *
     * @param ca whom to trust; null: whom the system trusts
     * @param cert the certificate of this client, for a sidecar that asks for one; null: none
     * @param key its private key; null: none
     * @param serverName the name that the sidecar's certificate must be for; null: the host of the address
     */
    public TlsOptions {
        if ((cert == null) != (key == null)) {
            throw Failures.wrong("tls.cert is " + cert + " and tls.key is " + key + "; allowed are both or none");
        }
    }

    /**
     * Trust this authority.
     *
     * @param ca its certificate
     * @return the options
     */
    public static TlsOptions ca(Path ca) {
        return new TlsOptions(ca, null, null, null);
    }

    /** The system's authorities.
     *
     * @return the options
     */
    public static TlsOptions system() {
        return new TlsOptions(null, null, null, null);
    }

    /**
     * The same with a certificate of this client (mutual TLS).
     *
     * @param cert the certificate, with what it needs to be trusted
     * @param key its private key
     * @return other options
     */
    public TlsOptions withCertificate(Path cert, Path key) {
        return new TlsOptions(ca, cert, key, serverName);
    }

    /**
     * The same with the name that the sidecar's certificate must be for.
     *
     * @param serverName instead of the host of the address
     * @return other options
     */
    public TlsOptions withServerName(String serverName) {
        return new TlsOptions(ca, cert, key, serverName);
    }
}
