package io.keyturn.client;

import io.grpc.Status;
import java.time.Duration;

/**
 * Told of what a client does, for your own metrics. Each method does nothing unless it is overridden. They are called by the
 * threads of the client: they must be quick, and what they throw is logged.
 */
public interface Metrics {
    /** Counts nothing. */
    Metrics NONE = new Metrics() {};

    /**
     * A call of a worker has ended.
     *
     * @param method of the contract: {@code EnQueue}, {@code Ack}, …
     * @param code {@code OK}, or why it failed
     * @param took from the call to its end
     */
    default void callDone(String method, Status.Code code, Duration took) {}

    /**
     * A handler has a turn.
     *
     * @param queue of its key
     */
    default void turnGranted(String queue) {}

    /**
     * A turn that was held is lost.
     *
     * @param queue of its key
     * @param loss why
     */
    default void turnLost(String queue, TurnLoss loss) {}

    /** The session has a stream again after one that broke. */
    default void reconnected() {}
}
