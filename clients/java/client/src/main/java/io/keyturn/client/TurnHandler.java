package io.keyturn.client;

/**
 * What is done under a turn. In Kotlin any lambda; in Java one that throws checked exceptions is a {@link CheckedTurnHandler}.
 *
 * @param <T> what it returns
 */
@FunctionalInterface
public interface TurnHandler<T> {
    /**
     * Does the work. When the turn is lost its thread is interrupted: stop then.
     *
     * @param turn its token is for what the work writes to
     * @return the outcome's value
     */
    T handle(ScopedTurn turn);
}
