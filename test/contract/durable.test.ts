/** The same contract where everything is kept on a disk, and every answer waits for it. */
import type { CoordinatorSettings } from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { promptClock, promptJournal } from '../support/prompt-journal.js';
import { describeCoordinator } from './coordinator-contract.js';

describeCoordinator('LocalCoordinator, all queues durable,', make, 'on disk');

function make(settings: CoordinatorSettings, clock: Clock): LocalCoordinator {
  const options = { clock: promptClock(clock), seed: 1, journal: promptJournal() };
  const coordinator = new LocalCoordinator(durable(settings), options);
  // There is nothing on the disk yet: it is ready before this returns.
  void coordinator.recover();
  return coordinator;
}

function durable(settings: CoordinatorSettings): CoordinatorSettings {
  const queues = [...settings.queues].map(([name, policy]) => [name, { ...policy, durable: true }] as const);
  return { ...settings, defaultPolicy: { ...settings.defaultPolicy, durable: true }, queues: new Map(queues) };
}
