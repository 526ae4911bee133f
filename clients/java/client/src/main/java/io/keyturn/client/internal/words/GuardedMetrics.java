package io.keyturn.client.internal.words;

import io.grpc.Status;
import io.keyturn.client.Metrics;
import io.keyturn.client.TurnLoss;
import java.lang.System.Logger.Level;
import java.lang.System.Logger;
import java.time.Duration;

/** Metrics of the application. Whatever they throw is logged: what is counted goes on. */
record GuardedMetrics(Metrics metrics, Logger logger) implements Metrics {
    static Metrics of(Metrics metrics, Logger logger) {
        return metrics == Metrics.NONE || metrics instanceof GuardedMetrics ? metrics : new GuardedMetrics(metrics, logger);
    }

    @Override
    public void callDone(String method, Status.Code code, Duration took) {
        guard(() -> metrics.callDone(method, code, took));
    }

    @Override
    public void turnGranted(String queue) {
        guard(() -> metrics.turnGranted(queue));
    }

    @Override
    public void turnLost(String queue, TurnLoss loss) {
        guard(() -> metrics.turnLost(queue, loss));
    }

    @Override
    public void reconnected() {
        guard(metrics::reconnected);
    }

    private void guard(Runnable call) {
        try {
            call.run();
        } catch (Throwable thrown) {
            logger.log(Level.WARNING, "the metrics of a client threw", thrown);
        }
    }
}
