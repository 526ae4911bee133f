package io.keyturn.client.internal.words;

/**
 * How a client is traced.
 *
 * @param isOff nobody traces
 * @param isWanted it is an error if the API of OpenTelemetry is not there
 * @param parent attempts are children of the span that submitted
 * @param key the key is an attribute
 * @param openTelemetry null: that of the process. An Object: who does not trace need not have its class
 */
public record TracingSettings(boolean isOff, boolean isWanted, boolean parent, boolean key, Object openTelemetry) {
    public static final TracingSettings DEFAULT = new TracingSettings(false, false, false, false, null);
    public static final TracingSettings OFF = new TracingSettings(true, false, false, false, null);
}
