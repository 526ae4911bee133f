import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TurnKeeper } from '../../src/cli/turn-keeper.js';
import type { RenewResult } from '../../src/coordinator.js';
import { FakeClock } from '../support/fake-clock.js';

const TURN = { queue: 'q', key: 'k', token: 7, lease: 3_000, leaseExpiresAt: 0, attempt: 0 };
const ALIVE: RenewResult = { alive: true, leaseExpiresAt: 0 };

/** A sidecar whose answers the test gives one by one. */
class Renewals {
  /** Of each renewal: when it was sent, and how long it may take. */
  readonly sent: { readonly at: number; readonly timeout: number | undefined }[] = [];
  readonly #clock: FakeClock;
  readonly #open: { resolve(result: RenewResult): void; reject(error: Error): void }[] = [];

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  async renew(call: { readonly turns: readonly object[] }, settings?: { readonly timeout?: number | undefined }) {
    assert.deepEqual(call.turns, [{ queue: 'q', key: 'k', token: 7 }]);
    this.sent.push({ at: this.#clock.now(), timeout: settings?.timeout });
    const result = await new Promise<RenewResult>((resolve, reject) => this.#open.push({ resolve, reject }));
    return { results: [result] };
  }

  async answer(result: RenewResult): Promise<void> {
    this.#open.shift()?.resolve(result);
    await settled();
  }

  async fail(): Promise<void> {
    this.#open.shift()?.reject(new Error('no connection'));
    await settled();
  }
}

/** What follows from an answer has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function keep() {
  const clock = new FakeClock({ now: 0, wall: 0 });
  const renewals = new Renewals(clock);
  return { clock, renewals, keeper: new TurnKeeper(renewals, TURN, clock) };
}

describe('the keeper of a turn', () => {
  it('renews at every third of the lease', async () => {
    const { clock, renewals, keeper } = keep();
    for (let third = 1; third <= 5; third++) {
      clock.advance(999);
      assert.equal(renewals.sent.length, third - 1);
      clock.advance(1);
      assert.equal(renewals.sent.length, third);
      await renewals.answer(ALIVE);
    }
    assert.equal(keeper.loss, undefined);
  });

  it('never gives a renewal longer than the lease has left', async () => {
    const { clock, renewals } = keep();
    clock.advance(1_000);
    assert.deepEqual(renewals.sent, [{ at: 1_000, timeout: 2_000 }]);
  });

  it('tells that the turn is lost, and why, and renews no more', async () => {
    const { clock, renewals, keeper } = keep();
    clock.advance(1_000);
    await renewals.answer({ alive: false, cause: 'evicted' });
    assert.deepEqual([keeper.loss, keeper.lost.aborted], ['evicted', true]);
    clock.advance(60_000);
    assert.equal(renewals.sent.length, 1);
  });

  it('tries again when a renewal fails, and goes on when one comes through', async () => {
    const { clock, renewals, keeper } = keep();
    clock.advance(1_000);
    await renewals.fail();
    clock.advance(300);
    assert.equal(renewals.sent.length, 2);
    await renewals.answer(ALIVE);
    clock.advance(999);
    assert.equal(renewals.sent.length, 2);
    clock.advance(1);
    assert.equal(renewals.sent.length, 3);
    assert.equal(keeper.loss, undefined);
  });

  it('takes the turn for lost when no renewal came through before the lease ended', async () => {
    const { clock, renewals, keeper } = keep();
    for (clock.advance(1_000); clock.now() < 3_000; clock.advance(300)) {
      await renewals.fail();
      assert.equal(keeper.loss, undefined, `at ${clock.now()}`);
    }
    await renewals.fail();
    assert.equal(keeper.loss, 'unreachable');
  });

  it('reckons the lease from when a renewal was sent, not from its answer', async () => {
    const { clock, renewals, keeper } = keep();
    clock.advance(1_000);
    clock.advance(1_500);
    await renewals.answer(ALIVE);
    clock.advance(1_000);
    assert.deepEqual(renewals.sent.at(-1), { at: 3_500, timeout: 500 });
    clock.advance(500);
    await renewals.fail();
    assert.equal(keeper.loss, 'unreachable');
  });

  it('that was stopped sends nothing, and an answer that comes late means nothing', async () => {
    const { clock, renewals, keeper } = keep();
    clock.advance(1_000);
    keeper.stop();
    await renewals.answer({ alive: false, cause: 'settled' });
    clock.advance(60_000);
    assert.deepEqual([renewals.sent.length, keeper.loss, clock.pending], [1, undefined, 0]);
  });
});
