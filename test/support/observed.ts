/** A coordinator with somebody at its door who writes into the ledger what goes in and what comes out. */
import type {
  AcquireRequest,
  Calls,
  Delivery,
  NewItem,
  Refusal,
  Reply,
  SubmitResult,
  Turn,
} from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { AskingCall } from './asking-call.js';
import type { Ledger } from './ledger.js';

/** @param session the one that turns given by these calls are tied to, unless they ask for a lease */
export function observed(
  calls: Calls,
  ledger: Ledger,
  clock: Clock,
  session: () => string | undefined = () => undefined,
): Calls {
  const granted = (turn: Turn, lease: number | undefined) =>
    ledger.granted(turn, clock.now(), lease === undefined ? session() : undefined);
  const deliveries = (list: readonly Delivery[], lease: number | undefined) => {
    for (const delivery of list) {
      if (granted(delivery.turn, lease)) ledger.delivered(delivery);
    }
  };
  const strayed = (list: readonly Pick<Delivery, 'turn'>[], lease: number | undefined) => {
    for (const { turn } of list) ledger.strayed(turn, clock.now(), lease === undefined ? session() : undefined);
  };
  const offered = (queue: string, items: readonly NewItem[]) => {
    // Of one id twice in a batch the first is the item.
    for (const id of new Set(items.map(({ itemId }) => itemId))) if (id !== undefined) ledger.offered(queue, id);
  };
  const accepted = (queue: string, result: SubmitResult | undefined) => {
    if (result?.decision === 'accept') ledger.accepted(queue, result.itemId);
  };

  return {
    enQueue: (request, reply) =>
      calls.enQueue(
        request,
        tapped(
          reply,
          (answer) => {
            if (answer.decision === 'accept') granted(answer.turn, request.lease);
          },
          undefined,
          (answer) => {
            if (answer.decision === 'accept') strayed([answer], request.lease);
          },
        ),
      ),

    deQueue(request, reply) {
      const { queue, key, holder } = request;
      const claim =
        'token' in holder
          ? ledger.claimEnd({ queue, key, token: holder.token }, 'DeQueue')
          : ledger.claimEndOf(queue, key, 'DeQueue by ticket');
      calls.deQueue(
        request,
        tapped(reply, undefined, () => claim !== undefined && ledger.refused(claim)),
      );
    },

    submit(request, reply) {
      const { queue, items } = request;
      let atOnce = true;
      offered(queue, items);
      const waiting = calls.submit(
        request,
        tapped(reply, ({ results }) => {
          if (!atOnce) offered(queue, items);
          for (const result of results) accepted(queue, result);
        }),
      );
      atOnce = false;
      return waiting;
    },

    acquire: (request: AcquireRequest, reply) =>
      calls.acquire(
        request,
        tapped(
          reply,
          (answer) => deliveries(answer.deliveries, request.lease),
          undefined,
          (answer) => strayed(answer.deliveries, request.lease),
        ),
      ),

    ack(request, reply) {
      const claim = ledger.claimEnd(request, 'Ack');
      for (const { queue } of request.followUps) {
        const ofQueue = request.followUps.filter((one) => one.queue === queue);
        offered(
          queue,
          ofQueue.map(({ item }) => item),
        );
      }
      for (const { queue, item } of request.followUps) {
        // The answer that tells what was accepted may come much later.
        if (request.next !== undefined && item.itemId !== undefined) ledger.orderUnknown(queue, item.itemId);
      }
      return calls.ack(
        request,
        tapped(
          reply,
          ({ followUps, next }) => {
            for (const [index, { queue }] of request.followUps.entries()) accepted(queue, followUps[index]);
            deliveries(next?.deliveries ?? [], request.next?.lease);
          },
          () => ledger.refused(claim),
          ({ next }) => strayed(next?.deliveries ?? [], request.next?.lease),
        ),
      );
    },

    nack(request, reply) {
      const claim = ledger.claimEnd(request, 'Nack');
      calls.nack(
        request,
        tapped(reply, undefined, () => ledger.refused(claim)),
      );
    },

    renew: (request, reply) =>
      calls.renew(
        request,
        tapped(reply, ({ results }) => {
          for (const [index, turn] of request.turns.entries()) {
            const result = results[index];
            if (result?.alive === true) ledger.renewed(turn, clock.now(), request.lease);
          }
        }),
      ),

    awaitItem: (request, reply) => calls.awaitItem(request, reply),
  };
}

function tapped<T>(
  reply: Reply<T>,
  seen?: (answer: T) => void,
  refused?: (refusal: Refusal) => void,
  unseen?: (answer: T) => void,
): Reply<T> {
  return {
    answer(value) {
      const reached = reply.answer(value);
      if (reached) seen?.(value);
      else unseen?.(value);
      if (reply instanceof AskingCall) reply.goOn();
      return reached;
    },
    refuse(refusal) {
      refused?.(refusal);
      reply.refuse(refusal);
    },
  };
}
