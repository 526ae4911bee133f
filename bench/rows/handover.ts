import type { EnQueueAnswer, Keyturn, Turn } from '@keyturn/client';
import { QUEUE } from '../coordinator.js';
import { connectClient } from '../load/dispatch.js';
import { startSidecar } from '../load/server-process.js';
import { percentile } from '../measure.js';
import { inRounds } from '../rounds.js';
import type { Row, Say } from '../row.js';

const ROUNDS = { rounds: 9 };
const HANDOVERS = 1_500;
const TURN = { queue: QUEUE, key: 'customer-4711' } as const;
/** Longer than any hand-over takes, ms. */
const WAIT = 60_000;

const what =
  'from sending DeQueue on one session until the caller that waits on another one has its ACCEPT, both over loopback; load: @keyturn/client';

export const handover: Row = {
  what,
  limit: 300,
  async run(say) {
    const rounds = await measure(say);
    const told = { unit: 'ms', peer: undefined, better: 'lower' } as const;
    const outcome = (share: number) => ({
      is: 'measured' as const,
      rounds: rounds.map((times) => ({ value: percentile(times, share), peer: undefined })),
    });
    return {
      figures: [
        { ...told, part: 'p50', what: `${what}; half take no longer`, enough: 0.5, aim: 0.15, outcome: outcome(0.5) },
        { ...told, part: 'p99', what: `${what}; 99 % take no longer`, enough: 3, aim: 1, outcome: outcome(0.99) },
      ],
    };
  },
};

/** @returns of each round, how long the hand-overs took, ms */
async function measure(say: Say): Promise<number[][]> {
  const sidecar = await startSidecar();
  const [one, other] = [connectClient(sidecar.address), connectClient(sidecar.address)];
  let holder = one;
  let { token } = turnOf(await one.enQueue(TURN));
  const rounds = await inRounds(ROUNDS, say, async () => {
    const times: number[] = [];
    for (let handover = 0; handover < HANDOVERS; handover++) {
      const next = holder === one ? other : one;
      const given = await handOver(holder, token, next);
      times.push(given.after);
      token = given.token;
      holder = next;
    }
    return times;
  });
  await Promise.all([one.close(), other.close()]);
  await sidecar.stop();
  return rounds;
}

interface Given {
  /** ms */
  readonly after: number;
  readonly token: number;
}

async function handOver(holder: Keyturn, token: number, next: Keyturn): Promise<Given> {
  const told = next.enQueue({ ...TURN, wait: WAIT }).then((answer) => ({ answer, at: performance.now() }));
  // Commands are applied in order: when this one is answered the caller before it stands in the line.
  await next.awaitItem({ queue: TURN.queue, itemId: 'none' });
  const start = performance.now();
  await holder.deQueue({ ...TURN, token });
  const { answer, at } = await told;
  return { after: at - start, token: turnOf(answer).token };
}

function turnOf(answer: EnQueueAnswer): Turn {
  if (answer.decision !== 'accept') throw new Error(`expected a turn, got ${answer.decision}`);
  return answer.turn;
}
