package io.keyturn.client;

import io.keyturn.client.ConsumerOptions.ErrorListener;
import io.keyturn.client.ConsumerOptions.Stage;
import io.keyturn.client.internal.consume.Delivered;
import io.keyturn.client.internal.consume.Handlers;

/** The application's handler and error listener, as a consumer calls them. */
record WorkHandlers(WorkHandler handler, ErrorListener onError) implements Handlers {
    @Override
    public Handler of(Delivered turn) {
        Work work = new Work(turn);
        return new Handler() {
            @Override
            public void handle() throws Exception {
                handler.handle(work);
            }

            @Override
            public void trouble(Throwable error, Stage stage) {
                onError.onError(error, stage, work);
            }
        };
    }

    @Override
    public void trouble(Throwable error, Stage stage) {
        onError.onError(error, stage, null);
    }
}
