/**
 * Careers of leaders: candidacies on one stream, and the worker that is inaugurated, executes and hands over.
 *
 * <p>Not for applications: it changes without notice.
 */
package io.keyturn.client.internal.lead;
