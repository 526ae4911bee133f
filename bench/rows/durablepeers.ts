import type { Dist, Part, Side, Work } from '../against/side.js';
import { makeKeys } from '../coordinator.js';
import { KEEPING_PEERS, type KeepingPeer, type KeptItems, startKeyturnItems } from '../load/kept-items.js';
import { type Figure, median, type Outcome, type Round } from '../measure.js';
import { inRounds, judged, type Rounds } from '../rounds.js';
import type { Row, Say } from '../row.js';

export interface DurablePeersSize {
  readonly plan: Rounds;
  /** A lap lasts so long, ms: one peer does in it what another does a hundred times. */
  readonly lap: number;
}

const SIZE: DurablePeersSize = { plan: { rounds: 9, most: 15 }, lap: 500 };
const PAYLOAD = Buffer.alloc(200, 'x');
const KEYS = 10_000;
const MARKS = { enough: 1.5, aim: 4 } as const;

/** How many items a call has, and how many calls are in flight. */
const BATCHES = [
  { items: 1, inFlight: 256 },
  { items: 100, inFlight: 4 },
] as const;

type Batches = (typeof BATCHES)[number];
type PeerName = keyof typeof KEEPING_PEERS;
const NAMES = ['beanstalkd', 'Redis', 'PostgreSQL'] as const satisfies readonly PeerName[];

export const durablepeers: Row = {
  what: 'durable items with 200 bytes, in batches of 1 and of 100: against beanstalkd, Redis and PostgreSQL that sync before they answer',
  limit: 900,
  side,
  async run(say) {
    return { figures: await comparePeers(SIZE, say) };
  },
};

/** Without the peers, which are the same for all commits. */
async function side(dist: Dist): Promise<Side> {
  const keyturn = await startKeyturnItems(dist);
  const parts = BATCHES.map((batches): Part => {
    const lap = async (): Promise<Work> => {
      const { done, seconds } = await runLap(keyturn, batches, SIZE.lap);
      return { operations: done, seconds };
    };
    return { name: `${batches.items} a batch`, unit: 'items', judgedBy: 'wall', lap, cpuSeconds: keyturn.cpuSeconds };
  });
  return { parts, close: keyturn.close };
}

export async function comparePeers(size: DurablePeersSize, say: Say): Promise<Figure[]> {
  const peers = new Map<PeerName, KeptItems>();
  for (const name of NAMES) {
    const peer: KeepingPeer = KEEPING_PEERS[name];
    if (await peer.isThere()) peers.set(name, await peer.start());
  }
  const keyturn = await startKeyturnItems();
  const figures: Figure[] = [];
  for (const batches of BATCHES) {
    const says: Say = (progress) => say(`batches of ${batches.items}, ${progress}`);
    figures.push(...figuresOf(batches, await measure(batches, keyturn, peers, size, says)));
  }
  await Promise.all([keyturn, ...peers.values()].map((each) => each.close()));
  return figures;
}

/** Of each peer, its rounds. */
type Measured = ReadonlyMap<PeerName, readonly Round[]>;

/** All of them in each round, one after the other: they share the disk. */
async function measure(
  batches: Batches,
  keyturn: KeptItems,
  peers: ReadonlyMap<PeerName, KeptItems>,
  { plan, lap }: DurablePeersSize,
  say: Say,
): Promise<Measured> {
  const all: (readonly [PeerName | 'Keyturn', KeptItems])[] = [['Keyturn', keyturn], ...peers];
  const oneRound = async (): Promise<ReadonlyMap<PeerName, Round>> => {
    const laps = new Map<PeerName | 'Keyturn', LapMeasured>();
    for (const [name, each] of all) laps.set(name, await runLap(each, batches, lap));
    // There and back: what one leaves the disk to do is not always found by the same one.
    all.reverse();
    return roundsOf(laps);
  };
  const against = [...peers.keys()].map((name) => (round: ReadonlyMap<PeerName, Round>) => judgedOf(round, name));
  const rounds = await inRounds(plan, say, oneRound, ...against);
  return new Map([...peers.keys()].map((name) => [name, rounds.flatMap((round) => round.get(name) ?? [])]));
}

function judgedOf(round: ReadonlyMap<PeerName, Round>, name: PeerName): number {
  const of = round.get(name);
  if (of === undefined) throw new Error(`a round without ${name}`);
  return judged(of);
}

function roundsOf(laps: ReadonlyMap<PeerName | 'Keyturn', LapMeasured>): ReadonlyMap<PeerName, Round> {
  const own = laps.get('Keyturn');
  if (own === undefined) throw new Error('a round without Keyturn');
  const rounds = new Map<PeerName, Round>();
  for (const [name, theirs] of laps)
    if (name !== 'Keyturn')
      rounds.set(name, { value: rateOf(own), peer: rateOf(theirs), cpu: own.cpu, peerCpu: theirs.cpu });
  return rounds;
}

interface LapMeasured {
  /** Items. */
  readonly done: number;
  readonly seconds: number;
  /** CPU time of the server for an item, µs. */
  readonly cpu: number;
}

function rateOf({ done, seconds }: LapMeasured): number {
  return done / seconds;
}

/** What is in flight at its end is waited for, and counts. */
async function runLap(kept: KeptItems, { items, inFlight }: Batches, lap: number): Promise<LapMeasured> {
  const keys = makeKeys(KEYS);
  let from = 0;
  let done = 0;
  const before = await kept.cpuSeconds();
  const start = performance.now();
  const lane = async (): Promise<void> => {
    while (performance.now() - start < lap) {
      const batch = keys.slice(from, from + items);
      from = (from + items) % KEYS;
      await kept.add(batch, PAYLOAD);
      done += items;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const seconds = (performance.now() - start) / 1_000;
  return { done, seconds, cpu: (1e6 * ((await kept.cpuSeconds()) - before)) / done };
}

/** The best of the peers is judged by, the others are told. What is missing might have been the best. */
export function figuresOf(batches: Batches, measured: Measured): Figure[] {
  const best = bestOf(measured);
  return NAMES.map((name) => {
    const rounds = measured.get(name);
    const { told, program }: KeepingPeer = KEEPING_PEERS[name];
    const outcome: Outcome = rounds === undefined ? { is: 'missing', ...program } : { is: 'measured', rounds };
    const isJudged = name === best || rounds === undefined;
    return {
      part: `${batches.items} a batch, ${name}`,
      what: `durable Submit (on_flush) in batches of ${batches.items}, 200 bytes an item, ${batches.inFlight} in flight, answered after the sync; load: @keyturn/client`,
      unit: 'items/s',
      peer: `${told}; same records, same in flight, same disk${name === best ? '; the best of them' : ''}`,
      better: 'higher',
      enough: isJudged ? MARKS.enough : undefined,
      aim: isJudged ? MARKS.aim : undefined,
      outcome,
    };
  });
}

export function bestOf(measured: Measured): PeerName | undefined {
  const rates = [...measured].map(([name, rounds]) => ({ name, rate: median(rounds.map(({ peer }) => peer ?? 0)) }));
  return rates.toSorted((a, b) => b.rate - a.rate)[0]?.name;
}
