package io.keyturn.client.internal.tracing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.Tracing;
import io.keyturn.client.internal.words.TracingSettings;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.TraceStateBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** S451: what is written into headers, and read of them, is the same in all languages: one file of cases for their tests. */
class TraceParentTest {
    private static final JsonObject CASES = cases();

    private static JsonObject cases() {
        try {
            return JsonParser.parseString(Files.readString(Path.of("../../conformance/tracing.json"))).getAsJsonObject();
        } catch (IOException missing) {
            throw new IllegalStateException(missing);
        }
    }

    private static Stream<JsonObject> all(String name) {
        return StreamSupport.stream(CASES.getAsJsonArray(name).spliterator(), false).map(JsonElement::getAsJsonObject);
    }

    private static Map<String, String> texts(JsonElement from) {
        Map<String, String> made = new TreeMap<>();
        from.getAsJsonObject().entrySet().forEach(one -> made.put(one.getKey(), one.getValue().getAsString()));
        return made;
    }

    private static Map<String, String> headers(JsonObject one) {
        Map<String, String> made = new HashMap<>(texts(one.get("headers")));
        if (!one.has("padding")) return made;
        JsonObject padding = one.getAsJsonObject("padding");
        int headers = padding.has("headers") ? padding.get("headers").getAsInt() : 0;
        for (int at = 0; at < headers; at++) made.put("h" + at, "");
        if (padding.has("bytes")) made.put("long", "x".repeat(padding.get("bytes").getAsInt() - "long".length()));
        return made;
    }

    private static SpanContext context(JsonObject one) {
        JsonObject span = CASES.getAsJsonObject("span");
        TraceStateBuilder state = TraceState.builder();
        // What is put comes first.
        String[] members = one.get("state").getAsString().split(",");
        for (int at = members.length - 1; at >= 0; at--) {
            String[] parts = members[at].split("=");
            if (parts.length == 2) state.put(parts[0], parts[1]);
        }
        TraceFlags flags = TraceFlags.fromByte(one.get("flags").getAsByte());
        return SpanContext.createFromRemoteParent(
                span.get("traceId").getAsString(), span.get("spanId").getAsString(), flags, state.build());
    }

    @TestFactory
    Stream<DynamicTest> whatIsWritten() {
        return all("stamped").map(one -> DynamicTest.dynamicTest(one.get("what").getAsString(), () -> {
            Map<String, String> expected = new TreeMap<>(headers(one));
            if (one.has("drops")) one.getAsJsonArray("drops").forEach(name -> expected.remove(name.getAsString()));
            expected.putAll(texts(one.get("adds")));
            assertEquals(expected, new TreeMap<>(TraceParent.with(headers(one), context(one))));
        }));
    }

    @TestFactory
    Stream<DynamicTest> whatIsRead() {
        return all("read").map(one -> DynamicTest.dynamicTest(one.get("what").getAsString(), () -> {
            SpanContext read = TraceParent.read(headers(one));
            assertNotNull(read);
            assertEquals(context(one), read);
            assertTrue(read.isRemote());
        }));
    }

    @TestFactory
    Stream<DynamicTest> whatIsNotRead() {
        return StreamSupport.stream(CASES.getAsJsonArray("notRead").spliterator(), false)
                .map(wrong -> DynamicTest.dynamicTest("not read: " + wrong, () ->
                        assertNull(TraceParent.read(Map.of("traceparent", wrong.getAsString())))));
    }

    @Test
    void withoutTheApiNobodyTracesAndWhoAsksForItIsTold() {
        System.Logger logger = System.getLogger("test");
        ClassLoader nothing = ClassLoader.getPlatformClassLoader();
        assertSame(Tracing.NONE, FindTracing.of(TracingSettings.DEFAULT, logger, nothing));
        TracingSettings wanted = new TracingSettings(false, true, false, false, null);
        KeyturnException error = assertThrows(KeyturnException.class, () -> FindTracing.of(wanted, logger, nothing));
        assertTrue(error.getMessage().contains("opentelemetry-api, 1.57 or newer, is not on the class path"), error.getMessage());
        assertSame(Tracing.NONE, FindTracing.of(TracingSettings.OFF, logger));
        assertInstanceOf(OpenTelemetryTracing.class, FindTracing.of(TracingSettings.DEFAULT, logger));
        assertFalse(FindTracing.of(wanted, logger) == Tracing.NONE);
    }
}
