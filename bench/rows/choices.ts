import { Durability } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { loseByCrash } from '../load/crash-loss.js';
import { makeDataDirectory } from '../load/data-directory.js';
import { openWhenReady } from '../load/ready-session.js';
import { startSidecar } from '../load/server-process.js';
import { SingleItems } from '../load/single-items.js';
import { type Figure, harmonicMean, type Round } from '../measure.js';
import { inRounds, type Lap } from '../rounds.js';
import type { Row, Say } from '../row.js';

const PLAN = { rounds: 9, most: 15, laps: 2 };
const ITEMS = 10_000;
const IN_FLIGHT = 256;
const CRASHES = 6;
/** Items that are answered when it is killed. */
const ANSWERED = 20_000;
const ALL = ANSWERED + IN_FLIGHT;

/**
 * What each may cost, as a share of the rate of `memory`, and lose, in items. What `interval` and `count` may lose is what was
 * answered since the last write began: 50 ms (10,000 at 200,000 a second), or 1,000 items, and what came in during that
 * write.
 */
const CHOICES = {
  on_flush: { asked: Durability.DURABILITY_ON_FLUSH, rate: [0.3, 0.6], lost: [0, 0] },
  interval: { asked: Durability.DURABILITY_INTERVAL, rate: [0.4, 0.7], lost: [15_000, 10_000] },
  count: { asked: Durability.DURABILITY_COUNT, rate: [0.4, 0.7], lost: [10_000, 3_000] },
  memory: { asked: Durability.DURABILITY_MEMORY, rate: [1, 1], lost: [ALL, ALL] },
} as const;

type Choice = keyof typeof CHOICES;
const WRITTEN = ['on_flush', 'interval', 'count'] as const;
const EVERY = [...WRITTEN, 'memory'] as const;

type Rates = Readonly<Record<Choice, number>>;

export const choices: Row = {
  what: 'on_flush, interval, count and memory side by side: items a second, and answered items that are missing after SIGKILL',
  limit: 1_200,
  async run(say) {
    const rounds = await measureRates(say);
    const figures = WRITTEN.map((choice) => rateFigure(choice, rounds));
    for (const choice of EVERY) figures.push(await lossFigure(choice, say));
    return { figures };
  },
};

async function measureRates(say: Say): Promise<readonly Rates[]> {
  const data = await makeDataDirectory();
  // Nothing is taken out: each round of the four leaves its items.
  const policy = { durable: true, max_waiting: 4 * (1 + PLAN.most) * PLAN.laps * ITEMS };
  const sidecar = await startSidecar({ policy, dataDirectory: data.path });
  const session = await openWhenReady(sidecar.address);
  const laps = EVERY.map((choice): [Choice, Lap] => {
    const items = new SingleItems(session, CHOICES[choice].asked);
    return [choice, () => items.submitAll(ITEMS, IN_FLIGHT)];
  });
  const rounds = await inRounds(PLAN, say, () => oneRound(laps), ...WRITTEN.map(ofMemory));
  session.close();
  await sidecar.stop();
  await data.remove();
  return rounds;
}

/** Lap by lap in turn, there and back: what one leaves the disk to do is not always found by the same one. */
async function oneRound(laps: [Choice, Lap][]): Promise<Rates> {
  const rates: Record<Choice, number[]> = { on_flush: [], interval: [], count: [], memory: [] };
  for (let turn = 0; turn < PLAN.laps; turn++) {
    for (const [choice, lap] of laps) rates[choice].push(await lap());
    laps.reverse();
  }
  return {
    on_flush: harmonicMean(rates.on_flush),
    interval: harmonicMean(rates.interval),
    count: harmonicMean(rates.count),
    memory: harmonicMean(rates.memory),
  };
}

function ofMemory(choice: Choice): (rates: Rates) => number {
  return (rates) => rates[choice] / rates.memory;
}

function rateFigure(choice: (typeof WRITTEN)[number], rounds: readonly Rates[]): Figure {
  const [enough, aim] = CHOICES[choice].rate;
  return {
    row: 'choices in',
    part: choice,
    what: `Submit of one item with 200 bytes with durability ${choice}, 256 in flight on one session, ${PLAN.laps * ITEMS} a round`,
    unit: 'items/s',
    peer: 'the same with durability memory, same sidecar',
    better: 'higher',
    enough,
    aim,
    outcome: {
      is: 'measured',
      rounds: rounds.map((rates) => ({ value: rates[choice], peer: rates.memory })),
    },
  };
}

async function lossFigure(choice: Choice, say: Say): Promise<Figure> {
  const [enough, aim] = CHOICES[choice].lost;
  const rounds: Round[] = [];
  for (let crash = 1; crash <= CRASHES; crash++) {
    say(`${choice}, crash ${crash} of ${CRASHES}`);
    const { missing } = await loseByCrash(CHOICES[choice].asked, ANSWERED, IN_FLIGHT);
    // A median over the crashes could hide it: no crash may lose more.
    if (missing > enough)
      throw new Error(`a crash lost ${missing} items with durability ${choice}, and ${enough} are enough`);
    rounds.push({ value: missing, peer: undefined });
  }
  return {
    row: 'choices lost',
    part: choice,
    what: `Submit with durability ${choice}, as above; SIGKILL when ${ANSWERED.toLocaleString('en-US')} items are answered and more are under way; items answered and missing after the restart, half of ${CRASHES} crashes lose no more, and none may lose more than is enough`,
    unit: 'items',
    peer: undefined,
    better: 'lower',
    enough,
    aim,
    outcome: { is: 'measured', rounds },
  };
}
