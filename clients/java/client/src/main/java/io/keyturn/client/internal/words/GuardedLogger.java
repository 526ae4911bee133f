package io.keyturn.client.internal.words;

import java.util.ResourceBundle;
import java.util.concurrent.atomic.AtomicBoolean;

/** The logger of the application. Whatever it throws ends nothing, and is a warning of the system's logger, once. */
final class GuardedLogger implements System.Logger {
    private final System.Logger logger;
    private final AtomicBoolean isTold = new AtomicBoolean();

    private GuardedLogger(System.Logger logger) {
        this.logger = logger;
    }

    static System.Logger of(System.Logger logger) {
        return logger instanceof GuardedLogger ? logger : new GuardedLogger(logger);
    }

    @Override
    public String getName() {
        return "io.keyturn.client";
    }

    @Override
    public boolean isLoggable(Level level) {
        try {
            return logger.isLoggable(level);
        } catch (Throwable thrown) {
            tell(thrown);
            return false;
        }
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String message, Throwable error) {
        try {
            logger.log(level, bundle, message, error);
        } catch (Throwable thrown) {
            tell(thrown);
        }
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
        try {
            logger.log(level, bundle, format, parameters);
        } catch (Throwable thrown) {
            tell(thrown);
        }
    }

    private void tell(Throwable thrown) {
        if (isTold.getAndSet(true)) return;
        try {
            System.getLogger(getName()).log(Level.WARNING, "the logger of a client threw; logged once", thrown);
        } catch (Throwable nobodyLogs) {
            // There is no other place left.
            return;
        }
    }
}
