package io.keyturn.client.internal.session;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.v1.CoordinatorServiceGrpc;
import io.keyturn.v1.SessionRequest;
import io.keyturn.v1.SessionResponse;

/** One stream of a session. Its handlers run in the executor of the channel, which is the loop. */
final class SessionStream {
    /** Messages that may be on their way here: while one is worked on the next ones come. */
    private static final int AHEAD = 16;

    interface Handlers {
        void message(SessionStream of, SessionResponse message);

        /** It takes messages again. */
        void ready(SessionStream of);

        /** {@code error}: why; {@code UNAVAILABLE} too when the other side ended it in peace. Nothing follows. */
        void ended(SessionStream of, KeyturnException error);
    }

    private final Connection connection;
    private final ClientCall<SessionRequest, SessionResponse> call;
    private Handlers handlers;
    private boolean isDestroyed;

    SessionStream(Connection connection, Handlers handlers) {
        this.connection = connection;
        this.handlers = handlers;
        call = connection.channel().newCall(CoordinatorServiceGrpc.getSessionMethod(), CallOptions.DEFAULT);
        call.start(new Listener(), new Metadata());
        call.request(AHEAD);
    }

    boolean isReady() {
        return call.isReady();
    }

    void write(SessionRequest message) {
        call.sendMessage(message);
    }

    /** Nothing more will be sent. The other side answers what it has and ends the stream. */
    void end() {
        call.halfClose();
    }

    /** Gone at once; the handlers hear nothing of it any more. */
    void destroy() {
        handlers = null;
        isDestroyed = true;
        call.cancel("the session gave it up", null);
    }

    private final class Listener extends ClientCall.Listener<SessionResponse> {
        @Override
        public void onMessage(SessionResponse message) {
            // Of a stream that was given up the network may be gone already.
            if (handlers == null) return;
            call.request(1);
            connection.stood();
            handlers.message(SessionStream.this, message);
        }

        @Override
        public void onReady() {
            if (handlers != null) handlers.ready(SessionStream.this);
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            Handlers told = handlers;
            handlers = null;
            if (told == null) return;
            if (status.isOk()) ended(told, Failures.of("the sidecar ended the stream", Status.Code.UNAVAILABLE));
            else connection.whenKnown(status, trailers, () -> ended(told, connection.errorOf(status, trailers)));
        }

        private void ended(Handlers told, KeyturnException error) {
            connection.forgetFailure(() -> {
                if (!isDestroyed) told.ended(SessionStream.this, error);
            });
        }
    }
}
