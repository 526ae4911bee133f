/** A session of the coordinator with somebody at its door, who sees every turn that it gives. */
import type { AcquireAnswer, Reply, Session } from '../../src/coordinator.js';
import type { Watch } from './network-watch.js';

export function watched(session: Session, watch: Watch): Session {
  const deliveries = (answer: AcquireAnswer | undefined) => {
    for (const { turn } of answer?.deliveries ?? []) watch.granted(turn);
  };
  return {
    enQueue: (request, reply) =>
      session.enQueue(
        request,
        tapped(reply, (answer) => {
          if (answer.decision === 'accept') watch.granted(answer.turn);
        }),
      ),
    acquire: (request, reply) => session.acquire(request, tapped(reply, deliveries)),
    ack: (request, reply) =>
      session.ack(
        request,
        tapped(reply, ({ next }) => deliveries(next)),
      ),
    deQueue: (request, reply) => session.deQueue(request, reply),
    submit: (request, reply) => session.submit(request, reply),
    nack: (request, reply) => session.nack(request, reply),
    renew: (request, reply) => session.renew(request, reply),
    awaitItem: (request, reply) => session.awaitItem(request, reply),
    hello: (request, reply) => session.hello(request, reply),
    undeliverable: (turns) => session.undeliverable(turns),
    close: () => session.close(),
  };
}

function tapped<T>(reply: Reply<T>, seen: (answer: T) => void): Reply<T> {
  return {
    answer(value) {
      seen(value);
      return reply.answer(value);
    },
    refuse: (refusal) => reply.refuse(refusal),
  };
}
