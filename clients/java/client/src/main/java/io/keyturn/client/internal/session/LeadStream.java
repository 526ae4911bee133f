package io.keyturn.client.internal.session;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.v1.LeadRequest;
import io.keyturn.v1.LeadResponse;
import io.keyturn.v1.LeaderServiceGrpc;
import java.util.concurrent.ScheduledFuture;

/** One stream of candidacies. Its handlers run in the executor of the channel, which is the loop. */
public final class LeadStream {
    private static final int AHEAD = 16;
    /** How long the sidecar may take to end a stream on which nobody stands any more. */
    private static final long FAREWELL = 1_000 * Clock.MS;

    /** Told in the loop. */
    public interface Handlers {
        void message(LeadStream of, LeadResponse message);

        /** Nothing follows. */
        void ended(LeadStream of, KeyturnException error);
    }

    private final Connection connection;
    private final Handlers handlers;
    private final ClientCall<LeadRequest, LeadResponse> call;
    /** Null: it goes on. */
    private ScheduledFuture<?> ending;

    public LeadStream(Connection connection, Handlers handlers) {
        this.connection = connection;
        this.handlers = handlers;
        call = connection.channel().newCall(LeaderServiceGrpc.getLeadMethod(), CallOptions.DEFAULT);
        call.start(new Listener(), new Metadata());
        call.request(AHEAD);
    }

    public void write(LeadRequest message) {
        call.sendMessage(message);
    }

    /** Nothing more will be sent; the sidecar ends it, or it is ended. */
    public void end() {
        call.halfClose();
        ending = connection.loop().after(FAREWELL, () -> call.cancel("nobody stands any more", null));
    }

    private final class Listener extends ClientCall.Listener<LeadResponse> {
        @Override
        public void onMessage(LeadResponse message) {
            call.request(1);
            connection.stood();
            handlers.message(LeadStream.this, message);
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            if (ending != null) ending.cancel(false);
            if (status.isOk()) ended(Failures.of("the sidecar ended the stream", Status.Code.UNAVAILABLE));
            else connection.whenKnown(status, trailers, () -> ended(connection.errorOf(status, trailers)));
        }

        private void ended(KeyturnException error) {
            connection.forgetFailure(() -> handlers.ended(LeadStream.this, error));
        }
    }
}
