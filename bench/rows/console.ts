import { setTimeout as pause } from 'node:timers/promises';
import { keyOf, QUEUE } from '../coordinator.js';
import { ConsoleTab, type Page } from '../load/console-tab.js';
import { fillQueues } from '../load/fill-queues.js';
import { type ServerProcess, startSidecar } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { SteadyPairs } from '../load/steady-pairs.js';
import { sayHello } from '../load/wire.js';
import type { Figure, Round } from '../measure.js';
import { inRounds } from '../rounds.js';
import type { Row, Say } from '../row.js';

/** With the busy one 10,000. */
const QUEUES = 9_999;
const KEYS_PER_QUEUE = 100;
/** Each is an arrival, a turn and a settlement: 50,000 events a second. */
const PAIRS_PER_SECOND = 16_700;
const LAP_MS = 2_000;
/** Each: the fewest with an interval. */
const PLAN = { rounds: 6 };

const PAGES: readonly (Page & { readonly told: string })[] = [
  { is: 'overview', told: 'the start page' },
  { is: 'queue', queue: QUEUE, told: 'the busy queue' },
  { is: 'key', queue: QUEUE, key: keyOf(17), told: 'one of its keys' },
  { is: 'events', told: 'all events' },
];

export const console: Row = {
  what: 'one viewer of the console at 10,000 queues, 1,000,000 keys, 50,000 events/s: what it costs the sidecar',
  limit: 1_200,
  async run(say) {
    say('filling');
    const sidecar = await startSidecar({ console: true });
    await fillQueues(sidecar.address, QUEUES, KEYS_PER_QUEUE);
    await sidecar.bytesInUse();
    const figures = await shares(sidecar, say);
    for (const page of PAGES) figures.push(await longestPause(sidecar, page, (told) => say(`${page.told}: ${told}`)));
    await sidecar.stop();
    return { figures };
  },
};

/** CPU time of the sidecar with a viewer less that without, page by page between two laps of nobody, as a share of a core. */
async function shares(sidecar: ServerProcess, say: Say): Promise<Figure[]> {
  const stream = new SessionStream(sidecar.address);
  await sayHello(stream, 'worker-1');
  const pairs = new SteadyPairs(stream);
  pairs.start(PAIRS_PER_SECOND);
  const rounds = await inRounds(PLAN, say, async (): Promise<number[]> => {
    const before = await cpuShare(sidecar, LAP_MS);
    const seen: number[] = [];
    for (const page of PAGES) seen.push(await cpuShareSeen(sidecar, page));
    const alone = (before + (await cpuShare(sidecar, LAP_MS))) / 2;
    return seen.map((share) => (share - alone) * 100);
  });
  await pairs.stop();
  stream.close();
  return PAGES.map((page, at) =>
    shareFigure(
      page,
      rounds.flatMap((round) => round[at] ?? []),
    ),
  );
}

/** Twice as long: a page asks again every two seconds, and its first look is another one. */
async function cpuShareSeen(sidecar: ServerProcess, page: Page): Promise<number> {
  const tab = new ConsoleTab(sidecar.console);
  tab.open(page);
  const share = await cpuShare(sidecar, 2 * LAP_MS);
  await tab.close();
  return share;
}

function shareFigure(page: (typeof PAGES)[number], shares: readonly number[]): Figure {
  return {
    part: page.told,
    what: `10,000 queues, 1,000,000 keys, 50,000 events/s: CPU time of the sidecar while one looks at ${page.told}, less that while nobody looks, as a share of a core`,
    unit: '% of a core',
    peer: undefined,
    better: 'lower',
    enough: 2,
    aim: 1,
    outcome: { is: 'measured', rounds: shares.map((value) => ({ value, peer: undefined })) },
  };
}

async function cpuShare(sidecar: ServerProcess, ms: number): Promise<number> {
  const start = performance.now();
  const before = await sidecar.cpuSeconds();
  await pause(ms);
  return ((await sidecar.cpuSeconds()) - before) / ((performance.now() - start) / 1_000);
}

/** Nothing else goes on meanwhile: what is seen is the viewer's. */
async function longestPause(sidecar: ServerProcess, page: (typeof PAGES)[number], say: Say): Promise<Figure> {
  const rounds = await inRounds(PLAN, say, async (): Promise<Round> => {
    const value = await sidecar.longestPause(async () => {
      const tab = new ConsoleTab(sidecar.console);
      tab.open(page);
      await pause(LAP_MS);
      await tab.close();
    });
    return { value, peer: undefined };
  });
  return {
    part: `${page.told}, pause`,
    what: `10,000 queues, 1,000,000 keys: longest pause of the event loop while one looks at ${page.told} for 2 s`,
    unit: 'ms',
    peer: undefined,
    better: 'lower',
    enough: 5,
    aim: 3,
    outcome: { is: 'measured', rounds },
  };
}
