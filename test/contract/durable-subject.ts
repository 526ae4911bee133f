import type { CoordinatorSettings } from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import type { Journal } from '../../src/local/journal/journal.js';
import { promptClock } from '../support/prompt-journal.js';
import type { MakeCoordinator } from './stage.js';

/**
 * Every queue is durable, each coordinator has a disk of its own.
 *
 * @param open a new journal that writes at once
 */
export function durableSubject(open: () => Journal): MakeCoordinator {
  return (settings, clock) => {
    const options = { clock: promptClock(clock), seed: 1, journal: open() };
    const coordinator = new LocalCoordinator(durable(settings), options);
    // There is nothing on the disk yet: it is ready before this returns.
    void coordinator.recover();
    return coordinator;
  };
}

/** The same, with every queue durable. */
export function durable(settings: CoordinatorSettings): CoordinatorSettings {
  const queues = [...settings.queues].map(([name, policy]) => [name, { ...policy, durable: true }] as const);
  return { ...settings, defaultPolicy: { ...settings.defaultPolicy, durable: true }, queues: new Map(queues) };
}
