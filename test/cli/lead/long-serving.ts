/** A sidecar in this process that has been there for an hour: nobody waits for leaders that it might not know. */
import type { TestContext } from 'node:test';
import { systemClock } from '../../../src/local/clock.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { type Sidecar, startSidecar } from '../../support/sidecar.js';

export async function longServing(t: TestContext): Promise<Sidecar> {
  let ahead = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const coordinator = localCoordinator(t, { clock });
  ahead = 3_600_000;
  return startSidecar(t, coordinator);
}
