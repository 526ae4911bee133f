import assert from 'node:assert/strict';
import type {
  AcquireAnswer,
  Coordinator,
  CoordinatorSettings,
  Delivery,
  ItemReport,
  KeyExplanation,
  LaneState,
  Policy,
  QueueView,
  Result,
} from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { KEY, QUEUE, type SettingsChange, settings } from '../support/builders.js';
import type { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';
import { listedQueues } from '../support/listed-queues.js';
import { Worker } from './worker.js';

export { turnOf } from './worker.js';

export type MakeCoordinator = (settings: CoordinatorSettings, clock: Clock) => Coordinator;

/** Makes a stage whose queue `q` has the given policy, or with whole settings. */
export type SetStage = (policy?: Partial<Policy>, change?: Omit<SettingsChange, 'queues'>, clock?: FakeClock) => Stage;

/** A coordinator, time, a worker with unary calls, and what people see. */
export class Stage extends Worker {
  readonly coordinator: Coordinator;

  constructor(
    make: MakeCoordinator,
    change: SettingsChange = {},
    readonly clock: FakeClock = new FakeClock(),
  ) {
    const coordinator = make(settings(change), clock);
    super(coordinator);
    this.coordinator = coordinator;
  }

  async explain(key = KEY, queue = QUEUE): Promise<KeyExplanation> {
    return told(await this.coordinator.admin.ask('explainKey', { queue, key }));
  }

  async item(itemId: string, withPayload = false, queue = QUEUE): Promise<ItemReport> {
    return told(await this.coordinator.admin.ask('getItem', { queue, itemId, withPayload }));
  }

  async state(key = KEY, queue = QUEUE): Promise<LaneState> {
    return (await this.explain(key, queue)).state;
  }

  async queue(name = QUEUE): Promise<QueueView> {
    const view = (await listedQueues(this.coordinator)).find((one) => one.name === name);
    assert.ok(view !== undefined, `queue ${name} is listed`);
    return view;
  }

  advance(ms: number): void {
    this.clock.advance(ms);
  }
}

export function deliveryOf(call: Call<AcquireAnswer>): Delivery {
  const [delivery] = call.value.deliveries;
  assert.ok(delivery !== undefined, 'a turn was taken');
  return delivery;
}

export function told<T>(result: Result<T>): T {
  if (!result.ok) assert.fail(`refused: ${JSON.stringify(result.refusal)}`);
  return result.value;
}

export function idsOf(call: Call<AcquireAnswer>): string[][] {
  return call.value.deliveries.map(({ items }) => items.map(({ itemId }) => itemId));
}

export function lost(cause: string, key = KEY, queue = QUEUE): object {
  return { kind: 'turn_lost', queue, key, cause };
}

export function block(ahead: number, retryAfter?: number, ticket?: string): object {
  return { decision: 'block', ahead, retryAfter, ticket };
}

export function decline(reason: string, change: object = {}): object {
  return { decision: 'decline', reason, survivorId: undefined, retryAfter: undefined, result: undefined, ...change };
}
