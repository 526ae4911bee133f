import { fillQueues } from '../load/fill-queues.js';
import { type ServerProcess, startSidecar } from '../load/server-process.js';
import type { Round } from '../measure.js';
import type { Row, Say } from '../row.js';

const QUEUES = 10_000;
const KEYS_PER_QUEUE = 100;
const ROUNDS = 6;
/** The first one of a process among them: its code has not run before. */
const SCRAPES = 5;

const what =
  '10,000 queues with 100 keys each, an item waiting for each: the longest pause of the event loop during 5 scrapes, the first of the process among them';

export const scrape: Row = {
  what,
  limit: 1_200,
  async run(say) {
    const rounds: Round[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      rounds.push({
        value: await longestPause((told) => say(`round ${round} of ${ROUNDS}, ${told}`)),
        peer: undefined,
      });
    }
    return {
      figures: [
        {
          part: undefined,
          what,
          unit: 'ms',
          peer: undefined,
          better: 'lower',
          enough: 20,
          aim: 5,
          outcome: { is: 'measured', rounds },
        },
      ],
    };
  },
};

async function longestPause(say: Say): Promise<number> {
  say('filling');
  const sidecar = await startSidecar();
  await fillQueues(sidecar.address, QUEUES, KEYS_PER_QUEUE);
  // Garbage of the filling is not what is measured.
  await sidecar.bytesInUse();
  say('scraping');
  const pause = await sidecar.longestPause(async () => {
    for (let scrape = 0; scrape < SCRAPES; scrape++) await scrapeOnce(sidecar);
  });
  await sidecar.stop();
  return pause;
}

async function scrapeOnce({ http }: ServerProcess): Promise<void> {
  const response = await fetch(`http://${http}/metrics`);
  const text = await response.text();
  if (!text.includes('keyturn_waiting{queue="other",kind="item"} 990000\n')) throw new Error('not all queues are told');
}
