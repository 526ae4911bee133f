/** A sidecar whose disk runs full, truly: acknowledged items survive, the rest goes on, and it recovers by itself. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { connect, type Keyturn, KeyturnError } from '@keyturn/client';
import { healthOf } from '../cli/health.js';
import { temporaryFolder, until } from '../cli/keyturn-process.js';
import { needs } from '../support/needed-program.js';
import { CrashingSidecar } from './crashing-sidecar.js';
import { Device, whyNoDevice } from './device.js';
import { tagOf } from './payload.js';

const SETTINGS = `
queues:
  orders: { durable: true }
  quick: {}
`;
const MIB = 1_048_576;
/** More of them than there is room for. */
const PAYLOAD = 60_000;
const MOST = 400;

/** Room that comes to an end. */
interface Room {
  readonly dataDir: string;
  readonly runBy: readonly string[];
  /** Ends it, as far as it has not. */
  fill(sidecar: CrashingSidecar): void;
  free(sidecar: CrashingSidecar): void;
}

/** No file of the process may grow beyond this: what a quota does, too. It may be raised from outside. */
async function limitedFile(t: TestContext): Promise<Room> {
  const limit = 4 * MIB;
  const set = (pid: number, bytes: number | 'unlimited') => {
    // A process that has ended has no limit any more.
    if (pid !== 0) execFileSync('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:unlimited`]);
  };
  return {
    dataDir: join(await temporaryFolder(t), 'data'),
    runBy: ['prlimit', `--fsize=${limit}:unlimited`, '--'],
    fill: ({ pid }) => set(pid, limit),
    free: ({ pid }) => set(pid, 'unlimited'),
  };
}

async function smallDevice(t: TestContext): Promise<Room> {
  const device = await Device.make(t, 'size=12m');
  return {
    dataDir: join(device.directory, 'data'),
    runBy: device.runBy,
    fill: () => device.fill(),
    free: () => device.free(),
  };
}

const PRLIMIT = { name: 'prlimit', install: 'It is part of util-linux.' };
const noDevice = whyNoDevice();
const ROOMS = {
  'a file that may not grow': { options: needs([PRLIMIT]), make: limitedFile },
  'a device without room': { options: noDevice === undefined ? {} : { skip: noDevice }, make: smallDevice },
} as const;

class Stage {
  /** Accepted, in order. */
  readonly accepted: string[] = [];
  readonly keyturn: Keyturn;
  #offered = 0;

  constructor(
    t: TestContext,
    readonly sidecar: CrashingSidecar,
  ) {
    this.keyturn = connect(sidecar.address, { transport: 'unary' });
    t.after(() => this.keyturn.close({ timeout: 0 }));
  }

  /** Submits until it is refused. @returns what it was refused with, and the item */
  async submitUntilRefused(): Promise<{ readonly error: KeyturnError; readonly id: string }> {
    for (let left = MOST; left > 0; left -= 1) {
      const id = `item-${this.#offered}`;
      this.#offered += 1;
      try {
        await this.submit(id);
      } catch (error) {
        assert.ok(error instanceof KeyturnError, String(error));
        return { error, id };
      }
    }
    return assert.fail(`${MOST} items found room`);
  }

  async submit(id: string): Promise<void> {
    const payload = new Uint8Array(PAYLOAD);
    payload.set(new TextEncoder().encode(`${id}\n`));
    const { results } = await this.keyturn.submit({ queue: 'orders', items: [{ key: 'k', itemId: id, payload }] });
    assert.equal(results[0]?.decision, 'accept');
    this.accepted.push(id);
  }

  /** Everything that a queue in memory does. */
  async useMemory(): Promise<void> {
    const { keyturn } = this;
    await keyturn.submit({ queue: 'quick', items: [{ key: 'k' }] });
    const [delivery] = (await keyturn.acquire({ queues: ['quick'] })).deliveries;
    assert.ok(delivery);
    await keyturn.renew({ turns: [delivery.turn] });
    await keyturn.ack(delivery.turn);
    const answer = await keyturn.enQueue({ queue: 'quick', key: 'k' });
    assert.ok(answer.decision === 'accept');
    await keyturn.deQueue({ queue: 'quick', key: 'k', token: answer.turn.token });
  }

  /** All that were accepted are there, in order and whole. @returns how many were given that were not known to be accepted */
  async drain(): Promise<number> {
    const given: string[] = [];
    for (;;) {
      const [delivery] = (await this.keyturn.acquire({ queues: ['orders'], maxItemsPerTurn: 10 })).deliveries;
      if (delivery === undefined) break;
      for (const item of delivery.items) {
        assert.equal(item.payload.length, PAYLOAD);
        given.push(tagOf(item));
      }
      await this.keyturn.ack(delivery.turn);
    }
    const known = given.filter((id) => this.accepted.includes(id));
    assert.deepEqual(known, this.accepted);
    return given.length - known.length;
  }
}

function assertStoreUnavailable(error: KeyturnError): void {
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'STORE_UNAVAILABLE'], error.message);
  assert.ok(error.retryAfter !== undefined && error.retryAfter > 0);
}

