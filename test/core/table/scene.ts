/** A lane in a state, put there by calls alone. */
import assert from 'node:assert/strict';
import type { LaneState, Policy } from '../../../src/coordinator.js';
import { KEY } from '../../support/builders.js';
import type { Call } from '../../support/call.js';
import { okay, Stage } from '../stage.js';
import type { LaneEvent } from './lane-table.js';

/** Who stands in the line, by name: an item, a caller, one with a ticket, one that is gone and left its ticket. */
export type EntryName = 'item' | 'caller' | 'ticketed' | 'absent';

/** What a cell starts from, beside the state. */
export interface Given {
  /** Which policy; `plain`: the built-in one, and dead letters park. */
  readonly queue?: keyof typeof QUEUES;
  /** `absent`: the turn is held for a ticket. */
  readonly holder?: 'caller' | 'item' | 'absent';
  readonly line?: readonly EntryName[];
  /** The queue is paused, whatever the state asks for. */
  readonly paused?: boolean;
  /** Shortly after a start, when no turn starts yet; a holder is an adopted one with token 100. */
  readonly startupHold?: boolean;
}

const PARKS: Partial<Policy> = { onDeadLetter: 'park' };
export const DELAY = 60_000;

export const QUEUES = {
  plain: PARKS,
  skip: { onDeadLetter: 'skip' },
  strict: { ...PARKS, waitingPerKey: 'unlimited' },
  replace: { ...PARKS, waitingPerKey: 1, whenFull: 'replace' },
  takeOver: { ...PARKS, onWaitTimeout: 'take_over', wait: 3_000 },
  paced: { ...PARKS, minInterval: DELAY },
  impatient: { ...PARKS, minInterval: DELAY, whenTooSoon: 'decline' },
} as const satisfies Record<string, Partial<Policy>>;

export interface Scene {
  readonly stage: Stage;
  readonly queue: string;
  readonly given: Given;
  /** Of the live turn; without one, of a turn that was evicted. */
  readonly token: number;
  /** A call that waited and was answered long ago. */
  readonly answered: Call<unknown> | undefined;
  /** The calls of those who stand in the line. */
  readonly calls: ReadonlyMap<EntryName, Call<unknown>>;
}

/** How long turns and waits are: long enough that nothing but the event in question comes to its end. */
export function timesOf(event: LaneEvent): { lease: number; wait: number } {
  if (event === 'lease_ends') return { lease: 2_000, wait: 3_000 };
  if (event === 'ticket_ends' || event === 'delay_ends') return { lease: 100_000, wait: 100_000 };
  return { lease: 20_000, wait: 3_000 };
}

export function setScene(state: LaneState, event: LaneEvent, given: Given): Scene {
  const queue = given.queue ?? 'plain';
  const stage = new Stage({ queues: QUEUES, startupHold: given.startupHold ? 300_000 : 0 });
  const before = given.startupHold ? { token: 0, answered: undefined } : past(stage, queue, state);
  const { lease, wait } = timesOf(event);
  const live = given.holder === undefined ? undefined : hold(stage, queue, given, lease);
  const first = given.line?.[0];
  const gated = state === 'READY' && first !== 'item' && !given.startupHold;
  if (gated || given.paused) okay(stage.core.pauseQueue(queue, stage.now));
  const delay = state === 'DELAY' && !isPaced(queue) ? DELAY : 0;
  const calls = new Map((given.line ?? []).map((name) => [name, join(stage, queue, name, wait, delay)]));
  const scene: Scene = { stage, queue, given, token: live ?? before.token, answered: before.answered, calls };
  assert.equal(stage.explain(queue).state, state, 'the scene is set');
  stage.told.length = 0;
  return scene;
}

function isPaced(queue: keyof typeof QUEUES): boolean {
  return queue === 'paced' || queue === 'impatient';
}

/** Before: a turn that was evicted and a dead letter, so that there is something to be stale, or to be redriven. */
function past(stage: Stage, queue: keyof typeof QUEUES, state: LaneState): Pick<Scene, 'token' | 'answered'> {
  const first = stage.enQueue('first', { queue });
  if (isPaced(queue)) {
    evict(stage, queue);
    return { token: tokenOf(first), answered: undefined };
  }
  const answered = stage.enQueue('second', { queue, wait: 1_000 });
  evict(stage, queue);
  evict(stage, queue);
  stage.submit('submitter', [{ itemId: 'dead' }], queue);
  const [delivery] = stage.acquire('worker', { queues: [queue] }).value.deliveries;
  assert.ok(delivery);
  stage.nack('worker', { queue, token: delivery.turn.token, kind: 'dead_letter' });
  if (state !== 'PARK') okay(stage.core.resumeKey(queue, KEY, stage.now));
  return { token: tokenOf(answered), answered };
}

function evict(stage: Stage, queue: string): void {
  stage.person(
    (now) => stage.core.evictHolder(queue, KEY, now),
    ({ evicted }) => `evicted ${evicted}`,
  );
}

function tokenOf(call: ReturnType<Stage['enQueue']>): number {
  const { value } = call;
  assert.equal(value.decision, 'accept');
  return value.decision === 'accept' ? value.turn.token : Number.NaN;
}

function hold(stage: Stage, queue: string, { holder, startupHold }: Given, lease: number): number {
  if (startupHold) {
    stage.renew('holder', 100, queue);
    return 100;
  }
  if (holder === 'item') {
    stage.submit('submitter', [{ itemId: 'own' }], queue);
    const [delivery] = stage.acquire('holder', { queues: [queue], lease }).value.deliveries;
    assert.ok(delivery);
    return delivery.turn.token;
  }
  if (holder === 'caller') return tokenOf(stage.enQueue('holder', { queue, lease }));
  const before = tokenOf(stage.enQueue('first', { queue }));
  stage.enQueue('holder', { queue, ticket: 'holder', wait: 0 });
  stage.deQueue('first', { queue, holder: { token: before } });
  const held = stage.explain(queue).holder;
  assert.equal(held?.heldForTicket, 'holder');
  return held.token;
}

function join(stage: Stage, queue: string, name: EntryName, wait: number, delay: number): Call<unknown> {
  switch (name) {
    case 'item':
      return stage.submit('submitter', [{ itemId: 'item', delay }], queue);
    case 'caller':
      return stage.enQueue('caller', { queue, wait });
    case 'ticketed':
      return stage.enQueue('ticketed', { queue, wait, ticket: 'ticketed' });
    case 'absent':
      return stage.enQueue('absent', { queue, wait: 0, ticket: 'absent' });
  }
}
