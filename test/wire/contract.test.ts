/** The cases of the contract, unchanged, over the messages of the proto and the server's own code on both transports. */
import type { Coordinator, Limits } from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { describeCoordinator } from '../contract/coordinator-contract.js';
import { openWireSession } from './session-wire.js';
import { unaryCalls } from './unary-wire.js';

/** Unary calls, and sessions on request. What people ask, statistics and the end go straight: they are no calls of workers. */
function overTheWire(beneath: Coordinator, limits: Limits): Coordinator {
  return {
    ...unaryCalls(beneath, limits),
    openSession: (listener) => openWireSession(beneath, limits, listener),
    undeliverable: (turns) => beneath.undeliverable(turns),
    leaders: beneath.leaders,
    admin: beneath.admin,
    stats: () => beneath.stats(),
    statsInSlices: (take) => beneath.statsInSlices(take),
    drain: (timeout) => beneath.drain(timeout),
    close: () => beneath.close(),
  };
}

describeCoordinator('The wire of LocalCoordinator', (settings, clock) =>
  overTheWire(new LocalCoordinator(settings, { clock, seed: 1 }), settings.limits),
);
