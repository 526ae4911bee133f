package io.keyturn.client.internal.words;

/** The version of this client; that of the whole project. */
public final class Version {
    public static final String VERSION = "0.1.0";

    private Version() {}
}
