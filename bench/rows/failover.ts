import { KilledHomes } from '../load/killed-homes.js';
import { MovedPartition } from '../load/moved-partition.js';
import type { Figure, Outcome, Round } from '../measure.js';
import { hasRedis, REDIS } from '../peers/redis.js';
import type { Row, Say } from '../row.js';

export interface FailoverSize {
  readonly kills: number;
  /** From the start of the other sidecar to a kill, ms. */
  readonly settles: number;
  readonly items: number;
  readonly queues: number;
  readonly moves: number;
  /** Moves before those that count: each sidecar restores for the first time then. */
  readonly before: number;
  /** Of the partition that moves. */
  readonly rows: number;
}

const SIZE: FailoverSize = {
  kills: 6,
  settles: 5_000,
  items: 100_000,
  queues: 100,
  moves: 15,
  before: 2,
  rows: 50_000,
};

export const failover: Row = {
  what: 'how long work stands still: when a home is killed, until every queue had a turn; when a partition is handed over',
  limit: 900,
  async run(say) {
    return { figures: await measureFailover(SIZE, say) };
  },
};

export async function measureFailover(size: FailoverSize, say: Say): Promise<Figure[]> {
  const { items, queues, rows } = size;
  const told = { peer: undefined, better: 'lower' } as const;
  const [many, keys] = [items.toLocaleString('en-US'), rows.toLocaleString('en-US')];
  const killed = { enough: 5, aim: 3.5, outcome: await unlessMissing(() => kill(size, say)) };
  const moved = { enough: 300, aim: 50, outcome: await unlessMissing(() => move(size, say)) };
  return [
    {
      ...told,
      part: 'kill -9',
      what: `SIGKILL of the home of all partitions, ${many} items with 100 bytes in ${queues} queues, until each queue had a turn at the other sidecar, where a consumer of each waits; Redis with appendfsync everysec`,
      unit: 's',
      ...killed,
    },
    {
      ...told,
      part: 'hand-over',
      what: `a partition with ${keys} items of as many keys moves to another home: the longest wait of a caller that takes its turn there again and again; Redis with appendfsync always`,
      unit: 'ms',
      ...moved,
    },
  ];
}

async function unlessMissing(measure: () => Promise<number[]>): Promise<Outcome> {
  if (!(await hasRedis())) return { is: 'missing', ...REDIS };
  const rounds: Round[] = (await measure()).map((value) => ({ value, peer: undefined }));
  return { is: 'measured', rounds };
}

/** @returns s */
async function kill({ kills, settles, items, queues }: FailoverSize, say: Say): Promise<number[]> {
  say(`${items} items come`);
  const homes = await KilledHomes.start(items, queues);
  const times: number[] = [];
  for (let round = 1; round <= kills; round++) {
    say(`kill ${round} of ${kills}`);
    times.push(await homes.killOne(settles));
  }
  await homes.stop();
  return times;
}

/** @returns ms */
async function move({ moves, before, rows }: FailoverSize, say: Say): Promise<number[]> {
  say(`${rows} items come`);
  const partition = await MovedPartition.start(rows);
  const times: number[] = [];
  for (let round = 1 - before; round <= moves; round++) {
    say(round < 1 ? 'warming up' : `move ${round} of ${moves}`);
    const wait = await partition.move();
    if (round >= 1) times.push(wait);
  }
  await partition.stop();
  return times;
}
