package io.keyturn.client.internal.words;

import java.nio.file.Path;

/**
 * How the connection is encrypted.
 *
 * @param ca null: whom the system trusts
 * @param cert null: none
 * @param key null: none
 * @param serverName null: the host of the address
 */
public record TlsSettings(Path ca, Path cert, Path key, String serverName) {
    @Override
    public String toString() {
        return "ca " + ca + ", certificate " + cert + ", key " + key + ", server name " + serverName;
    }
}
