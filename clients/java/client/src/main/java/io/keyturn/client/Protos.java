package io.keyturn.client;

import java.time.Duration;

/** Durations of the raw calls' messages from and to those of {@code java.time}. */
public final class Protos {
    private Protos() {}

    /**
     * A duration for a message.
     *
     * @param duration any
     * @return the same
     */
    public static com.google.protobuf.Duration duration(Duration duration) {
        return com.google.protobuf.Duration.newBuilder()
                .setSeconds(duration.getSeconds())
                .setNanos(duration.getNano())
                .build();
    }

    /**
     * A duration from a message.
     *
     * @param duration any
     * @return the same
     */
    public static Duration duration(com.google.protobuf.Duration duration) {
        return Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
    }
}
