/**
 * Many seeds of workers behind a bad network, in virtual time: from the handlers' point of view no key has two at once, no
 * promise hangs, and in the end nothing is left held. To run one again: `KEYTURN_SEED=… node --test
 * dist/test/clients/typescript/simulation.test.js`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HeldTurn, KeyturnError, type Turn } from '@keyturn/client';
import { SessionTransport } from '#client/session/transport';
import { idMaker } from '#client/words/ids';
import { DEFAULT_LIMITS } from '../../../src/core/contract/limits.js';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { Chance } from '../../sim/random.js';
import { FakeClock } from '../../support/fake-clock.js';
import { seedsOf } from '../../support/runs.js';
import { settled } from './stage.js';
import { VirtualNetwork } from './virtual-network.js';

const STEP_MS = 10;
const STORMY_MS = 40_000;
/** Longer than every wait, time-out, ttl and blindness together. */
const CALM_MS = 40_000;
const TTL = 2_000;
/** Longer than a session that nobody comes back to. */
const LONG_WORK_MS = 4 * TTL;
const WEATHER = { delay: 60, blindness: 3_000, silent: 30, refused: 20 };

/** One in about six seconds. */
const OUTAGES_PER_STEP = 0.0016;
const FAIR = { delay: 10, blindness: 0, silent: 0, refused: 0 };

test('many seeds: one handler at a time, no promise hangs, nothing stays held', async (t) => {
  let lost = 0;
  for (const seed of seedsOf(t, 1, { usual: 12, fewest: 3 })) {
    const world = new World(seed);
    await world.run();
    const of = (what: string) => `${what}, KEYTURN_SEED=${seed}`;
    assert.deepEqual(world.network.complaints, [], of('complaints'));
    assert.deepEqual(world.wrong, [], of('two at a time'));
    assert.deepEqual([...world.working.values()].length, 0, of('handlers that still work'));
    assert.equal(world.open, 0, of('promises that hang'));
    assert.equal(world.leftOver, 0, of('live turns'));
    // A world in which nothing happened would prove nothing.
    assert.ok(world.done > 30, of(`${world.done} done`));
    lost += world.lost;
  }
  assert.ok(lost > 0, 'turns were lost on the way');
});

class World {
  readonly clock = new FakeClock();
  readonly chance: Chance;
  readonly coordinator: LocalCoordinator;
  readonly network: VirtualNetwork;
  /** Who works on a key, from its turn until it is done or was told to stop. */
  readonly working = new Map<string, number>();
  readonly #highest = new Map<string, number>();
  readonly wrong: string[] = [];
  open = 0;
  done = 0;
  lost = 0;
  /** Live turns when everybody had time to end theirs, before the clients are closed. */
  leftOver = 0;
  #stop = false;
  #outageEnds = 0;
  readonly #clients: SessionTransport[] = [];

  constructor(seed: number) {
    this.chance = new Chance(seed);
    const policy = { ...BUILT_IN_POLICY, lease: 1_500, waitingPerKey: Number.POSITIVE_INFINITY, ticketTtl: 1_000 };
    this.coordinator = new LocalCoordinator(
      { defaultPolicy: policy, queues: new Map(), autoCreate: true, startupHold: 0, limits: DEFAULT_LIMITS },
      { clock: this.clock, seed },
    );
    this.network = new VirtualNetwork(this.clock, this.chance, this.coordinator, WEATHER);
  }

  async run(): Promise<void> {
    const workers: Promise<void>[] = [];
    for (let client = 0; client < 4; client++) {
      const transport = this.#connect(client);
      this.#clients.push(transport);
      for (let worker = 0; worker < 4; worker++) workers.push(this.#work(transport, `${client}-${worker}`));
    }
    await this.#pass(STORMY_MS, () => {
      if (this.chance.in100(1)) this.network.storm(60);
      if (this.clock.now() >= this.#outageEnds) this.network.weather = WEATHER;
      if (this.chance.next() < OUTAGES_PER_STEP) this.#outage();
    });
    this.#stop = true;
    this.network.weather = FAIR;
    await this.#pass(CALM_MS, () => {});
    this.leftOver = this.#liveTurns();
    for (const client of this.#clients) void client.close();
    await this.#pass(2_000 + TTL, () => {});
    await Promise.race([Promise.all(workers), settled()]);
    this.coordinator.close();
  }

  /** Everybody is cut off, for longer or shorter than a session lives. */
  #outage(): void {
    this.network.weather = { ...WEATHER, refused: 100 };
    this.network.storm(100);
    this.#outageEnds = this.clock.now() + this.chance.int(TTL / 2, 2 * TTL);
  }

