package io.keyturn.client.internal.words;

import io.keyturn.v1.AckRequest;
import io.keyturn.v1.AckResponse;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.AcquireResponse;
import io.keyturn.v1.AwaitRequest;
import io.keyturn.v1.AwaitResponse;
import io.keyturn.v1.Command;
import io.keyturn.v1.CoordinatorServiceGrpc;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.DeQueueResponse;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.NackResponse;
import io.keyturn.v1.NewItem;
import io.keyturn.v1.RenewRequest;
import io.keyturn.v1.RenewResponse;
import io.keyturn.v1.RenewResult;
import io.keyturn.v1.Reply;
import io.keyturn.v1.SubmitRequest;
import io.keyturn.v1.SubmitResponse;
import java.util.function.Supplier;

/** The eight calls of a worker. */
public final class Kinds {
    public static final Kind<EnQueueRequest, EnQueueResponse> ENQUEUE = new GivingKinds.EnQueue();
    public static final Kind<AcquireRequest, AcquireResponse> ACQUIRE = new GivingKinds.Acquire();
    public static final Kind<AckRequest, AckResponse> ACK = new GivingKinds.Ack();

    public static final Kind<DeQueueRequest, DeQueueResponse> DEQUEUE =
            new Kind<>(
                    CoordinatorServiceGrpc.getDeQueueMethod(),
                    true,
                    Command.Builder::setDequeue,
                    Reply::hasDequeue,
                    Reply::getDequeue) {
                @Override
                public TurnName settles(DeQueueRequest request) {
                    return request.hasToken() ? new TurnName(request.getQueue(), request.getToken()) : null;
                }

                @Override
                public void book(DeQueueRequest request, DeQueueResponse answer, Books books, boolean abandoned, boolean leave) {
                    books.settled(request.getQueue(), request.getKey(), request.getToken(), request.getTicket());
                }
            };

    public static final Kind<SubmitRequest, SubmitResponse> SUBMIT =
            new Kind<>(
                    CoordinatorServiceGrpc.getSubmitMethod(),
                    false,
                    Command.Builder::setSubmit,
                    Reply::hasSubmit,
                    Reply::getSubmit) {
                @Override
                public long wait(SubmitRequest request) {
                    return Clock.nanos(request.getWaitForRoom());
                }

                /** Items without an id get one: sent again after a lost answer, they would be others. */
                @Override
                public SubmitRequest named(SubmitRequest request, Supplier<String> newId) {
                    if (request.getItemsList().stream().noneMatch(item -> item.getItemId().isEmpty())) return request;
                    SubmitRequest.Builder named = request.toBuilder();
                    for (NewItem.Builder item : named.getItemsBuilderList()) {
                        if (item.getItemId().isEmpty()) item.setItemId(newId.get());
                    }
                    return named.build();
                }
            };

    public static final Kind<NackRequest, NackResponse> NACK =
            new Kind<>(
                    CoordinatorServiceGrpc.getNackMethod(),
                    true,
                    Command.Builder::setNack,
                    Reply::hasNack,
                    Reply::getNack) {
                @Override
                public TurnName settles(NackRequest request) {
                    return new TurnName(request.getQueue(), request.getToken());
                }

                @Override
                public void book(NackRequest request, NackResponse answer, Books books, boolean abandoned, boolean leave) {
                    books.settled(request.getQueue(), request.getKey(), request.getToken(), "");
                }
            };

    public static final Kind<RenewRequest, RenewResponse> RENEW =
            new Kind<>(
                    CoordinatorServiceGrpc.getRenewMethod(),
                    true,
                    Command.Builder::setRenew,
                    Reply::hasRenew,
                    Reply::getRenew) {
                @Override
                public void book(RenewRequest request, RenewResponse answer, Books books, boolean abandoned, boolean leave) {
                    int told = Math.min(request.getTurnsCount(), answer.getResultsCount());
                    for (int at = 0; at < told; at++) {
                        RenewResult result = answer.getResults(at);
                        if (!result.getAlive()) books.lost(TurnName.of(request.getTurns(at)), Losses.of(result.getCause()));
                    }
                }
            };

    public static final Kind<AwaitRequest, AwaitResponse> AWAIT =
            new Kind<>(
                    CoordinatorServiceGrpc.getAwaitMethod(),
                    false,
                    Command.Builder::setAwaitItem,
                    Reply::hasAwaitItem,
                    Reply::getAwaitItem) {
                @Override
                public long wait(AwaitRequest request) {
                    return Clock.nanos(request.getWait());
                }
            };

    private Kinds() {}
}
