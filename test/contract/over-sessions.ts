/** A coordinator whose worker calls all come on one stream: the contract must not notice. */
import type {
  AcquireRequest,
  Coordinator,
  CoordinatorSettings,
  EnQueueRequest,
  Session,
  SessionListener,
} from '../../src/coordinator.js';
import { Call } from '../support/call.js';
import { type MakeCoordinator, told } from './stage.js';

const NOBODY: SessionListener = { notice: () => undefined, replaced: () => undefined };

/** On a stream without hello everything is as in unary calls. */
export function onStreams(make: MakeCoordinator): MakeCoordinator {
  return (settings, clock) => {
    const coordinator = make(settings, clock);
    return withCalls(coordinator, told(coordinator.openSession(NOBODY)));
  };
}

/** After hello too, when every call says the lease that it would have had anyway. */
export function onTiedStreams(make: MakeCoordinator): MakeCoordinator {
  return (settings, clock) => {
    const coordinator = make(settings, clock);
    const session = told(coordinator.openSession(NOBODY));
    session.hello({ consumerId: 'worker', sessionId: undefined, ttl: undefined }, new Call());
    const calls: Session = {
      ...bound(session),
      enQueue: (request, reply) => session.enQueue(withLease(request, request.queue, settings), reply),
      acquire: (request, reply) => session.acquire(acquiring(request, settings), reply),
      ack: (request, reply) =>
        session.ack({ ...request, next: request.next && acquiring(request.next, settings) }, reply),
    };
    return withCalls(coordinator, calls);
  };
}

function acquiring(request: AcquireRequest, settings: CoordinatorSettings): AcquireRequest {
  return withLease(request, request.queues[0] ?? '', settings);
}

function withLease<R extends EnQueueRequest | AcquireRequest>(
  request: R,
  queue: string,
  settings: CoordinatorSettings,
): R {
  const policy = settings.queues.get(queue) ?? settings.defaultPolicy;
  return { ...request, lease: request.lease ?? policy.lease };
}

function withCalls(coordinator: Coordinator, session: Session): Coordinator {
  return {
    ...bound(session),
    openSession: (listener) => coordinator.openSession(listener),
    get leaders() {
      return coordinator.leaders;
    },
    admin: coordinator.admin,
    stats: () => coordinator.stats(),
    statsInSlices: (take) => coordinator.statsInSlices(take),
    drain: (timeout) => coordinator.drain(timeout),
    close: () => coordinator.close(),
  };
}

function bound(session: Session): Session {
  return {
    enQueue: (request, reply) => session.enQueue(request, reply),
    deQueue: (request, reply) => session.deQueue(request, reply),
    submit: (request, reply) => session.submit(request, reply),
    acquire: (request, reply) => session.acquire(request, reply),
    ack: (request, reply) => session.ack(request, reply),
    nack: (request, reply) => session.nack(request, reply),
    renew: (request, reply) => session.renew(request, reply),
    awaitItem: (request, reply) => session.awaitItem(request, reply),
    hello: (request, reply) => session.hello(request, reply),
    undeliverable: (turns) => session.undeliverable(turns),
    close: () => session.close(),
  };
}
