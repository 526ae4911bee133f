package io.keyturn.client.internal.session;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.MethodDescriptor;
import io.keyturn.client.internal.words.RawTexts;
import java.util.concurrent.TimeUnit;

/** A person's call ends, even if nobody says when. */
public final class AdminDeadline implements ClientInterceptor {
    private static final long SECONDS = 10;

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        boolean isStream = method.getType() == MethodDescriptor.MethodType.SERVER_STREAMING;
        boolean isBounded = isStream || options.getDeadline() != null;
        CallOptions bounded = isBounded ? options : options.withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
        return new ForwardingClientCall.SimpleForwardingClientCall<>(next.newCall(method, bounded)) {
            @Override
            public void sendMessage(Q message) {
                super.sendMessage(RawTexts.checked(message));
            }
        };
    }
}
