/**
 * What ExplainKey claims is compared with what happens: nothing one millisecond before `until`, something at it, and
 * when the cause that it names is taken away the key moves or another cause is named. Random workloads in the core.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { KeyExplanation, Policy } from '../../../../src/coordinator.js';
import { QUEUE } from '../../../support/builders.js';
import { assertRandom } from '../../../support/random-property.js';
import { atOnce, okay, Stage } from '../../stage.js';

const KEYS = ['a', 'b', 'c'] as const;
const OPS = [
  'enQueue',
  'place',
  'submit',
  'delayed',
  'dependent',
  'dispatch',
  'end',
  'nack',
  'refuse',
  'release',
  'renew',
  'evict',
  'resume',
  'pause',
  'unpause',
  'redrive',
  'retryNow',
  'contend',
  'kill',
  'pass',
] as const;

const ASKING = ['enQueue', 'submit', 'dispatch', 'contend', 'contend', 'kill'] as const;

interface Step {
  readonly op: (typeof OPS)[number];
  readonly key: (typeof KEYS)[number];
  readonly ms: number;
}

const policies: fc.Arbitrary<Partial<Policy>> = fc.record({
  waitingPerKey: fc.constantFrom<Policy['waitingPerKey']>(undefined, 2, 'unlimited'),
  onWaitTimeout: fc.constantFrom('block', 'take_over'),
  minInterval: fc.constantFrom(0, 0, 300),
  maxHold: fc.constantFrom(undefined, 700),
  rate: fc.constantFrom(undefined, undefined, { perSecond: 3, burst: 1 }, { perSecond: 7, burst: 2 }),
  maxInFlight: fc.constantFrom(undefined, undefined, 1, 2),
  onDeadLetter: fc.constantFrom('skip', 'park'),
  maxDeadLetters: fc.constantFrom(1, 100),
  ticketTtl: fc.constant(250),
  wait: fc.constantFrom(100, 400),
  lease: fc.constantFrom(200, 500, 5_000),
});

const steps: fc.Arbitrary<Step> = fc.record({
  // Nothing comes of the others where nobody asks for turns.
  op: fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...OPS) }, { weight: 1, arbitrary: fc.constantFrom(...ASKING) }),
  key: fc.constantFrom(...KEYS),
  ms: fc.constantFrom(1, 50, 100, 333, 400, 1_000),
});

interface Workload {
  readonly policy: Partial<Policy>;
  readonly startupHold: number;
  /** Nobody's wait ends: what happens, happens for another reason. */
  readonly patient: boolean;
  readonly steps: readonly Step[];
}

const WAITS: ReadonlySet<Step['op']> = new Set(['enQueue', 'place', 'dispatch', 'contend']);

/** The same steps give the same stage, so what is asked of one may be tried on others. */
function play({ policy, startupHold, patient, steps }: Workload): Stage {
  const stage = new Stage({ queues: { [QUEUE]: policy }, startupHold, limits: { idleLanes: 100 } });
  const tokens = new Map<string, number>();
  for (const step of steps) act(stage, tokens, patient && WAITS.has(step.op) ? { ...step, ms: 1_000_000 } : step);
  stage.pass(0);
  return stage;
}

function act(stage: Stage, tokens: Map<string, number>, { op, key, ms }: Step): void {
  const { core, now } = stage;
  const token = okay(core.explainKey(QUEUE, key, now)).holder?.token ?? tokens.get(key) ?? 0;
  tokens.set(key, token);
  switch (op) {
    case 'enQueue':
      return void stage.enQueue(`caller of ${key}`, { key, wait: ms });
    case 'place':
      return void stage.enQueue(`owner of ${key}`, { key, wait: ms, ticket: 't' });
    case 'submit':
      return void stage.submit('s', [{ key }]);
    case 'delayed':
      return void stage.submit('s', [{ key, delay: ms }]);
    case 'dependent':
      return void stage.submit('s', [{ key, after: [{ queue: QUEUE, itemId: 'later' }], afterUnknown: 'wait' }]);
    case 'dispatch':
      return void stage.acquire('w', { wait: ms, maxTurns: 2 });
    case 'end':
      return void stage.deQueue('w', { key, holder: { token } });
    case 'nack':
      return void stage.nack('w', { key, token, delay: ms });
    case 'refuse':
      return void stage.nack('w', { key, token, kind: 'dead_letter' });
    case 'release':
      return void stage.nack('w', { key, token, kind: 'release' });
    case 'renew':
      return void stage.renew('w', token, QUEUE, key);
    case 'contend':
      stage.enQueue(`holder of ${key}`, { key, wait: 0 });
      return void stage.enQueue(`rival of ${key}`, { key, wait: ms });
    case 'kill':
      return kill(stage, key);
    case 'pass':
      return stage.pass(ms);
    default:
      return person(stage, op, key);
  }
}

/** An item of this key, if a worker gets one, becomes a dead letter, or should. */
function kill(stage: Stage, key: string): void {
  stage.submit('s', [{ key }]);
  for (const { turn } of stage.acquire('w', { maxTurns: 3, wait: 0 }).value.deliveries)
    stage.nack('w', { key: turn.key, token: turn.token, kind: turn.key === key ? 'dead_letter' : 'release' });
}

function person(stage: Stage, op: Step['op'], key: string): void {
  const { core } = stage;
  const choice = { queue: QUEUE, key, itemIds: [] };
  if (op === 'evict') stage.person((now) => core.evictHolder(QUEUE, key, now), String);
  if (op === 'resume') stage.person((now) => core.resumeKey(QUEUE, key, now), String);
  if (op === 'pause') stage.person((now) => core.pauseQueue(QUEUE, now), String);
  if (op === 'unpause') stage.person((now) => core.resumeQueue(QUEUE, now), String);
  if (op === 'redrive') stage.person((now) => atOnce(core.redrive(choice, 1_000, () => now)), String);
  if (op === 'retryNow') stage.person((now) => core.retryNow({ queue: QUEUE, what: { key } }, now), String);
}

