package io.keyturn.client.internal.tracing;

import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.TraceStateBuilder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The headers of W3C Trace Context. Always this form, whatever propagators an application has for its own calls: workers in other
 * languages read it.
 */
final class TraceParent {
    private static final String PARENT = "traceparent";
    private static final String STATE = "tracestate";
    /** What the contract lets an item have; an item is never refused for what tracing adds. */
    private static final int MOST_HEADERS = 64;
    private static final int MOST_BYTES = 8_192;
    /** What a reader has to pass on, at least. */
    private static final int LONGEST_STATE = 512;

    private static final Pattern FORM = Pattern.compile("([\\da-f]{2})-([\\da-f]{32})-([\\da-f]{16})-([\\da-f]{2})(-.*)?");

    private TraceParent() {}

    /** The headers themselves when these cannot or need not have it. */
    static Map<String, String> with(Map<String, String> headers, SpanContext active) {
        int size = 0;
        for (Map.Entry<String, String> one : headers.entrySet()) {
            if (one.getKey().equalsIgnoreCase(PARENT)) return headers;
            size += bytes(one.getKey()) + bytes(one.getValue());
        }
        String value = "00-" + active.getTraceId() + "-" + active.getSpanId() + "-" + active.getTraceFlags().asHex();
        size += PARENT.length() + value.length();
        if (headers.size() + 1 > MOST_HEADERS || size > MOST_BYTES) return headers;
        Map<String, String> made = new HashMap<>(headers);
        made.put(PARENT, value);
        // One without its parent is of another trace.
        made.remove(STATE);
        String state = written(active.getTraceState());
        boolean fits = made.size() < MOST_HEADERS && size + STATE.length() + state.length() <= MOST_BYTES;
        if (!state.isEmpty() && state.length() <= LONGEST_STATE && fits) made.put(STATE, state);
        return made;
    }

    private static int bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    private static String written(TraceState state) {
        StringJoiner members = new StringJoiner(",");
        state.forEach((name, value) -> members.add(name + "=" + value));
        return members.toString();
    }

    /** Null when there is none, or none that is one. */
    static SpanContext read(Map<String, String> headers) {
        Matcher found = FORM.matcher(headers.getOrDefault(PARENT, ""));
        if (!found.matches()) return null;
        boolean isFirst = found.group(1).equals("00");
        // Later versions may add; of the first there is no more than this, and ff is none.
        if (found.group(1).equals("ff") || (isFirst && found.group(5) != null)) return null;
        TraceFlags flags = TraceFlags.fromHex(found.group(4), 0);
        TraceState state = stateOf(headers.getOrDefault(STATE, ""));
        SpanContext context = SpanContext.createFromRemoteParent(found.group(2), found.group(3), flags, state);
        return context.isValid() ? context : null;
    }

    /** What no member can be is left out. */
    private static TraceState stateOf(String text) {
        TraceStateBuilder state = TraceState.builder();
        String[] members = text.split(",");
        // What is put comes first.
        for (int at = members.length - 1; at >= 0; at--) {
            String[] parts = members[at].strip().split("=", 2);
            if (parts.length == 2) state.put(parts[0], parts[1]);
        }
        return state.build();
    }
}
