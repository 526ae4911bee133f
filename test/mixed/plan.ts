/** What the mixed test does, made of traffic, a seed and nothing else. */
import { chooseTraffic } from '../../src/cli/demo/traffic-source.js';
import type { Line } from '../../src/cli/replay/lines.js';
import { Chance } from '../sim/random.js';

/** Kept in memory: it must be empty when the sidecar is killed. */
export const MEMORY_QUEUE = 'mixed-memory';
export const DURABLE_QUEUE = 'mixed-durable';
/** Asked for with EnQueue by callers that bring their own message. */
export const TURN_QUEUE = 'mixed-turns';

export interface Wanted {
  readonly seed: number;
  readonly items: number;
  readonly turns: number;
  readonly kills: number;
  readonly languages: readonly string[];
  /** A log with the columns `client` and `path`; unset: the sample if it is there, else made-up traffic. */
  readonly traffic: string | undefined;
}

export interface Item {
  readonly key: string;
  readonly itemId: string;
  readonly payload: string;
}

/** One call: some items of one queue, by the submitter of this language. */
export interface Batch {
  readonly queue: string;
  readonly items: readonly Item[];
}

/** A worker that is killed when so many turns have begun in all. */
export interface Kill {
  readonly language: string;
  readonly afterTurns: number;
}

export interface Plan {
  readonly traffic: string;
  /** Of each queue, its items by key in their order. */
  readonly submitted: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
  /** Until the queue in memory is empty. */
  readonly before: Part;
  /** While the sidecar is killed. */
  readonly during: Part;
  readonly kills: readonly Kill[];
  /** So many turns of the second part have begun when the sidecar is killed. */
  readonly crashAfterTurns: number;
}

/** What comes from outside in one part of the test. */
export interface Part {
  /** By language, in the order in which they are to be submitted. */
  readonly batches: ReadonlyMap<string, readonly Batch[]>;
  /** The keys of turns that are asked for. */
  readonly turns: readonly string[];
}

/** Of all items; all of them belong to the first part, and of the others one half. */
const SHARE_IN_MEMORY = 0.4;
/** The sidecar is killed when this share of the second part has begun. */
const CRASH_AT = 0.3;
/** The first and the last worker is killed when this part of all turns has begun. */
const KILLS_FROM = 0.05;
const KILLS_TO = 0.85;
const BATCH = 100;

export async function makePlan(wanted: Wanted): Promise<Plan> {
  const { seed, items, turns, languages } = wanted;
  const chance = new Chance(seed);
  const { what, lines } = await readTraffic(wanted);
  const line = (index: number) => lines[index % lines.length];
  const queued = Array.from({ length: items }, (_, index) => {
    const inMemory = chance.next() < SHARE_IN_MEMORY;
    const queue = inMemory ? MEMORY_QUEUE : DURABLE_QUEUE;
    const key = (inMemory ? line(index)?.path : line(index)?.client) ?? '';
    return { queue, item: { key, itemId: `item-${index}`, payload: `line ${index}` } };
  });
  const keys = Array.from({ length: turns }, () => line(chance.int(0, lines.length - 1))?.path ?? '');
  const durable = queued.filter(({ queue }) => queue === DURABLE_QUEUE);
  const half = Math.floor(durable.length / 2);
  const later = new Set(durable.slice(half));
  const batches = (of: readonly Queued[]) =>
    new Map(languages.map((language, at) => [language, batchesOf(of, at, languages.length)]));
  const middle = Math.floor(turns / 2);
  return {
    traffic: what,
    submitted: byKey(queued),
    before: { batches: batches(queued.filter((one) => !later.has(one))), turns: keys.slice(0, middle) },
    during: { batches: batches([...later]), turns: keys.slice(middle) },
    kills: killsOf(wanted, chance),
    crashAfterTurns: Math.floor((later.size + turns - middle) * CRASH_AT),
  };
}

interface TrafficLine {
  readonly client: string;
  readonly path: string;
}

interface Queued {
  readonly queue: string;
  readonly item: Item;
}

async function readTraffic({ traffic, items }: Wanted): Promise<{ what: string; lines: readonly TrafficLine[] }> {
  const source = await chooseTraffic(traffic, undefined);
  const { lines, close } = await source.open('client', items, () => {});
  try {
    const read: TrafficLine[] = [];
    for await (const { key, values } of lines) read.push({ client: key, path: pathOf(values) });
    if (read.length === 0) throw new Error(`${source.what} has no line`);
    return { what: source.what, lines: read };
  } finally {
    close();
  }
}

function pathOf(values: Line['values']): string {
  const path = values['path'];
  if (typeof path !== 'string' || path === '') throw new Error('a line of the traffic has no path');
  return path;
}

function byKey(queued: readonly Queued[]): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> {
  const queues = new Map<string, Map<string, string[]>>([
    [MEMORY_QUEUE, new Map()],
    [DURABLE_QUEUE, new Map()],
  ]);
  for (const { queue, item } of queued) {
    const keys = queues.get(queue);
    const ids = keys?.get(item.key) ?? [];
    ids.push(item.itemId);
    keys?.set(item.key, ids);
  }
  return queues;
}

/** A key belongs to one submitter, or its order would be anybody's guess. */
function batchesOf(queued: readonly Queued[], submitter: number, submitters: number): readonly Batch[] {
  const own = queued.filter(({ item }) => sumOf(item.key) % submitters === submitter);
  return [MEMORY_QUEUE, DURABLE_QUEUE].flatMap((queue) => {
    const items = own.filter((one) => one.queue === queue).map(({ item }) => item);
    const count = Math.ceil(items.length / BATCH);
    return Array.from({ length: count }, (_, at) => ({ queue, items: items.slice(at * BATCH, (at + 1) * BATCH) }));
  });
}

function sumOf(text: string): number {
  let sum = 0;
  for (const byte of Buffer.from(text)) sum = (Math.imul(sum, 31) + byte) >>> 0;
  return sum;
}

/** Every language in turn, in an order of its own each time. */
function killsOf({ kills, languages, items, turns }: Wanted, chance: Chance): readonly Kill[] {
  const whom: string[] = [];
  while (whom.length < kills) whom.push(...shuffled(languages, chance));
  const span = (KILLS_TO - KILLS_FROM) * (items + turns);
  const when = Array.from({ length: kills }, () => Math.floor(KILLS_FROM * (items + turns) + chance.next() * span));
  when.sort((a, b) => a - b);
  return when.map((afterTurns, at) => ({ afterTurns, language: whom[at] ?? '' }));
}

function shuffled<T>(values: readonly T[], chance: Chance): readonly T[] {
  return values
    .map((value) => ({ value, at: chance.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
