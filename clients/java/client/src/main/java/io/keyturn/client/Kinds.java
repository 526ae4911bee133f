package io.keyturn.client;

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
final class Kinds {
    static final Kind<EnQueueRequest, EnQueueResponse> ENQUEUE = new GivingKinds.EnQueue();
    static final Kind<DeQueueRequest, DeQueueResponse> DEQUEUE = new DeQueue();
    static final Kind<SubmitRequest, SubmitResponse> SUBMIT = new Submit();
    static final Kind<AcquireRequest, AcquireResponse> ACQUIRE = new GivingKinds.Acquire();
    static final Kind<AckRequest, AckResponse> ACK = new GivingKinds.Ack();
    static final Kind<NackRequest, NackResponse> NACK = new Nack();
    static final Kind<RenewRequest, RenewResponse> RENEW = new Renew();
    static final Kind<AwaitRequest, AwaitResponse> AWAIT = new Await();

    private Kinds() {}

    private static final class DeQueue extends Kind<DeQueueRequest, DeQueueResponse> {
        DeQueue() {
            super(CoordinatorServiceGrpc.getDeQueueMethod(), true);
        }

        @Override
        void put(DeQueueRequest request, Command.Builder command) {
            command.setDequeue(request);
        }

        @Override
        DeQueueResponse read(DeQueueRequest request, Reply reply) {
            return reply.hasDequeue() ? reply.getDequeue() : null;
        }

        @Override
        TurnName settles(DeQueueRequest request) {
            return request.hasToken() ? new TurnName(request.getQueue(), request.getToken()) : null;
        }

        @Override
        void book(DeQueueRequest request, DeQueueResponse answer, Books books, boolean abandoned, boolean leave) {
            books.settled(request.getQueue(), request.getKey(), request.getToken(), request.getTicket());
        }
    }

    private static final class Submit extends Kind<SubmitRequest, SubmitResponse> {
        Submit() {
            super(CoordinatorServiceGrpc.getSubmitMethod(), false);
        }

        @Override
        void put(SubmitRequest request, Command.Builder command) {
            command.setSubmit(request);
        }

        @Override
        SubmitResponse read(SubmitRequest request, Reply reply) {
            return reply.hasSubmit() ? reply.getSubmit() : null;
        }

        @Override
        long wait(SubmitRequest request) {
            return Clock.nanos(request.getWaitForRoom());
        }

        /** Items without an id get one: sent again after a lost answer, they would be others. */
        @Override
        SubmitRequest named(SubmitRequest request, Supplier<String> newId) {
            if (request.getItemsList().stream().noneMatch(item -> item.getItemId().isEmpty())) return request;
            SubmitRequest.Builder named = request.toBuilder();
            for (NewItem.Builder item : named.getItemsBuilderList()) {
                if (item.getItemId().isEmpty()) item.setItemId(newId.get());
            }
            return named.build();
        }
    }

    private static final class Nack extends Kind<NackRequest, NackResponse> {
        Nack() {
            super(CoordinatorServiceGrpc.getNackMethod(), true);
        }

        @Override
        void put(NackRequest request, Command.Builder command) {
            command.setNack(request);
        }

        @Override
        NackResponse read(NackRequest request, Reply reply) {
            return reply.hasNack() ? reply.getNack() : null;
        }

        @Override
        TurnName settles(NackRequest request) {
            return new TurnName(request.getQueue(), request.getToken());
        }

        @Override
        void book(NackRequest request, NackResponse answer, Books books, boolean abandoned, boolean leave) {
            books.settled(request.getQueue(), request.getKey(), request.getToken(), "");
        }
    }

    private static final class Renew extends Kind<RenewRequest, RenewResponse> {
        Renew() {
            super(CoordinatorServiceGrpc.getRenewMethod(), true);
        }

        @Override
        void put(RenewRequest request, Command.Builder command) {
            command.setRenew(request);
        }

        @Override
        RenewResponse read(RenewRequest request, Reply reply) {
            return reply.hasRenew() ? reply.getRenew() : null;
        }

        @Override
        void book(RenewRequest request, RenewResponse answer, Books books, boolean abandoned, boolean leave) {
            int told = Math.min(request.getTurnsCount(), answer.getResultsCount());
            for (int at = 0; at < told; at++) {
                RenewResult result = answer.getResults(at);
                if (result.getAlive()) continue;
                TurnLoss loss = TurnLoss.of(result.getCause());
                TurnName turn = new TurnName(request.getTurns(at).getQueue(), request.getTurns(at).getToken());
                books.lost(turn, loss == null ? TurnLoss.UNKNOWN : loss);
            }
        }
    }

    private static final class Await extends Kind<AwaitRequest, AwaitResponse> {
        Await() {
            super(CoordinatorServiceGrpc.getAwaitMethod(), false);
        }

        @Override
        void put(AwaitRequest request, Command.Builder command) {
            command.setAwaitItem(request);
        }

        @Override
        AwaitResponse read(AwaitRequest request, Reply reply) {
            return reply.hasAwaitItem() ? reply.getAwaitItem() : null;
        }

        @Override
        long wait(AwaitRequest request) {
            return Clock.nanos(request.getWait());
        }
    }
}