async function isRefused(call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error: unknown) => {
    assert.ok(error instanceof KeyturnError, String(error));
    assertStoreUnavailable(error);
    return true;
  });
}

async function health(address: string, wanted: string): Promise<void> {
  await until(`the health is ${wanted}`, async () => (await healthOf(address)) === wanted);
}

for (const [what, { options, make }] of Object.entries(ROOMS)) {
  describe(`a disk that runs full: ${what}`, { timeout: 120_000, ...options }, () => {
    it('refuses what needs it, says so, goes on with the rest, and recovers when there is room', async (t) => {
      const room = await make(t);
      const sidecar = await CrashingSidecar.make(t, { settings: SETTINGS, ...room });
      await sidecar.start();
      const stage = new Stage(t, sidecar);
      const { keyturn } = stage;
      await stage.submit('first');
      const held = await keyturn.enQueue({ queue: 'orders', key: 'held', lease: 60_000 });
      assert.ok(held.decision === 'accept');
      room.fill(sidecar);
      const { error, id } = await stage.submitUntilRefused();
      assertStoreUnavailable(error);

      await health(sidecar.address, 'NOT_SERVING');
      const ready = await fetch(`http://${sidecar.httpAddress}/readyz`);
      assert.equal(ready.status, 503);
      assert.match(await ready.text(), /disk|store|room/i);
      assert.equal((await fetch(`http://${sidecar.httpAddress}/healthz`)).status, 200, 'it is no reason to kill it');
      await isRefused(keyturn.enQueue({ queue: 'orders', key: 'new', wait: 0 }));
      await isRefused(keyturn.acquire({ queues: ['quick', 'orders'] }));
      await isRefused(keyturn.deQueue({ queue: 'orders', key: 'held', token: held.turn.token }));
      await stage.useMemory();

      room.free(sidecar);
      await health(sidecar.address, 'SERVING');
      assert.equal((await fetch(`http://${sidecar.httpAddress}/readyz`)).status, 200);
      await stage.submit(id);
      await keyturn.deQueue({ queue: 'orders', key: 'held', token: held.turn.token });
      assert.equal(await stage.drain(), 0, 'what was refused is there once, as what was tried again');
    });

    it('killed while it is full it keeps what it acknowledged, and shows it when there is room', async (t) => {
      const room = await make(t);
      const sidecar = await CrashingSidecar.make(t, { settings: SETTINGS, ...room });
      await sidecar.start();
      const stage = new Stage(t, sidecar);
      await stage.submit('first');
      room.fill(sidecar);
      assertStoreUnavailable((await stage.submitUntilRefused()).error);
      await sidecar.kill();
      // There may be room for the little that a start writes, or not even for that; then it says so and ends.
      const ended = await sidecar.startOrEnd();
      room.free(sidecar);
      if (ended !== undefined) {
        assert.equal(ended.exitCode, 2, ended.stderr);
        assert.match(ended.stderr, new RegExp(`no room to write ${room.dataDir}`));
        await sidecar.start();
      }
      await health(sidecar.address, 'SERVING');
      const surplus = await stage.drain();
      assert.ok(surplus <= 1, `${surplus} items are there that were refused; one may be`);
    });
  });
}
