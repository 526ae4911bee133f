/**
 * Turns in the hands of the application: callers that wait for one and hold it, consumers that take items and have them handled;
 * both give each turn back exactly once.
 *
 * <p>Not for applications: it changes without notice.
 */
package io.keyturn.client.internal.consume;
