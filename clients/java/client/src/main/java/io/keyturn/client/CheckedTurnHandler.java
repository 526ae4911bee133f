package io.keyturn.client;

/**
 * What is done under a turn, and throws checked exceptions.
 *
 * @param <T> what it returns
 * @param <X> what it may throw
 */
@FunctionalInterface
public interface CheckedTurnHandler<T, X extends Exception> {
    /**
     * Does the work. When the turn is lost its thread is interrupted: stop then.
     *
     * @param turn its token is for what the work writes to
     * @return the outcome's value
     * @throws X is thrown on, after the turn was given back
     */
    T handle(ScopedTurn turn) throws X;
}