  #liveTurns(): number {
    return this.coordinator.stats().queues.reduce((sum, { view }) => sum + view.liveTurns, 0);
  }

  #connect(client: number): SessionTransport {
    return new SessionTransport(
      {
        address: 'sidecar:1',
        sessionId: `s${client}`,
        consumerId: `c${client}`,
        ttl: TTL,
        margin: undefined,
        limits: { commands: 1_000, bytes: 1_000_000 },
        backOff: { first: 20, max: 400 },
      },
      {
        clock: this.clock,
        random: () => this.chance.next(),
        newId: idMaker(`c${client}`),
        openStream: this.network.open,
      },
    );
  }

  async #pass(ms: number, each: () => void): Promise<void> {
    for (const end = this.clock.now() + ms; this.clock.now() < end; ) {
      each();
      this.clock.advance(STEP_MS);
      await settled();
    }
  }

  async #work(client: SessionTransport, name: string): Promise<void> {
    for (let round = 1; !this.#stop; round++) {
      const key = `k${this.chance.int(0, 5)}`;
      const ticket = this.chance.in100(50) ? `${name}-${round}` : undefined;
      const lease = this.chance.in100(25) ? 1_500 : undefined;
      await this.#attempt(client, key, ticket, lease);
    }
  }

  async #attempt(client: SessionTransport, key: string, ticket: string | undefined, lease: number | undefined) {
    const stop = new AbortController();
    const settings = { timeout: 4_000, signal: stop.signal, leave: this.chance.in100(50) };
    if (this.chance.in100(10)) this.clock.after(this.chance.int(0, 1_500), () => stop.abort());
    const askedAt = this.clock.now();
    const answer = await this.#watched(client.enQueue({ queue: 'q', key, ticket, lease, wait: 1_500 }, settings));
    if (answer?.decision !== 'accept') return this.#sleep(50);
    await this.#handle(client, answer.turn, askedAt);
  }

  /** As an application handles a turn: it works until it is done or is told to stop, and settles it. */
  async #handle(client: SessionTransport, turn: Turn, askedAt: number): Promise<void> {
    const held = client.hold(turn, askedAt);
    this.#begin(turn, held);
    await Promise.race([
      this.#sleep(this.chance.int(0, this.chance.in100(30) ? LONG_WORK_MS : 500)),
      aborted(held.signal),
    ]);
    this.#end(turn);
    if (held.signal.aborted) {
      this.lost += 1;
      return;
    }
    held.release();
    const { queue, key, token } = turn;
    const settled = await this.#watched(client.deQueue({ queue, key, token }, { timeout: 6_000 }));
    if (settled !== undefined) this.done += 1;
  }

  #begin({ key, token }: Turn, { signal }: HeldTurn): void {
    if (signal.aborted) return;
    const other = this.working.get(key);
    if (other !== undefined) this.wrong.push(`${key}: ${token} while ${other} works, at ${this.clock.now()}`);
    const highest = this.#highest.get(key) ?? 0;
    if (token < highest) this.wrong.push(`${key}: ${token} after ${highest}`);
    this.#highest.set(key, token);
    this.working.set(key, token);
    // Told to stop, it stops at once.
    signal.addEventListener('abort', () => this.#end({ key, token }), { once: true });
  }

  #end({ key, token }: Pick<Turn, 'key' | 'token'>): void {
    if (this.working.get(key) === token) this.working.delete(key);
  }

  async #watched<T>(promise: Promise<T>): Promise<T | undefined> {
    this.open += 1;
    try {
      return await promise;
    } catch (error) {
      if (!(error instanceof KeyturnError)) throw error;
      return undefined;
    } finally {
      this.open -= 1;
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(ms, resolve));
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
