/** A sidecar in this process that has been there for an hour: nobody waits for leaders that it might not know. */
import type { TestContext } from 'node:test';
import { systemClock } from '../../../src/local/clock.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { type Sidecar, startSidecar } from '../../support/sidecar.js';

const HOUR = 3_600_000;

export async function longServing(t: TestContext): Promise<Sidecar> {
  let passed = 0;
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + passed,
    // It was an hour ago, and is today: both clocks have gone on by the same.
    wall: () => systemClock.wall() - HOUR + passed,
  };
  const coordinator = localCoordinator(t, { clock });
  passed = HOUR;
  return startSidecar(t, coordinator);
}
