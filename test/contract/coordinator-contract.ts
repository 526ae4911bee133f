/** The contract in cases, over the port alone: whatever implements it has to pass them all. */
import { describe } from 'node:test';
import type { Policy } from '../../src/coordinator.js';
import { QUEUE, type SettingsChange } from '../support/builders.js';
import { administration } from './administration.js';
import { items } from './items.js';
import { limits } from './limits.js';
import { policies } from './policy.js';
import { restarts } from './restart.js';
import { type MakeCoordinator, Stage } from './stage.js';
import { tickets } from './tickets.js';
import { turns } from './turns.js';
import { workers } from './workers.js';

/** `make` gets a clock that stands still until a case moves it. */
export function describeCoordinator(name: string, make: MakeCoordinator): void {
  // A small memory of idle lanes is quicker to set up; cases about it say their own.
  const set = (policy: Partial<Policy> = {}, change: Omit<SettingsChange, 'queues'> = {}) =>
    new Stage(make, { queues: { [QUEUE]: policy }, ...change, limits: { idleLanes: 1_000, ...change.limits } });
  describe(`${name} keeps the contract`, () => {
    turns(set);
    tickets(set);
    policies(set);
    items(set);
    workers(set);
    administration(set);
    limits(set);
    restarts(make);
  });
}
