package io.keyturn.client.internal.words;

import io.keyturn.v1.AckRequest;
import io.keyturn.v1.AckResponse;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.AcquireResponse;
import io.keyturn.v1.Command;
import io.keyturn.v1.CoordinatorServiceGrpc;
import io.keyturn.v1.Decision;
import io.keyturn.v1.Delivery;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import io.keyturn.v1.Reply;
import io.keyturn.v1.Turn;
import java.util.List;

/** The calls that give turns. */
final class GivingKinds {
    private GivingKinds() {}

    static final class EnQueue extends Kind<EnQueueRequest, EnQueueResponse> {
        EnQueue() {
            super(
                    CoordinatorServiceGrpc.getEnQueueMethod(),
                    false,
                    Command.Builder::setEnqueue,
                    Reply::hasEnqueue,
                    Reply::getEnqueue);
        }

        @Override
        EnQueueResponse filled(EnQueueRequest request, EnQueueResponse answer) {
            if (!answer.hasTurn()) return answer;
            Turn turn = fullTurn(answer.getTurn(), request.getQueue(), request.getKey());
            return answer.toBuilder().setTurn(turn).build();
        }

        @Override
        public long wait(EnQueueRequest request) {
            return request.hasWait() ? Clock.nanos(request.getWait()) : Clock.LONGEST_CALL;
        }

        @Override
        public EnQueueRequest identified(EnQueueRequest request, String consumerId) {
            return request.getConsumerId().isEmpty() ? request.toBuilder().setConsumerId(consumerId).build() : request;
        }

        @Override
        public TicketClaim claim(EnQueueRequest request) {
            if (request.getTicket().isEmpty()) return null;
            return new TicketClaim(List.of(request.getQueue()), request.getKey());
        }

        @Override
        public boolean isLeased(EnQueueRequest request) {
            return request.hasLease();
        }

        @Override
        public void book(EnQueueRequest request, EnQueueResponse answer, Books books, boolean abandoned, boolean leave) {
            if (answer.getDecision() != Decision.DECISION_ACCEPT) return;
            bookTurn(answer.getTurn(), !request.hasLease(), request.getTicket(), books, abandoned, leave);
        }

        @Override
        public List<Turn> turns(EnQueueResponse answer) {
            return answer.hasTurn() ? List.of(answer.getTurn()) : List.of();
        }
    }

    static final class Acquire extends Kind<AcquireRequest, AcquireResponse> {
        Acquire() {
            super(
                    CoordinatorServiceGrpc.getAcquireMethod(),
                    false,
                    Command.Builder::setAcquire,
                    Reply::hasAcquire,
                    Reply::getAcquire);
        }

        @Override
        AcquireResponse filled(AcquireRequest request, AcquireResponse answer) {
            return filledDeliveries(request, answer);
        }

        @Override
        public long wait(AcquireRequest request) {
            return Clock.nanos(request.getWait());
        }

        @Override
        public AcquireRequest identified(AcquireRequest request, String consumerId) {
            return request.getConsumerId().isEmpty() ? request.toBuilder().setConsumerId(consumerId).build() : request;
        }

        @Override
        public TicketClaim claim(AcquireRequest request) {
            return claimOf(request);
        }

        @Override
        public boolean isLeased(AcquireRequest request) {
            return request.hasLease();
        }

        @Override
        public void book(AcquireRequest request, AcquireResponse answer, Books books, boolean abandoned, boolean leave) {
            bookDeliveries(request, answer, books, abandoned, leave);
        }

        @Override
        public List<Turn> turns(AcquireResponse answer) {
            return turnsOf(answer);
        }
    }

    static final class Ack extends Kind<AckRequest, AckResponse> {
        Ack() {
            super(
                    CoordinatorServiceGrpc.getAckMethod(),
                    true,
                    Command.Builder::setAck,
                    Reply::hasAck,
                    Reply::getAck);
        }

        @Override
        AckResponse filled(AckRequest request, AckResponse answer) {
            if (!answer.hasNext()) return answer;
            return answer.toBuilder().setNext(filledDeliveries(request.getNext(), answer.getNext())).build();
        }

        @Override
        public long wait(AckRequest request) {
            return Clock.nanos(request.getNext().getWait());
        }

        @Override
        public AckRequest identified(AckRequest request, String consumerId) {
            if (!request.hasNext() || !request.getNext().getConsumerId().isEmpty()) return request;
            return request.toBuilder()
                    .setNext(request.getNext().toBuilder().setConsumerId(consumerId))
                    .build();
        }

        @Override
        public TicketClaim claim(AckRequest request) {
            return request.hasNext() ? claimOf(request.getNext()) : null;
        }

        @Override
        public boolean isLeased(AckRequest request) {
            return request.getNext().hasLease();
        }

        @Override
        public TurnName settles(AckRequest request) {
            return new TurnName(request.getQueue(), request.getToken());
        }

        @Override
        public void book(AckRequest request, AckResponse answer, Books books, boolean abandoned, boolean leave) {
            books.settled(request.getQueue(), request.getKey(), request.getToken(), "");
            if (request.hasNext()) bookDeliveries(request.getNext(), answer.getNext(), books, abandoned, leave);
        }

        @Override
        public List<Turn> turns(AckResponse answer) {
            return turnsOf(answer.getNext());
        }
    }

    private static Turn fullTurn(Turn turn, String queue, String key) {
        return turn.getQueue().isEmpty() ? turn.toBuilder().setQueue(queue).setKey(key).build() : turn;
    }

    private static AcquireResponse filledDeliveries(AcquireRequest request, AcquireResponse answer) {
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
            bookTurn(delivery.getTurn(), !request.hasLease(), request.getTicket(), books, abandoned, leave);
        }
    }

    private static void bookTurn(Turn turn, boolean tied, String ticket, Books books, boolean abandoned, boolean leave) {
        if (abandoned) books.undelivered(turn, leave ? "" : ticket);
        else books.given(turn, tied, ticket);
    }

    private static List<Turn> turnsOf(AcquireResponse answer) {
        return answer.getDeliveriesList().stream().map(Delivery::getTurn).toList();
    }
}
