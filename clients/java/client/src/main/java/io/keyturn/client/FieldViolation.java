package io.keyturn.client;

/**
 * A field that is wrong.
 *
 * @param field by its name in the proto, with indexes: {@code items[3].key}
 * @param description the value that was given, and what is allowed
 */
public record FieldViolation(String field, String description) {}
