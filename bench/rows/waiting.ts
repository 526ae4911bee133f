import { makeKeys } from '../coordinator.js';
import { type ServerProcess, startSidecar } from '../load/server-process.js';
import { type Outcome, SessionStream } from '../load/session-stream.js';
import { enQueue, sayHello, seconds, turnOf } from '../load/wire.js';
import type { Figure, Round } from '../measure.js';
import type { Row, Say } from '../row.js';

const ROUNDS = 6;
const CALLERS = 100_000;
const SESSIONS = 4;
/** Each is held, and a hundred callers wait for it. */
const KEYS = 1_000;
/** Longer than the row needs. */
const WAIT = seconds(300);
const BATCH = 1_000;

export const waiting: Row = {
  what: "bytes of the server's heap for each of 100,000 callers that wait, on 4 sessions",
  limit: 600,
  async run(say) {
    return {
      figures: [
        await measure('caller', 'without a ticket', () => '', say),
        await measure('caller with a ticket', 'each with a ticket', (caller) => `ticket-${caller}`, say),
      ],
    };
  },
};

async function measure(part: string, how: string, ticketOf: (caller: number) => string, say: Say): Promise<Figure> {
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    say(`${part}, round ${round} of ${ROUNDS}`);
    const bytes = await perWaitingCaller(ticketOf);
    // Whole bytes: what remains is the noise of the heap.
    rounds.push({ value: Math.round(bytes), peer: undefined });
  }
  return {
    part,
    what: `100,000 callers that wait for 1,000 keys, on 4 sessions, hello said, ${how}: heap of the server process after a collection, less what it was before they came`,
    unit: 'bytes',
    peer: undefined,
    better: 'lower',
    enough: 1_500,
    aim: 700,
    outcome: { is: 'measured', rounds },
  };
}

async function perWaitingCaller(ticketOf: (caller: number) => string): Promise<number> {
  const sidecar = await startSidecar({ policy: { waiting_per_key: 'unlimited' } });
  const keys = makeKeys(KEYS);
  const holder = await openSession(sidecar, 'holder');
  for (const key of keys) turnOf(await holder.ask(enQueue(key)));
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, (_, index) => openSession(sidecar, `worker-${index}`)),
  );
  const before = await sidecar.bytesInUse();
  for (let from = 0; from < CALLERS; from += BATCH) {
    const session = sessions[(from / BATCH) % SESSIONS];
    if (session === undefined) throw new Error('no session');
    for (let caller = from; caller < from + BATCH; caller++) {
      session.send(enQueue(keys[caller % KEYS] ?? '', WAIT, ticketOf(caller)), mustWait);
    }
    // Commands are applied in order: when this one is answered those before it wait.
    await session.ask({ $case: 'cancel', value: { id: UNUSED_ID, leave: false } });
  }
  const grown = (await sidecar.bytesInUse()) - before;
  for (const session of [holder, ...sessions]) session.close();
  await sidecar.stop();
  return grown / CALLERS;
}

/** Told when the sessions end: that is no answer. */
function mustWait(outcome: Outcome | Error): void {
  if (!(outcome instanceof Error)) throw new Error(`a caller had to wait, and got ${outcome.$case}`);
}

/** No command of these sessions gets as far. */
const UNUSED_ID = 1_000_000;

async function openSession(server: ServerProcess, consumerId: string): Promise<SessionStream> {
  const session = new SessionStream(server.address);
  await sayHello(session, consumerId);
  return session;
}
