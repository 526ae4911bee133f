package io.keyturn.client.internal.tracing;

import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Tracing;
import io.keyturn.client.internal.words.TracingSettings;
import java.lang.System.Logger;

/** The API of OpenTelemetry is optional: who does not have it notices nothing. */
public final class FindTracing {
    private FindTracing() {}

    /** @throws io.keyturn.client.KeyturnException INVALID_ARGUMENT when tracing was asked for and cannot be had */
    public static Tracing of(TracingSettings settings, Logger logger) {
        return of(settings, logger, FindTracing.class.getClassLoader());
    }

    static Tracing of(TracingSettings settings, Logger logger, ClassLoader loader) {
        if (settings.isOff()) return Tracing.NONE;
        if (isThere(loader)) return new OpenTelemetryTracing(settings, logger);
        if (!settings.isWanted()) return Tracing.NONE;
        throw Failures.wrong("tracing: io.opentelemetry:opentelemetry-api, 1.57 or newer, is not on the class path; needed is that, "
                + "or no tracing");
    }

    private static boolean isThere(ClassLoader loader) {
        try {
            // Asked for an OpenTelemetry before there is one, an older API would refuse the one that comes later.
            Class.forName("io.opentelemetry.api.GlobalOpenTelemetry", false, loader).getMethod("isSet");
            return true;
        } catch (ClassNotFoundException | NoSuchMethodException | LinkageError missing) {
            return false;
        }
    }
}