/** What must not change before `until`, and cannot all stay at it. Whether somebody waits for a holder is another matter. */
function claimOf({ state, holder, why, until }: KeyExplanation): string {
  // Keys before it start on the way: that is told, and takes nothing from its own moment.
  if (isBehindRate(why)) return JSON.stringify({ state, until });
  return JSON.stringify({ state: holder === undefined ? state : 'HELD', token: holder?.token, why, until });
}

function isBehindRate(why: string): boolean {
  return why.startsWith('the rate');
}

/** Who holds the key, and why it does not move. */
function standOf({ state, holder, why, until }: KeyExplanation): string {
  return JSON.stringify({ state, token: holder?.token, why: why.replace(/\d+/g, ''), until: until !== undefined });
}

/** What was compared at all: a test that compares nothing would pass. */
const checked = new Set<string>();

function kindOf({ state, why }: KeyExplanation): string {
  if (why.includes('take_over')) return 'take_over';
  if (why.includes('before it')) return 'rate, others before it';
  return state === 'READY' ? why : state;
}

function checkUntil(workload: Workload, key: string): void {
  const stage = play(workload);
  const told = stage.explain(QUEUE, key);
  if (told.until === undefined) return;
  const left = told.until - stage.wall;
  assert.ok(left > 0, `until is over: ${claimOf(told)}`);
  // Others come and go meanwhile by their own clocks: what they do may change what is told, and then it is told.
  const isInLine = workload.patient && isBehindRate(told.why) && workload.policy.maxInFlight === undefined;
  if (!isInLine && !isAlone(stage, key)) return;
  checked.add(kindOf(told));
  stage.pass(left - 1);
  const before = stage.explain(QUEUE, key);
  assert.equal(claimOf(before), claimOf(told), 'nothing happens one millisecond before');
  stage.pass(1);
  const at = stage.explain(QUEUE, key);
  assert.notEqual(claimOf(at), claimOf(told), 'something happens at that moment');
  if (isInLine) assert.ok(!isBehindRate(at.why), 'the rate lets it start at that moment');
  if (told.since !== undefined && at.state === told.state && at.holder?.token === told.holder?.token)
    assert.equal(at.since, told.since, 'it is in the same state since the same moment');
}

/** No wait, ticket or turn of others, and none in its own line, ends by itself meanwhile. */
function isAlone(stage: Stage, key: string): boolean {
  const mine = stage.explain(QUEUE, key);
  const end = mine.until ?? Number.POSITIVE_INFINITY;
  // One may wait for the holder: the end of its wait is either the take-over that is told, or nothing to the key.
  if (mine.holder === undefined ? mine.waitingCallers > 0 : mine.line.length > 1) return false;
  return KEYS.every((other) => {
    if (other === key) return true;
    const { state, until, line } = stage.explain(QUEUE, other);
    if (line.some(({ kind }) => kind === 'caller')) return false;
    return state === 'INIT' || state === 'PARK' || until === undefined || until > end;
  });
}

/** The way out that `why` names, or that its cause has. */
function removal(told: KeyExplanation): Step['op'][] {
  const { state, why } = told;
  if (state === 'PARK') return ['resume'];
  if (why.includes('the queue is paused')) return ['unpause'];
  if (why.startsWith('no worker')) return ['dispatch'];
  if (/delayed|next try|min_interval/.test(why)) return ['retryNow'];
  if (told.holder !== undefined) return ['evict'];
  return [];
}

function checkRemoval(workload: Workload, key: string): void {
  const stage = play(workload);
  const told = stage.explain(QUEUE, key);
  assert.equal(told.why === '', told.state === 'INIT', 'what is not idle says why');
  for (const op of removal(told)) {
    act(stage, new Map(), { op, key: KEYS.find((one) => one === key) ?? 'a', ms: 1_000 });
    stage.pass(0);
    const after = stage.explain(QUEUE, key);
    // A worker takes the keys that were ready before first, and as many as it asked for.
    if (op === 'dispatch' && told.state === after.state) continue;
    assert.notEqual(standOf(after), standOf(told), `${op} takes away what is named`);
  }
}

const workloads: fc.Arbitrary<Workload> = fc.record({
  policy: policies,
  startupHold: fc.constantFrom(0, 0, 0, 250),
  patient: fc.boolean(),
  steps: fc.array(steps, { minLength: 1, maxLength: 14 }),
});

const asked = fc.tuple(workloads, fc.constantFrom(...KEYS));
/** Seeded and repeated as the other random tests are: CONTRIBUTING.md. All kinds come among the fewest. */
const settings = { usual: 3_000, fewest: 3_000, seed: 20_260_101 };

describe('what ExplainKey claims', () => {
  it('holds until the millisecond that it tells, and not longer', async (t) => {
    await assertRandom(t, asked, ([workload, key]) => checkUntil(workload, key), settings);
    if (process.env['KEYTURN_PATH'] !== undefined) return;
    for (const kind of ['take_over', 'rate, others before it', 'PROCESS', 'BLOCK', 'DELAY'])
      assert.ok(checked.has(kind), `${kind} was compared, beside ${[...checked].join('; ')}`);
  });

  it('is no longer so when the cause that it names is taken away', async (t) => {
    await assertRandom(t, asked, ([workload, key]) => checkRemoval(workload, key), settings);
  });
});
