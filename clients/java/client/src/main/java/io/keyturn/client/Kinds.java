package io.keyturn.client;

import io.keyturn.v1.AckRequest;
import io.keyturn.v1.AckResponse;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.AcquireResponse;
import io.keyturn.v1.AwaitRequest;
import io.keyturn.v1.AwaitResponse;
import io.keyturn.v1.Command;
import io.keyturn.v1.CoordinatorServiceGrpc;
import io.keyturn.v1.Decision;
import io.keyturn.v1.Delivery;
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
import io.keyturn.v1.Turn;
import java.util.List;
import java.util.function.Supplier;

/** The eight calls of a worker. */
final class Kinds {
    static final Kind<EnQueueRequest, EnQueueResponse> ENQUEUE = new EnQueue();
    static final Kind<DeQueueRequest, DeQueueResponse> DEQUEUE = new DeQueue();
    static final Kind<SubmitRequest, SubmitResponse> SUBMIT = new Submit();
    static final Kind<AcquireRequest, AcquireResponse> ACQUIRE = new Acquire();
    static final Kind<AckRequest, AckResponse> ACK = new Ack();
    static final Kind<NackRequest, NackResponse> NACK = new Nack();
    static final Kind<RenewRequest, RenewResponse> RENEW = new Renew();
    static final Kind<AwaitRequest, AwaitResponse> AWAIT = new Await();

    private Kinds() {}

    private static final class EnQueue extends Kind<EnQueueRequest, EnQueueResponse> {
        EnQueue() {
            super(CoordinatorServiceGrpc.getEnQueueMethod(), false);
        }

        @Override
        void put(EnQueueRequest request, Command.Builder command) {
            command.setEnqueue(request);
        }

        @Override
        EnQueueResponse read(EnQueueRequest request, Reply reply) {
            if (!reply.hasEnqueue()) return null;
            EnQueueResponse answer = reply.getEnqueue();
            // On a session the turn leaves out what the command said.
            if (!answer.hasTurn()) return answer;
            Turn turn = fullTurn(answer.getTurn(), request.getQueue(), request.getKey());
            return answer.toBuilder().setTurn(turn).build();
        }

        @Override
        long wait(EnQueueRequest request) {
            return request.hasWait() ? Clock.nanos(request.getWait()) : LONGEST_WAIT;
        }

        @Override
        EnQueueRequest identified(EnQueueRequest request, String consumerId) {
            return request.getConsumerId().isEmpty() ? request.toBuilder().setConsumerId(consumerId).build() : request;
        }

        @Override
        TicketClaim claim(EnQueueRequest request) {
            if (request.getTicket().isEmpty()) return null;
            return new TicketClaim(List.of(request.getQueue()), request.getKey());
        }

        @Override
        void book(EnQueueRequest request, EnQueueResponse answer, Books books, boolean abandoned, boolean leave) {
            if (answer.getDecision() != Decision.DECISION_ACCEPT) return;
            bookTurn(answer.getTurn(), !request.hasLease(), request.getTicket(), books, abandoned, leave);
        }

        @Override
        List<Turn> turns(EnQueueResponse answer) {
            return answer.hasTurn() ? List.of(answer.getTurn()) : List.of();
        }
    }

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

    private static final class Acquire extends Kind<AcquireRequest, AcquireResponse> {
        Acquire() {
            super(CoordinatorServiceGrpc.getAcquireMethod(), false);
        }

        @Override
        void put(AcquireRequest request, Command.Builder command) {
            command.setAcquire(request);
        }

        @Override
        AcquireResponse read(AcquireRequest request, Reply reply) {
            return reply.hasAcquire() ? filled(request, reply.getAcquire()) : null;
        }

        @Override
        long wait(AcquireRequest request) {
            return Clock.nanos(request.getWait());
        }

        @Override
        AcquireRequest identified(AcquireRequest request, String consumerId) {
            return request.getConsumerId().isEmpty() ? request.toBuilder().setConsumerId(consumerId).build() : request;
        }

        @Override
        TicketClaim claim(AcquireRequest request) {
            return claimOf(request);
        }

        @Override
        void book(AcquireRequest request, AcquireResponse answer, Books books, boolean abandoned, boolean leave) {
            bookDeliveries(request, answer, books, abandoned, leave);
        }

        @Override
        List<Turn> turns(AcquireResponse answer) {
            return turnsOf(answer);
        }
    }

    private static final class Ack extends Kind<AckRequest, AckResponse> {
        Ack() {
            super(CoordinatorServiceGrpc.getAckMethod(), true);
        }

        @Override
        void put(AckRequest request, Command.Builder command) {
            command.setAck(request);
        }

        @Override
        AckResponse read(AckRequest request, Reply reply) {
            if (!reply.hasAck()) return null;
            AckResponse answer = reply.getAck();
            if (!answer.hasNext()) return answer;
            return answer.toBuilder().setNext(filled(request.getNext(), answer.getNext())).build();
        }

        @Override
        long wait(AckRequest request) {
            return Clock.nanos(request.getNext().getWait());
        }

        @Override
        AckRequest identified(AckRequest request, String consumerId) {
            if (!request.hasNext() || !request.getNext().getConsumerId().isEmpty()) return request;
            return request.toBuilder()
                    .setNext(request.getNext().toBuilder().setConsumerId(consumerId))
                    .build();
        }

        @Override
        TicketClaim claim(AckRequest request) {
            return request.hasNext() ? claimOf(request.getNext()) : null;
        }

        @Override
        TurnName settles(AckRequest request) {
            return new TurnName(request.getQueue(), request.getToken());
        }

        @Override
        void book(AckRequest request, AckResponse answer, Books books, boolean abandoned, boolean leave) {
            books.settled(request.getQueue(), request.getKey(), request.getToken(), "");
            if (request.hasNext()) bookDeliveries(request.getNext(), answer.getNext(), books, abandoned, leave);
        }

        @Override
        List<Turn> turns(AckResponse answer) {
            return turnsOf(answer.getNext());
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

    private static Turn fullTurn(Turn turn, String queue, String key) {
        return turn.getQueue().isEmpty() ? turn.toBuilder().setQueue(queue).setKey(key).build() : turn;
    }

    /** With a key, the turn leaves out what the command said. */
    private static AcquireResponse filled(AcquireRequest request, AcquireResponse answer) {
        if (request.getKey().isEmpty() || answer.getDeliveriesCount() == 0) return answer;
        AcquireResponse.Builder filled = answer.toBuilder();
        for (Delivery.Builder delivery : filled.getDeliveriesBuilderList()) {
            delivery.setTurn(fullTurn(delivery.getTurn(), request.getQueues(0), request.getKey()));
        }
        return filled.build();
    }

    private static TicketClaim claimOf(AcquireRequest request) {
        if (request.getTicket().isEmpty()) return null;
        return new TicketClaim(request.getQueuesList(), request.getKey());
    }

    private static void bookDeliveries(
            AcquireRequest request, AcquireResponse answer, Books books, boolean abandoned, boolean leave) {
        for (Delivery delivery : answer.getDeliveriesList()) {
            Kind.bookTurn(delivery.getTurn(), !request.hasLease(), request.getTicket(), books, abandoned, leave);
        }
    }

    private static List<Turn> turnsOf(AcquireResponse answer) {
        return answer.getDeliveriesList().stream().map(Delivery::getTurn).toList();
    }
}
