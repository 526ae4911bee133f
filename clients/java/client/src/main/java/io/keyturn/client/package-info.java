/**
 * The client of Keyturn, a sidecar that gives every key its turn: one worker per key at a time, in order, without doing the
 * same work twice.
 *
 * <p>{@link io.keyturn.client.Keyturn} is where to begin. Everything that it gives is safe for use by many threads, unless its
 * own page says otherwise. The messages of the raw calls are those of the proto, in {@code io.keyturn.v1}.
 *
 * <p>What is not the application's business is below {@code io.keyturn.client.internal}, in rooms that know those below them only:
 * {@code words}, then {@code session}, then {@code consume} and {@code produce}. It changes without notice.
 */
package io.keyturn.client;
