package io.keyturn.client;

/** The version of this client; that of the whole project. */
final class Version {
    static final String VERSION = "0.1.0";

    private Version() {}
}
