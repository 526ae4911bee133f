/**
 * Whether what a coordinator tells about itself is consistent: the counts against the keys, the keys against their
 * explanations, the queues against the whole. By public answers alone, so that it fits any coordinator.
 */
import assert from 'node:assert/strict';
import type {
  Coordinator,
  CoordinatorStats,
  KeyExplanation,
  KeyPage,
  KeyView,
  LaneState,
  QueueView,
  Result,
} from '../../src/coordinator.js';
import { LANE_STATES } from '../../src/core/contract/model.js';
import type { Core } from '../../src/core/core.js';
import { ALL_QUEUES } from './builders.js';
import { listedQueues } from './listed-queues.js';

/** Everything that is told at one moment. */
interface Told {
  readonly queues: readonly QueueView[];
  readonly stats: CoordinatorStats;
  /** Of each queue, by the state that was asked for. */
  readonly keys: ReadonlyMap<string, ReadonlyMap<LaneState, readonly KeyView[]>>;
  readonly explanations: ReadonlyMap<string, ReadonlyMap<string, KeyExplanation>>;
}

/** Small, so that there are several pages. */
const PAGE = 3;
/** No test has so many keys. */
const MOST_PAGES = 100_000;

/** Precondition: nothing that is due is left to happen. */
export function auditCore(core: Core, now: number): void {
  const { queues } = core.listQueues(ALL_QUEUES, now);
  const keys = new Map<string, Map<LaneState, KeyView[]>>();
  const explanations = new Map<string, Map<string, KeyExplanation>>();
  for (const { name } of queues) {
    const byState = new Map(LANE_STATES.map((state) => [state, keysOf(core, name, state)]));
    const named = [...byState.values()].flat().filter(({ key }) => key !== '');
    keys.set(name, byState);
    explanations.set(name, new Map(named.map(({ key }) => [key, okay(core.explainKey(name, key, now))])));
  }
  check({ queues, stats: core.stats(now), keys, explanations });
  assert.ok(core.wakeAt > now && !core.hasEffects, 'looking changes nothing');
}

function keysOf(core: Core, queue: string, state: LaneState): KeyView[] {
  const pages = new Pages();
  while (pages.more) {
    const scan = okay(core.listKeys({ queue, state, pageSize: PAGE, pageToken: pages.token }, PAGE));
    if (scan === undefined) break;
    for (let step = scan.next(); ; step = scan.next()) {
      if (step.done !== true) continue;
      pages.take(step.value);
      break;
    }
  }
  return pages.keys;
}

/** The same through the port. Precondition: as {@link auditCore}. */
export async function auditCoordinator(coordinator: Pick<Coordinator, 'admin' | 'stats'>): Promise<void> {
  const { admin } = coordinator;
  const queues = await listedQueues(coordinator);
  const keys = new Map<string, Map<LaneState, KeyView[]>>();
  const explanations = new Map<string, Map<string, KeyExplanation>>();
  for (const { name } of queues) {
    const byState = new Map<LaneState, KeyView[]>();
    const told = new Map<string, KeyExplanation>();
    for (const state of LANE_STATES) {
      const pages = new Pages();
      while (pages.more) {
        pages.take(okay(await admin.ask('listKeys', { queue: name, state, pageSize: PAGE, pageToken: pages.token })));
      }
      byState.set(state, pages.keys);
      for (const { key } of pages.keys)
        if (key !== '') told.set(key, okay(await admin.ask('explainKey', { queue: name, key })));
    }
    keys.set(name, byState);
    explanations.set(name, told);
  }
  check({ queues, stats: coordinator.stats(), keys, explanations });
}

class Pages {
  readonly keys: KeyView[] = [];
  token = '';
  more = true;
  #taken = 0;

