package io.keyturn.client.internal.words;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Settings that are wrong are told at once, with their name, their value, and what is allowed. */
public final class Checks {
    public static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);
    public static final Duration DAY = Duration.ofDays(1);

    private Checks() {}

    public static Duration within(String name, Duration value, Duration least, Duration most) {
        if (value != null && value.compareTo(least) >= 0 && value.compareTo(most) <= 0) return value;
        String allowed = most.equals(FOREVER) ? least + " or more" : least + " to " + most;
        throw Failures.wrong(name + " is " + value + "; allowed is a duration of " + allowed);
    }

    public static long within(String name, long value, long least, long most) {
        if (value >= least && value <= most) return value;
        throw Failures.wrong(name + " is " + value + "; allowed is a whole number from " + least + " to " + most);
    }

    public static String text(String name, String value) {
        if (value != null && !value.isEmpty()) return unicode(name, value);
        throw Failures.wrong(name + " is " + (value == null ? "null" : "empty") + "; needed is a text that is not empty");
    }

    public static String id(String name, String value) {
        int bytes = text(name, value).getBytes(StandardCharsets.UTF_8).length;
        if (bytes <= 256) return value;
        throw Failures.wrong(name + " has " + bytes + " bytes; allowed are 1 to 256");
    }

    /** Half of a surrogate pair would be replaced on the way, and different keys would become equal. */
    public static String unicode(String name, String value) {
        for (int at = 0; at < needed(name, value).length(); at++) {
            if (!Character.isSurrogate(value.charAt(at))) continue;
            boolean isPair = at + 1 < value.length() && Character.isSurrogatePair(value.charAt(at), value.charAt(at + 1));
            if (!isPair) throw Failures.wrong(name + " has half of a surrogate pair at " + at + "; allowed is text of Unicode");
            at++;
        }
        return value;
    }

    public static <T> T needed(String name, T value) {
        if (value != null) return value;
        throw Failures.wrong(name + " is null; it is needed");
    }
}
