package io.keyturn.client.internal.words;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.keyturn.client.KeyturnException;
import java.util.List;
import java.util.Map;

/** The texts in the messages of raw calls, which nobody has looked at. */
public final class RawTexts {
    private RawTexts() {}

    /**
     * Half of a surrogate pair is no text: on the way it would become another one, and two different keys would be equal.
     *
     * @throws KeyturnException INVALID_ARGUMENT, naming the field
     */
    public static <Q> Q checked(Q request) {
        if (request instanceof Message message) check("", message);
        return request;
    }

    private static void check(String path, Message message) {
        for (Map.Entry<FieldDescriptor, Object> entry : message.getAllFields().entrySet()) {
            FieldDescriptor field = entry.getKey();
            String name = path.isEmpty() ? field.getName() : path + "." + field.getName();
            if (!field.isRepeated()) {
                value(name, entry.getValue());
                continue;
            }
            List<?> values = (List<?>) entry.getValue();
            for (int at = 0; at < values.size(); at++) value(field.isMapField() ? name : name + "[" + at + "]", values.get(at));
        }
    }

    private static void value(String name, Object value) {
        if (value instanceof String text) Checks.unicode(name, text);
        else if (value instanceof Message inner) check(name, inner);
    }
}