  take(page: KeyPage): void {
    this.keys.push(...page.keys);
    this.token = page.nextPageToken;
    this.more = this.token !== '';
    this.#taken += 1;
    assert.ok(this.#taken < MOST_PAGES, 'the pages come to an end');
  }
}

function okay<T>(result: Result<T>): T {
  if (!result.ok) assert.fail(`refused: ${JSON.stringify(result.refusal)}`);
  return result.value;
}

function check(told: Told): void {
  const tokens = new Set<number>();
  for (const queue of told.queues) {
    const keys = told.keys.get(queue.name) ?? new Map<LaneState, KeyView[]>();
    checkKeys(queue, keys);
    for (const [key, explanation] of told.explanations.get(queue.name) ?? []) {
      checkKey(key, explanation, [...keys.values()].flat());
      const token = explanation.holder?.token;
      assert.ok(token === undefined || !tokens.has(token), `token ${token} is live twice`);
      if (token !== undefined) tokens.add(token);
    }
  }
  checkSessions(told);
  checkWhole(told);
}

/** The counts of a queue are those of its keys. */
function checkKeys(queue: QueueView, keys: ReadonlyMap<LaneState, readonly KeyView[]>): void {
  const listed = Object.fromEntries([...keys].map(([state, list]) => [state, list.length]));
  assert.deepEqual(listed, queue.states, `lanes of ${queue.name}`);
  for (const [state, list] of keys) {
    for (const view of list) assert.equal(view.state, state);
  }
  const all = [...keys.values()].flat();
  const names = all.flatMap(({ key }) => (key === '' ? [] : [key]));
  assert.equal(new Set(names).size, names.length, 'a key has one lane');
  const waiting = all.reduce((sum, view) => sum + view.waiting, 0);
  assert.equal(waiting, queue.waitingCallers + queue.waitingItems, `those who wait in ${queue.name}`);
  assert.equal(queue.liveTurns, queue.states.PROCESS + queue.states.BLOCK, `live turns of ${queue.name}`);
  assert.equal(queue.oldestWaiting !== undefined, waiting > 0);
  assert.equal(queue.longestHold !== undefined, queue.liveTurns > 0);
  assert.ok((queue.oldestWaiting ?? 0) >= 0 && (queue.longestHold ?? 0) >= 0);
}

/** Contract, section 2: which states have a holder, and which a line. */
const SHAPES: Readonly<Record<LaneState, { readonly holder: boolean; readonly line: boolean | undefined }>> = {
  INIT: { holder: false, line: false },
  PROCESS: { holder: true, line: false },
  BLOCK: { holder: true, line: true },
  READY: { holder: false, line: true },
  DELAY: { holder: false, line: undefined },
  PARK: { holder: false, line: undefined },
};

function checkKey(key: string, told: KeyExplanation, listed: readonly KeyView[]): void {
  const view = listed.find((one) => one.key === key);
  const waiting = told.waitingCallers + told.waitingItems;
  assert.deepEqual(
    { state: told.state, waiting, consumerId: told.holder?.consumerId },
    { state: view?.state, waiting: view?.waiting, consumerId: view?.consumerId },
    `key ${key}`,
  );
  const shape = SHAPES[told.state];
  assert.equal(told.holder !== undefined, shape.holder, `${key} is ${told.state}: holder`);
  if (shape.line !== undefined) assert.equal(waiting > 0, shape.line, `${key} is ${told.state}: line`);
  assert.equal(told.line.length, Math.min(waiting, 100));
  const callers = told.line.filter(({ kind }) => kind === 'caller').length;
  if (waiting <= 100) assert.equal(callers, told.waitingCallers);
  assert.equal(told.why !== '', told.state !== 'INIT', 'why it does not move is said, and only where it does not');
  assert.ok(told.holder === undefined || told.holder.leaseLeft > 0, 'what is shown as live is live');
}

/** Turns of one session are told the same of it; while its stream is open nothing but `max_hold` ends them by time. */
function checkSessions({ queues, stats, explanations }: Told): void {
  const known = new Map<string, number | undefined>();
  for (const { name, policy } of queues) {
    for (const { holder, until, why } of explanations.get(name)?.values() ?? []) {
      if (holder?.session === undefined) continue;
      const { id, brokenSince } = holder.session;
      assert.equal(brokenSince, known.has(id) ? known.get(id) : brokenSince, `session ${id} is broken or it is not`);
      known.set(id, brokenSince);
      assert.equal(holder.heldForTicket, undefined, 'a turn that nobody has is tied to nobody');
      const endless = brokenSince === undefined && policy.maxHold === undefined;
      assert.equal(holder.leaseLeft === Number.POSITIVE_INFINITY, endless, `session ${id} renews its turns`);
      assert.equal(until === undefined, endless && !why.includes('take_over'));
      assert.ok(why.includes(id), why);
    }
  }
  const open = [...known.values()].filter((brokenSince) => brokenSince === undefined).length;
  assert.ok(open <= stats.sessions, 'a session that is not broken has an open stream');
}

function checkWhole({ queues, stats }: Told): void {
  const callers = queues.reduce((sum, queue) => sum + queue.waitingCallers, 0);
  const items = queues.reduce((sum, queue) => sum + queue.waitingItems + queue.deadLetters, 0);
  assert.ok(stats.waitingCalls >= callers, 'those in lines are among those who wait');
  assert.ok(items === 0 || stats.payloadBytes > 0, 'what is kept is charged');
  const live = queues.reduce((sum, queue) => sum + queue.liveTurns, 0);
  assert.ok(
    items + live + stats.waitingCalls > 0 || stats.payloadBytes === 0,
    'what nobody keeps or waits to hand in is not charged',
  );
  assert.deepEqual(stats.queues.map(({ view }) => view.name).toSorted(), queues.map(({ name }) => name).toSorted());
}
