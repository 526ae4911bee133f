/** A coordinator behind a link: the contract must not notice. What is its home's alone is asked of the home. */
import type { Coordinator, CoordinatorSettings } from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { Linked } from '../grpc/peer/pipe.js';
import { describeCoordinator } from './coordinator-contract.js';

const PARTITION = 5;

describeCoordinator('RemoteCoordinator', (settings: CoordinatorSettings, clock: Clock) => {
  const home = new LocalCoordinator(settings, { clock, seed: 1 });
  const linked = new Linked({
    limits: settings.limits,
    home: (partition) => (partition === PARTITION ? home : undefined),
  });
  return behindLink(linked.partition(PARTITION), home);
});

function behindLink(remote: Coordinator, home: Coordinator): Coordinator {
  return {
    enQueue: (request, reply) => remote.enQueue(request, reply),
    deQueue: (request, reply) => remote.deQueue(request, reply),
    submit: (request, reply) => remote.submit(request, reply),
    acquire: (request, reply) => remote.acquire(request, reply),
    ack: (request, reply) => remote.ack(request, reply),
    nack: (request, reply) => remote.nack(request, reply),
    renew: (request, reply) => remote.renew(request, reply),
    awaitItem: (request, reply) => remote.awaitItem(request, reply),
    undeliverable: (turns, unwanted) => remote.undeliverable(turns, unwanted),
    openSession: (listener) => remote.openSession(listener),
    leaders: remote.leaders,
    admin: remote.admin,
    stats: () => home.stats(),
    statsInSlices: (take) => home.statsInSlices(take),
    drain: (timeout) => home.drain(timeout),
    close: () => home.close(),
  };
}
