/** A worker as a process of its own, for tests that kill it. It does as its handlers' signals say, and tells everything. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, KeyturnError, TurnLostError } from '@keyturn/client';
import { Chance } from '../../../sim/random.js';
import { monotonicNow, type Plan, type Play, type Saying } from './plan.js';

// The test that started us made it of a Plan.
const plan = JSON.parse(process.env['PLAN'] ?? '') as Plan;
const chance = new Chance(plan.seed);
const keyturn = connect(plan.address, plan.client);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

type Of<N extends Play['name']> = Extract<Play, { name: N }>;

function say(saying: Saying): void {
  process.stdout.write(`${JSON.stringify({ at: monotonicNow(), ...saying })}\n`);
}

interface Held {
  readonly key: string;
  readonly token: number;
  readonly signal: AbortSignal;
}

/** A handler that stops when it is told to. */
async function work({ key, token, signal }: Held, ms: number, item?: string): Promise<void> {
  say({ what: 'begin', key, token, ms, ...(item !== undefined && { item }) });
  const told = () => say({ what: 'told', key, token, why: nameOf(signal.reason) });
  signal.addEventListener('abort', told, { once: true });
  try {
    await sleep(ms, undefined, { signal });
  } finally {
    signal.removeEventListener('abort', told);
    say({ what: 'end', key, token });
  }
}

/** `KeyturnError UNAVAILABLE DRAINING`, `TurnLostError unreachable`. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof TurnLostError) return `${error.name} ${error.loss}`;
  const code = error instanceof KeyturnError ? `${error.code} ${error.reason}` : '';
  return `${error.name} ${code}`.trim();
}

async function turns({ queue, keys, concurrency, longWork }: Of<'turns'>): Promise<void> {
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const key = chance.of(keys[0] ?? '', ...keys.slice(1));
      const ms = chance.in100(10) ? longWork : chance.int(1, 30);
      await once({ queue, key, ms, order: chance.of('strict', 'coalesce') });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
}

async function once({ queue, key, ms, lease, order }: Omit<Of<'once'>, 'name'>): Promise<void> {
  const options = { wait: 60_000, signal: stop.signal, lease, order };
  try {
    const outcome = await keyturn.withTurn(queue, key, options, (turn) => work(turn, ms));
    say({ what: 'outcome', key, outcome: outcome.status, ...(outcome.status === 'done' && { token: outcome.token }) });
  } catch (error) {
    if (!stop.signal.aborted) say({ what: 'outcome', key, outcome: nameOf(error) });
  }
}

async function block({ queue, key, lease, ms }: Of<'block'>): Promise<void> {
  try {
    const outcome = await keyturn.withTurn(queue, key, { wait: 60_000, lease }, (turn) => {
      say({ what: 'begin', key, token: turn.token });
      const until = monotonicNow() + ms;
      while (monotonicNow() < until);
      return work(turn, 60_000);
    });
    say({ what: 'outcome', key, outcome: outcome.status });
  } catch (error) {
    say({ what: 'outcome', key, outcome: nameOf(error) });
  }
}

async function hold({ queue, keys, ticket }: Of<'hold'>): Promise<void> {
  await Promise.all(keys.map((key) => holdOne(queue, key, `${ticket} ${key}`)));
}

async function holdOne(queue: string, key: string, ticket: string): Promise<void> {
  const askedAt = keyturn.clock.now();
  const answer = await keyturn.enQueue({ queue, key, wait: 120_000, ticket }, { signal: stop.signal, leave: true });
  if (answer.decision !== 'accept') return say({ what: 'outcome', key, outcome: answer.decision });
  const held = keyturn.hold(answer.turn, askedAt);
  const { token } = answer.turn;
  const signal = AbortSignal.any([held.signal, stop.signal]);
  await work({ key, token, signal }, 600_000).catch(() => undefined);
  if (!held.signal.aborted) await keyturn.deQueue({ queue, key, token });
  held.release();
}

async function items({ queue, concurrency, work: ms }: Of<'items'>): Promise<void> {
  const consumer = keyturn.consume(
    queue,
    ({ key, token, signal, item }) => work({ key, token, signal }, ms, item.itemId),
    {
      concurrency,
      signal: stop.signal,
      onError: (error, { stage }) => say({ what: 'trouble', stage, outcome: nameOf(error) }),
    },
  );
  await consumer.done;
}

const PLAYS: { readonly [N in Play['name']]: (play: Of<N>) => Promise<void> } = { hold, turns, items, block, once };

function perform<N extends Play['name']>(play: Of<N> & { readonly name: N }): Promise<void> {
  return PLAYS[play.name](play);
}

await perform(plan.play);
// Nothing may be left that keeps the process: it ends by itself, or the test waits in vain.
await keyturn.close();
