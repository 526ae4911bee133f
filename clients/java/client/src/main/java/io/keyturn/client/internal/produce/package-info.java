/**
 * How items get to the sidecar, and what they came to: one Submit, a producer that batches, a spool on disk for the time in which
 * nobody answers.
 *
 * <p>Not for applications: it changes without notice.
 */
package io.keyturn.client.internal.produce;
