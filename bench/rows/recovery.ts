import { writeBacklog } from '../load/backlog.js';
import { type DataDirectory, makeDataDirectory } from '../load/data-directory.js';
import { untilFirstTurn } from '../load/first-turn.js';
import type { Round } from '../measure.js';
import type { Row, Say } from '../row.js';

const ROUNDS = 7;
const ITEMS = 1_000_000;

export const recovery: Row = {
  what: 'start of a sidecar with 1,000,000 durable items on the disk until the first turn is given',
  limit: 600,
  async run(say) {
    const data = await makeDataDirectory();
    await writeBacklog(data.path, ITEMS, say);
    const rounds = await restart(data, say);
    await data.remove();
    return {
      figures: [
        {
          part: undefined,
          what: 'start of the process with 1,000,000 durable items with 200 bytes, ten to a key, in its data directory, until an Acquire that waits has its turn; ended by SIGKILL each time',
          unit: 's',
          peer: undefined,
          better: 'lower',
          enough: 3,
          aim: 1.5,
          outcome: { is: 'measured', rounds },
        },
      ],
    };
  },
};

async function restart(data: DataDirectory, say: Say): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    say(`round ${round} of ${ROUNDS}`);
    const { sidecar, after } = await untilFirstTurn({ policy: { durable: true }, dataDirectory: data.path });
    await sidecar.kill();
    rounds.push({ value: after, peer: undefined });
  }
  return rounds;
}
