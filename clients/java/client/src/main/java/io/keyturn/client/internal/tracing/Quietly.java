package io.keyturn.client.internal.tracing;

import java.lang.System.Logger.Level;
import java.lang.System.Logger;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** What an SDK throws does not break the work that it is told of. It is logged once. */
final class Quietly {
    private final Logger logger;
    private final AtomicBoolean isTold = new AtomicBoolean();

    Quietly(Logger logger) {
        this.logger = logger;
    }

    <A> A get(A otherwise, Supplier<A> tell) {
        try {
            return tell.get();
        } catch (RuntimeException | LinkageError thrown) {
            if (!isTold.getAndSet(true)) logger.log(Level.WARNING, "tracing threw; logged once", thrown);
            return otherwise;
        }
    }

    void run(Runnable tell) {
        get(null, () -> {
            tell.run();
            return null;
        });
    }
}
