/**
 * How calls reach the sidecar and turns are kept alive: the connection and its threads, the stream of a session with its open
 * commands, or unary calls; renewals, liveness, and what tells that a turn is lost.
 *
 * <p>Not for applications: it changes without notice.
 */
package io.keyturn.client.internal.session;
