package io.keyturn.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.ByteString;
import io.keyturn.client.Protos;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** What stands in a request, with the type that it must have. */
record Fields(JsonObject json) {
    static Fields of(JsonElement value, String name) {
        if (value != null && value.isJsonObject()) return new Fields(value.getAsJsonObject());
        throw new WrongRequest(name + " is no object");
    }

    boolean has(String name) {
        return json.has(name);
    }

    JsonElement get(String name) {
        return json.get(name);
    }

    Fields object(String name) {
        return of(json.get(name), name);
    }

    List<JsonElement> list(String name) {
        if (!(json.get(name) instanceof JsonArray array)) throw new WrongRequest(name + " is no list");
        return array.asList();
    }

    List<String> texts(String name) {
        List<String> texts = new ArrayList<>();
        for (JsonElement element : list(name)) texts.add(element.getAsString());
        return texts;
    }

    String text(String name) {
        return optionalText(name).orElseThrow(() -> new WrongRequest(name + " is missing"));
    }

    Optional<String> optionalText(String name) {
        return primitive(name, JsonPrimitive::isString, "text").map(JsonPrimitive::getAsString);
    }

    long number(String name) {
        return optionalNumber(name).orElseThrow(() -> new WrongRequest(name + " is missing"));
    }

    Optional<Long> optionalNumber(String name) {
        return primitive(name, JsonPrimitive::isNumber, "number").map(JsonPrimitive::getAsLong);
    }

    Optional<Integer> optionalCount(String name) {
        return optionalNumber(name).map(Math::toIntExact);
    }

    boolean flag(String name) {
        return primitive(name, JsonPrimitive::isBoolean, "true or false")
                .map(JsonPrimitive::getAsBoolean)
                .orElse(false);
    }

    /** From `…_ms`. */
    Optional<Duration> optionalDuration(String name) {
        return optionalNumber(name).map(Duration::ofMillis);
    }

    void duration(String name, Consumer<com.google.protobuf.Duration> set) {
        optionalDuration(name).map(Protos::duration).ifPresent(set);
    }

    /** A text, or {"base64": …}. */
    Optional<byte[]> optionalBytes(String name) {
        JsonElement value = json.get(name);
        if (value == null) return Optional.empty();
        if (value.isJsonPrimitive()) return Optional.of(value.getAsString().getBytes(StandardCharsets.UTF_8));
        return Optional.of(Base64.getDecoder().decode(of(value, name).text("base64")));
    }

    void bytes(String name, Consumer<ByteString> set) {
        optionalBytes(name).map(ByteString::copyFrom).ifPresent(set);
    }

    /** Text where the bytes are UTF-8. */
    static JsonElement shown(byte[] bytes) {
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            return new JsonPrimitive(text);
        } catch (CharacterCodingException binary) {
            JsonObject shown = new JsonObject();
            shown.addProperty("base64", Base64.getEncoder().encodeToString(bytes));
            return shown;
        }
    }

    private Optional<JsonPrimitive> primitive(
            String name, java.util.function.Predicate<JsonPrimitive> is, String what) {
        JsonElement value = json.get(name);
        if (value == null) return Optional.empty();
        if (value instanceof JsonPrimitive primitive && is.test(primitive)) return Optional.of(primitive);
        throw new WrongRequest(name + " is no " + what);
    }
}
