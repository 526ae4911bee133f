import { Comparison } from '../../src/designs/compare.js';
import { DESIGN_NAMES, DESIGNS, type DesignName } from '../../src/designs/designs.js';
import type { Figures } from '../../src/designs/figures.js';
import { medianInterval } from '../against/interval.js';
import { renderBars } from '../bars.js';
import { logName, requests, WORKERS, zipfKeys } from '../load/keyed-traffic.js';
import { meanWaitInRealTime, SMALL, smallTraffic } from '../load/real-time.js';
import { type Figure, median, type Round } from '../measure.js';
import type { Row, Say } from '../row.js';

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

type Measured = readonly ReadonlyMap<DesignName, Figures>[];
type Of = (figures: Figures) => number;

/** What keeps the order of a key, and what does not. */
const ORDERED = ['hashed', 'grouped'] as const;
const LOCKS = ['spinning', 'returning'] as const;

const TRAFFIC = {
  zipf: { name: 'Zipf keys', traffic: zipfKeys },
  log: { name: logName, traffic: requests },
} as const;

const SUPPOSED = `${WORKERS} workers, 60 % load, 5 % of the work a hundred times slower, one key stuck; in virtual time`;

export const designs: Row = {
  what: `waiting time of keys that are not slow, with partitions, queues per group, locks, and Keyturn: ${WORKERS} workers, in virtual time`,
  limit: 600,
  async run(say) {
    const measured = Object.entries(TRAFFIC).map(([part, { name, traffic }]) => {
      const rounds = SEEDS.map((seed) => {
        say(`${name}, seed ${seed} of ${SEEDS.length}`);
        const comparison = new Comparison(WORKERS, { seed });
        for (const _ of comparison.play(traffic(seed)));
        return comparison.figures();
      });
      return { part, name, rounds };
    });
    const chart = measured.find(({ part }) => part === 'zipf')?.rounds ?? [];
    const compared = measured.flatMap(({ part, name, rounds }) => figuresOf(part, name, rounds));
    return { figures: [...compared, await inRealTime(say)], svg: chartOf(chart) };
  },
};

function figuresOf(part: string, name: string, measured: Measured): Figure[] {
  const marks = { better: 'lower', enough: 1 / 5, aim: 1 / 20 } as const;
  const p99: Of = ({ waitP99 }) => waitP99;
  const needless: Of = ({ needlessP99 }) => needlessP99;
  const told = { better: 'lower', enough: undefined, aim: undefined } as const;
  const busy = { ...told, better: 'higher' } as const;
  const figure = (
    marked: typeof marks | typeof told | typeof busy,
    word: string,
    unit: string,
    of: Of,
    peers: readonly DesignName[],
  ) => {
    const rounds = measured.map((figures) => roundOf(figures, of, peers, marked.better));
    const what = `${word}; ${name}, ${SUPPOSED}; rounds are seeds`;
    const outcome = { is: 'measured', rounds } as const;
    return {
      row: `designs ${part}`,
      part: word,
      what,
      unit,
      peer: `the best of ${peers.join(', ')}`,
      ...marked,
      outcome,
    };
  };
  return [
    figure(marks, 'waiting time p99 beside designs that keep the order', 'ms', p99, ORDERED),
    figure(marks, 'waiting time p99 beside locks, which break it', 'ms', p99, LOCKS),
    figure(told, 'needless waiting p99 (the false conflict)', 'ms', needless, [...ORDERED, ...LOCKS]),
    figure(busy, 'utilisation of workers', 'of their time', ({ utilisation }) => utilisation, [...ORDERED, ...LOCKS]),
    savedBy(part, name, measured),
  ];
}

function savedBy(part: string, name: string, measured: Measured): Figure {
  const values = measured.map((figures) => {
    const { declined, messages } = ofDesign(figures, 'coalescing');
    return (100 * declined) / messages;
  });
  const word = 'work saved by coalescing';
  const told = { unit: '%', peer: undefined, better: 'higher', enough: undefined, aim: undefined } as const;
  const rounds = values.map((value) => ({ value, peer: undefined }));
  return {
    row: `designs ${part}`,
    part: word,
    what: `${word}; ${name}, ${SUPPOSED}`,
    ...told,
    outcome: { is: 'measured', rounds },
  };
}

function roundOf(figures: Measured[number], of: Of, peers: readonly DesignName[], better: 'lower' | 'higher') {
  const values = peers.map((peer) => of(ofDesign(figures, peer)));
  const peer = better === 'lower' ? Math.min(...values) : Math.max(...values);
  return { value: of(ofDesign(figures, 'keyturn')), peer };
}

function ofDesign(figures: Measured[number], design: DesignName): Figures {
  const found = figures.get(design);
  if (found === undefined) throw new Error(`${design} was not played`);
  return found;
}

/** Whether reality waits as long: the same small traffic with real waits and real timers. */
async function inRealTime(say: Say): Promise<Figure> {
  const rounds: Round[] = [];
  for (const seed of SEEDS) {
    say(`in real time, seed ${seed} of ${SEEDS.length}`);
    const traffic = smallTraffic(seed);
    const value = await meanWaitInRealTime(traffic);
    const comparison = new Comparison(SMALL.workers, { seed }, ['keyturn']);
    for (const _ of comparison.play(traffic));
    rounds.push({ value, peer: ofDesign(comparison.figures(), 'keyturn').waitMean });
  }
  const word = 'mean waiting time in real time';
  const what = `${word}: a coordinator in process, ${SMALL.workers} workers that sleep, ${SMALL.messages} messages of ${SMALL.work} ms, 5 % of them ten times slower; rounds are seeds`;
  const told = { unit: 'ms', better: 'lower', enough: undefined, aim: undefined } as const;
  return {
    row: 'designs real',
    part: word,
    what,
    peer: 'the same in virtual time',
    ...told,
    outcome: { is: 'measured', rounds },
  };
}

function chartOf(measured: Measured): string {
  const over = (design: DesignName, of: Of) => medianInterval(measured.map((figures) => of(ofDesign(figures, design))));
  return renderBars({
    title: 'How long a message waits that has nothing to do with slow keys',
    told: `99 of 100 wait no longer, ms. Zipf keys, ${SUPPOSED}. Median of ${SEEDS.length} seeds, with its 95 % interval.`,
    inner: 'of it needlessly: behind somebody else’s key',
    bars: DESIGNS.map((design) => {
      const { median: value, bounds } = over(design, ({ waitP99 }) => waitP99);
      const part = median(measured.map((figures) => ofDesign(figures, design).needlessP99));
      return { name: DESIGN_NAMES[design], value, bounds, part };
    }),
  });
}
