/**
 * The words of the contract: each call with what its answer means for turns, limits, settings, errors, time. No thread, no
 * connection, nothing that changes.
 *
 * <p>Not for applications: it changes without notice.
 */
package io.keyturn.client.internal.words;
