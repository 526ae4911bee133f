package io.keyturn.client.internal.consume;

import io.keyturn.client.ConsumerOptions.Stage;

/** What the application does with turns, and who of it is told what went wrong. */
public interface Handlers {
    /** For one turn. */
    Handler of(Delivered turn);

    /** It concerns no turn. */
    void trouble(Throwable error, Stage stage);

    /** What the application does with one turn. */
    interface Handler {
        void handle() throws Exception;

        void trouble(Throwable error, Stage stage);
    }
}
