package io.keyturn.client;

import java.util.List;
import java.util.ResourceBundle;
import java.util.concurrent.CopyOnWriteArrayList;

/** A logger that keeps what is a warning or worse. */
final class LogLines implements System.Logger {
    final List<String> lines = new CopyOnWriteArrayList<>();

    @Override
    public String getName() {
        return "lines";
    }

    @Override
    public boolean isLoggable(Level level) {
        return level.compareTo(Level.WARNING) >= 0;
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
        if (isLoggable(level)) lines.add(level + " " + message);
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
        if (isLoggable(level)) lines.add(level + " " + format);
    }

    /** Waits for a line that has all of these. */
    String says(String... parts) {
        List<String> wanted = List.of(parts);
        try {
            Wait.until(() -> lines.stream().anyMatch(line -> wanted.stream().allMatch(line::contains)));
        } catch (AssertionError never) {
            throw new AssertionError("no line has " + wanted + ": " + lines, never);
        }
        return lines.stream().filter(line -> wanted.stream().allMatch(line::contains)).findFirst().orElseThrow();
    }
}
