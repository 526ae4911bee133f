/**
 * Spans of OpenTelemetry, where its API is on the class path. What is written into the headers of items, and which spans there are,
 * is the same in the clients of all languages: {@code docs/TRACING.md}.
 *
 * <p>Not for applications: it changes without notice.
 */
package io.keyturn.client.internal.tracing;
