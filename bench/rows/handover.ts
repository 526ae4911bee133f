import { startSidecar } from '../load/server-process.js';
import { type Outcome, outcomeValue, SessionStream } from '../load/session-stream.js';
import { deQueue, enQueue, sayHello, seconds, turnOf } from '../load/wire.js';
import { percentile } from '../measure.js';
import { inRounds } from '../rounds.js';
import type { Row, Say } from '../row.js';

const ROUNDS = 7;
const HANDOVERS = 2_000;
const KEY = 'customer-4711';
/** Longer than any hand-over takes. */
const WAIT = seconds(60);

const what =
  'from sending DeQueue on one session until the caller that waits on another one has its ACCEPT, both over loopback';

export const handover: Row = {
  what,
  limit: 120,
  async run(say) {
    const rounds = await measure(say);
    const told = { unit: 'ms', peer: undefined, better: 'lower' } as const;
    const outcome = (share: number) => ({
      is: 'measured' as const,
      rounds: rounds.map((times) => ({ value: percentile(times, share), peer: undefined })),
    });
    return {
      figures: [
        { ...told, part: 'p50', what: `${what}: half take no longer`, enough: 0.5, aim: 0.15, outcome: outcome(0.5) },
        { ...told, part: 'p99', what: `${what}: 99 % take no longer`, enough: 3, aim: 1, outcome: outcome(0.99) },
      ],
    };
  },
};

/** @returns of each round, how long the hand-overs took, ms */
async function measure(say: Say): Promise<number[][]> {
  const sidecar = await startSidecar();
  const [one, other] = [new SessionStream(sidecar.address), new SessionStream(sidecar.address)];
  await Promise.all([sayHello(one, 'worker-1'), sayHello(other, 'worker-2')]);
  let holder = one;
  let { token } = turnOf(await one.ask(enQueue(KEY)));
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
  one.close();
  other.close();
  await sidecar.stop();
  return rounds;
}

interface Given {
  /** ms */
  readonly after: number;
  readonly token: bigint;
}

async function handOver(holder: SessionStream, token: bigint, next: SessionStream): Promise<Given> {
  const told = new Promise<{ readonly outcome: Outcome | Error; readonly at: number }>((resolve) => {
    next.send(enQueue(KEY, WAIT), (outcome) => resolve({ outcome, at: performance.now() }));
  });
  // Commands are applied in order: when this one is answered the caller before it stands in the line.
  await next.ask({ $case: 'cancel', value: { id: UNUSED_ID, leave: false } });
  const start = performance.now();
  await holder.ask(deQueue(KEY, token));
  const { outcome, at } = await told;
  return { after: at - start, token: turnOf(outcomeValue(outcome, 'enqueue')).token };
}

/** No command of these sessions gets as far. */
const UNUSED_ID = 1_000_000;
