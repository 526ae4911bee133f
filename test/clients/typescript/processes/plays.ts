/** What workers do, in a process of their own or in that of the test. They do as their signals say, and report every step. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Keyturn, KeyturnError, TurnLostError } from '@keyturn/client';
import { Chance } from '../../../sim/random.js';
import type { Plan, Play, Saying } from './plan.js';

export type Say = (saying: Saying) => void;

type Of<N extends Play['name']> = Extract<Play, { name: N }>;

interface Held {
  readonly key: string;
  readonly token: number;
  readonly signal: AbortSignal;
}

/** A process that stands still looks this often whether it may go on, ms. */
const LOOK_MS = 20;

/** Ends when every plan has ended. @param stop ends the plans that have no end of their own */
export async function performAll(plans: readonly Plan[], say: Say, stop: AbortSignal): Promise<void> {
  await Promise.all(plans.map((plan) => perform(plan, say, stop)));
}

async function perform({ address, client, seed, play }: Plan, say: Say, stop: AbortSignal): Promise<void> {
  const keyturn = connect(address, client);
  await new Player(keyturn, new Chance(seed), say, stop).play(play);
  // Nothing may be left that keeps the process: it ends by itself, or the test waits in vain.
  await keyturn.close();
}

/** `KeyturnError UNAVAILABLE DRAINING`, `TurnLostError unreachable`. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof TurnLostError) return `${error.name} ${error.loss}`;
  const code = error instanceof KeyturnError ? `${error.code} ${error.reason}` : '';
  return `${error.name} ${code}`.trim();
}

class Player {
  constructor(
    private readonly keyturn: Keyturn,
    private readonly chance: Chance,
    private readonly say: Say,
    private readonly stop: AbortSignal,
  ) {}

  play(play: Play): Promise<void> {
    switch (play.name) {
      case 'hold':
        return this.#hold(play);
      case 'turns':
        return this.#turns(play);
      case 'items':
        return this.#items(play);
      case 'block':
        return this.#block(play);
      case 'once':
        return this.#once(play);
    }
  }

  /** A handler that stops when it is told to. */
  async #work({ key, token, signal }: Held, ms: number, item?: string): Promise<void> {
    this.say({ what: 'begin', key, token, ms, ...(item !== undefined && { item }) });
    const told = () => this.say({ what: 'told', key, token, why: nameOf(signal.reason) });
    signal.addEventListener('abort', told, { once: true });
    try {
      await sleep(ms, undefined, { signal });
    } finally {
      signal.removeEventListener('abort', told);
      this.say({ what: 'end', key, token });
    }
  }

  async #turns({ queue, keys, concurrency, longWork }: Of<'turns'>): Promise<void> {
    const loop = async (): Promise<void> => {
      while (!this.stop.aborted) {
        const key = this.chance.of(keys[0] ?? '', ...keys.slice(1));
        const ms = this.chance.in100(10) ? longWork : this.chance.int(1, 30);
        await this.#once({ queue, key, ms, order: this.chance.of('strict', 'coalesce') });
      }
    };
    await Promise.all(Array.from({ length: concurrency }, loop));
  }

  async #once({ queue, key, ms, lease, order }: Omit<Of<'once'>, 'name'>): Promise<void> {
    const options = { wait: 60_000, signal: this.stop, lease, order };
    try {
      const outcome = await this.keyturn.withTurn(queue, key, options, (turn) => this.#work(turn, ms));
      const token = outcome.status === 'done' && { token: outcome.token };
      this.say({ what: 'outcome', key, outcome: outcome.status, ...token });
    } catch (error) {
      if (!this.stop.aborted) this.say({ what: 'outcome', key, outcome: nameOf(error) });
    }
  }

  async #block({ queue, key, lease, until }: Of<'block'>): Promise<void> {
    try {
      const outcome = await this.keyturn.withTurn(queue, key, { wait: 60_000, lease }, (turn) => {
        this.say({ what: 'begin', key, token: turn.token });
        standStill(until);
        return this.#work(turn, 60_000);
      });
      this.say({ what: 'outcome', key, outcome: outcome.status });
    } catch (error) {
      this.say({ what: 'outcome', key, outcome: nameOf(error) });
    }
  }

  async #hold({ queue, keys, ticket }: Of<'hold'>): Promise<void> {
    await Promise.all(keys.map((key) => this.#holdOne(queue, key, `${ticket} ${key}`)));
  }

  async #holdOne(queue: string, key: string, ticket: string): Promise<void> {
    const { keyturn, stop } = this;
    const askedAt = keyturn.clock.now();
    const answer = await keyturn.enQueue({ queue, key, wait: 120_000, ticket }, { signal: stop, leave: true });
    if (answer.decision !== 'accept') return this.say({ what: 'outcome', key, outcome: answer.decision });
    const held = keyturn.hold(answer.turn, askedAt);
    const { token } = answer.turn;
    const signal = AbortSignal.any([held.signal, stop]);
    await this.#work({ key, token, signal }, 600_000).catch(() => undefined);
    if (!held.signal.aborted) await keyturn.deQueue({ queue, key, token });
    held.release();
  }

  async #items({ queue, concurrency, work: ms }: Of<'items'>): Promise<void> {
    const consumer = this.keyturn.consume(
      queue,
      ({ key, token, signal, item }) => this.#work({ key, token, signal }, ms, item.itemId),
      {
        concurrency,
        signal: this.stop,
        onError: (error, { stage }) => this.say({ what: 'trouble', stage, outcome: nameOf(error) }),
      },
    );
    await consumer.done;
  }
}

/** Nothing else runs in this process meanwhile, as in a long computation. */
function standStill(until: string): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(until)) Atomics.wait(cell, 0, 0, LOOK_MS);
}
