import { writeBacklog } from '../load/backlog.js';
import { type DataDirectory, makeDataDirectory } from '../load/data-directory.js';
import { untilFirstTurn } from '../load/first-turn.js';
import type { Figure, Outcome } from '../measure.js';
import type { Row, Say } from '../row.js';

const ITEMS = 10_000_000;
/** Each is a restart: the fewest with an interval. */
const ROUNDS = 6;
const GIB = 2 ** 30;
/** What a user has to set for so many, see docs/OPERATING.md. */
const FLAGS = ['--max-old-space-size=8192'];
const POLICY = { durable: true, max_waiting: ITEMS } as const;

/** What is measured with as many items, and what of it is enough. */
const FIGURES = {
  heap: {
    part: 'heap',
    what: '10,000,000 durable items with 200 bytes wait, ten to a key: heap of the sidecar after a restart and a collection; Node with --max-old-space-size=8192',
    unit: 'GiB',
    enough: 6,
    aim: 4,
  },
  file: {
    part: 'file',
    what: 'the same: size of the data file',
    unit: 'GiB',
    enough: 5,
    aim: 3.5,
  },
  firstTurn: {
    part: 'first turn',
    what: 'the same: start of the process until an Acquire that waits has its turn',
    unit: 's',
    enough: 100,
    aim: 20,
  },
} as const;

type Measured = Readonly<Record<keyof typeof FIGURES, number>>;

export const tenmillion: Row = {
  what: '10,000,000 durable items that wait: heap, file, time to the first turn; needs 8 GB of memory and of disk',
  limit: 1_800,
  unlessAsked: figures(() => ({ is: 'not run' })),
  async run(say) {
    const rounds = await measure(say);
    const of = (name: keyof typeof FIGURES) => rounds.map((measured) => ({ value: measured[name], peer: undefined }));
    return { figures: figures((name) => ({ is: 'measured', rounds: of(name) })) };
  },
};

function figures(outcomeOf: (name: keyof typeof FIGURES) => Outcome): Figure[] {
  const names = ['heap', 'file', 'firstTurn'] as const;
  return names.map((name) => ({ ...FIGURES[name], peer: undefined, better: 'lower', outcome: outcomeOf(name) }));
}

async function measure(say: Say): Promise<Measured[]> {
  const data = await makeDataDirectory();
  await writeBacklog(data.path, ITEMS, say);
  const rounds: Measured[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    say(`round ${round} of ${ROUNDS}: the sidecar starts`);
    rounds.push(await restart(data));
  }
  await data.remove();
  return rounds;
}

async function restart(data: DataDirectory): Promise<Measured> {
  const options = { policy: POLICY, dataDirectory: data.path, flags: FLAGS };
  const { sidecar, after } = await untilFirstTurn(options);
  const heap = (await sidecar.bytesInUse()) / GIB;
  const file = (await data.size()) / GIB;
  await sidecar.kill();
  return { heap, file, firstTurn: after };
}
