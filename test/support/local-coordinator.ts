/** The embedded coordinator with the settings that a test needs, closed when the test ends. */
import type { TestContext } from 'node:test';
import type { CoordinatorSettings, Limits, Policy } from '../../src/coordinator.js';
import { DEFAULT_LIMITS } from '../../src/core/contract/limits.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import type { Clock } from '../../src/local/clock.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';

export interface LocalSettings extends Partial<Omit<CoordinatorSettings, 'defaultPolicy' | 'queues' | 'limits'>> {
  readonly policy?: Partial<Policy>;
  /** Each queue's differences from `policy`. */
  readonly queues?: Readonly<Record<string, Partial<Policy>>>;
  readonly limits?: Partial<Limits>;
  /** Default: the system's. */
  readonly clock?: Clock;
}

export function localCoordinator(t: TestContext, settings: LocalSettings = {}): LocalCoordinator {
  const { policy, queues, limits, autoCreate = true, startupHold = 0, clock } = settings;
  const defaultPolicy = { ...BUILT_IN_POLICY, ...policy };
  const named = Object.entries(queues ?? {}).map(([name, own]) => [name, { ...defaultPolicy, ...own }] as const);
  const coordinator = new LocalCoordinator(
    {
      defaultPolicy,
      queues: new Map(named),
      autoCreate,
      startupHold,
      limits: { ...DEFAULT_LIMITS, ...limits },
    },
    clock === undefined ? {} : { clock },
  );
  t.after(() => coordinator.close());
  return coordinator;
}
