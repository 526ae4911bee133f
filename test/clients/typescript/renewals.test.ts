/** Turns that live by their lease. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type RenewCall, type RenewResult, type Turn, TurnLostError } from '@keyturn/client';
import { Confirmations } from '#client/turns/confirmations';
import { Held } from '#client/turns/held-turn';
import { Renewals } from '#client/turns/renewals';
import { FakeClock } from '../../support/fake-clock.js';
import { settled, stateOf } from './stage.js';

const ALIVE: RenewResult = { alive: true, leaseExpiresAt: 0 };
const LEASE = 3_000;

/** A sidecar whose answers the test gives one by one. */
class Sidecar {
  /** Of each renewal: when it was sent, what it names, for how long, and how long it may take. */
  readonly sent: {
    readonly at: number;
    readonly tokens: readonly number[];
    readonly lease: number | undefined;
    readonly timeout: number | undefined;
  }[] = [];
  readonly #clock: FakeClock;
  readonly #open: { resolve(results: readonly RenewResult[]): void; reject(error: Error): void }[] = [];

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  async renew({ turns, lease }: RenewCall, settings?: { readonly timeout?: number | undefined }) {
    this.sent.push({
      at: this.#clock.now(),
      tokens: turns.map(({ token }) => Number(token)),
      lease,
      timeout: settings?.timeout,
    });
    const results = await new Promise<readonly RenewResult[]>((resolve, reject) =>
      this.#open.push({ resolve, reject }),
    );
    return { results };
  }

  async answer(...results: readonly RenewResult[]): Promise<void> {
    this.#open.shift()?.resolve(results);
    await settled();
  }

  async fail(): Promise<void> {
    this.#open.shift()?.reject(new Error('no connection'));
    await settled();
  }
}

function stage(margin = 0) {
  const clock = new FakeClock({ now: 0, wall: 0 });
  const sidecar = new Sidecar(clock);
  const renewals = new Renewals(sidecar, clock, margin);
  const hold = (token = 7, { lease = LEASE, askedAt = clock.now() } = {}) => {
    const turn = { queue: 'q', key: 'k', token, lease, leaseExpiresAt: 0, attempt: 0 };
    const held = new Held(turn, (one) => renewals.drop(one));
    renewals.keep(held, askedAt);
    return held;
  };
  return { clock, sidecar, renewals, hold };
}

function causeOf({ signal }: Held): unknown {
  return signal.reason instanceof TurnLostError ? signal.reason.loss : signal.reason;
}

describe('a turn that lives by its lease', () => {
  it('is renewed at every third of the lease', async () => {
    const { clock, sidecar, hold } = stage();
    const held = hold();
    for (let third = 1; third <= 5; third++) {
      clock.advance(999);
      assert.equal(sidecar.sent.length, third - 1);
      clock.advance(1);
      assert.equal(sidecar.sent.length, third);
      await sidecar.answer(ALIVE);
    }
    assert.equal(held.signal.aborted, false);
  });

  for (const [skipped, cause] of [
    [1_999, 'lease_expired'],
    [2_000, 'unreachable'],
  ] as const)
    it(`${skipped} ms after a process stood still with a renewal under way, it is lost as ${cause}, whatever is read first`, async () => {
      const { clock, sidecar, hold } = stage();
      const held = hold();
      clock.advance(1_000);
      clock.skip(skipped);
      await sidecar.answer({ alive: false, cause: 'lease_expired' });
      assert.equal(causeOf(held), cause);
    });

  it('never gives a renewal more than a third of the lease, or more than is left of it', async () => {
    const { clock, sidecar, hold } = stage();
    hold();
    clock.advance(1_000);
    await sidecar.fail();
    clock.advance(300);
    await sidecar.fail();
    clock.advance(300);
    await sidecar.fail();
    clock.advance(1_200);
    assert.deepEqual(
      sidecar.sent.map(({ timeout }) => timeout),
      [1_000, 1_000, 1_000, 1_000].map((ms, n) => Math.min(ms, 2_000 - 300 * n)),
    );
  });

  it('is lost when the sidecar says so, with its cause, and is renewed no more', async () => {
    const { clock, sidecar, hold } = stage();
    const held = hold();
    clock.advance(1_000);
    await sidecar.answer({ alive: false, cause: 'evicted' });
    assert.equal(causeOf(held), 'evicted');
    clock.advance(60_000);
    assert.deepEqual([sidecar.sent.length, clock.pending], [1, 0]);
  });

  it('is tried again when a renewal fails, and goes on when one comes through', async () => {
    const { clock, sidecar, hold } = stage();
    const held = hold();
    clock.advance(1_000);
    await sidecar.fail();
    clock.advance(300);
    assert.equal(sidecar.sent.length, 2);
    await sidecar.answer(ALIVE);
    clock.advance(999);
    assert.equal(sidecar.sent.length, 2);
    clock.advance(1);
    assert.equal(sidecar.sent.length, 3);
    assert.equal(held.signal.aborted, false);
  });

  it('is taken for lost, a margin before its lease ends, when no renewal came through', async () => {
    const { clock, sidecar, hold } = stage(500);
    const held = hold();
    for (clock.advance(1_000); clock.now() < 2_200; clock.advance(300)) await sidecar.fail();
    clock.advance(2_499 - clock.now());
    assert.equal(held.signal.aborted, false);
    clock.advance(1);
    assert.equal(causeOf(held), 'unreachable');
  });

  it('is taken for lost also while a renewal is on its way', async () => {
    const { clock, hold } = stage();
    const held = hold();
    clock.advance(2_999);
    assert.equal(held.signal.aborted, false);
    clock.advance(1);
    assert.equal(causeOf(held), 'unreachable');
  });

  it('counts its life from when a renewal was sent, not from its answer', async () => {
    const { clock, sidecar, hold } = stage();
    const held = hold();
    clock.advance(1_000);
    clock.advance(1_500);
    await sidecar.answer(ALIVE);
    clock.advance(0);
    assert.equal(sidecar.sent.at(-1)?.at, 2_500);
    clock.advance(1_499);
    assert.equal(held.signal.aborted, false);
    clock.advance(1);
    assert.equal(causeOf(held), 'unreachable');
  });

  it('counts its life from when it was asked for', () => {
    const { clock, hold } = stage();
    clock.advance(800);
    const held = hold(7, { askedAt: 0 });
    clock.advance(2_199);
    assert.equal(held.signal.aborted, false);
    clock.advance(1);
    assert.equal(causeOf(held), 'unreachable');
  });

  it('that may be older than its lease is lost at once', () => {
    const { clock, hold } = stage();
    clock.advance(3_000);
    assert.equal(causeOf(hold(7, { askedAt: 0 })), 'unreachable');
    assert.equal(clock.pending, 0);
  });

  it('that is older than a third of its lease is renewed at once', () => {
    const { clock, sidecar, hold } = stage();
    clock.advance(1_500);
    hold(7, { askedAt: 0 });
    clock.advance(0);
    assert.equal(sidecar.sent.at(-1)?.at, 1_500);
  });

  it('that was released is renewed no more, and an answer that comes late means nothing', async () => {
    const { clock, sidecar, hold } = stage();
    const held = hold();
    clock.advance(1_000);
    held.release();
    await sidecar.answer({ alive: false, cause: 'settled' });
    clock.advance(60_000);
    assert.deepEqual([sidecar.sent.length, held.signal.aborted, clock.pending], [1, false, 0]);
  });
});

describe('many turns that live by their leases', () => {
  it('are renewed together, with those that are due soon', async () => {
    const { clock, sidecar, hold } = stage();
    hold(1);
    clock.advance(200);
    hold(2);
    clock.advance(300);
    hold(3);
    clock.advance(500);
    assert.deepEqual(
      sidecar.sent.map(({ tokens }) => tokens),
      [[1, 2]],
    );
    await sidecar.answer(ALIVE, { alive: false, cause: 'taken_over' });
    clock.advance(500);
    assert.deepEqual(sidecar.sent.at(-1)?.tokens, [3]);
  });

  it('are renewed a thousand at a time, with one timer', () => {
    const { clock, sidecar, hold } = stage();
    for (let token = 1; token <= 2_500; token++) hold(token);
    assert.equal(clock.pending, 1);
    clock.advance(1_000);
    assert.deepEqual(
      sidecar.sent.map(({ tokens }) => tokens.length),
      [1_000, 1_000, 500],
    );
  });

  it('are renewed apart if their leases differ, each with its own', () => {
    const { clock, sidecar, hold } = stage();
    hold(1);
    hold(2, { lease: LEASE + 1 });
    hold(3);
    clock.advance(1_001);
    assert.deepEqual(
      sidecar.sent.map(({ tokens, lease }) => [tokens, lease]),
      [
        [[1, 3], LEASE],
        [[2], LEASE + 1],
      ],
    );
  });

  it('are all lost when the client is closed', () => {
    const { clock, renewals, hold } = stage();
    const held = [hold(1), hold(2)];
    renewals.close('closed');
    assert.deepEqual([held.map(causeOf), clock.pending], [['closed', 'closed'], 0]);
  });
});

describe('a turn that lives by its lease and whose answer comes after a wait', () => {
  function confirming() {
    const clock = new FakeClock({ now: 0, wall: 0 });
    const sidecar = new Sidecar(clock);
    const confirmations = new Confirmations(sidecar, clock, () => undefined);
    let answer: (turn: Turn) => void = () => {};
    const asked = new Promise<Turn>((resolve) => {
      answer = resolve;
    });
    const confirmed = confirmations.of(asked, (turn) => [turn]);
    return { clock, sidecar, confirmations, answer, confirmed };
  }

  const TURN = { queue: 'q', key: 'k', token: 7, lease: LEASE, leaseExpiresAt: 0, attempt: 0 };

  it('is renewed before the answer is handed on, and is as young as that renewal', async () => {
    const { clock, sidecar, confirmations, answer, confirmed } = confirming();
    clock.advance(60_000);
    answer(TURN);
    assert.equal(await stateOf(confirmed), 'open');
    assert.deepEqual(sidecar.sent, [{ at: 60_000, tokens: [7], lease: LEASE, timeout: LEASE }]);
    clock.advance(100);
    await sidecar.answer(ALIVE);
    assert.equal(await confirmed, TURN);
    assert.equal(confirmations.since(TURN, 0), 60_000);
  });

  it('keeps the lease of its queue where others of the same answer have another', async () => {
    const { clock, sidecar, confirmations } = confirming();
    const other = { ...TURN, token: 8, lease: 10 * LEASE };
    const confirmed = confirmations.of(Promise.resolve([TURN, other]), (turns) => turns);
    clock.advance(60_000);
    assert.equal(await stateOf(confirmed), 'open');
    assert.deepEqual(sidecar.sent, [{ at: 60_000, tokens: [7, 8], lease: undefined, timeout: LEASE }]);
  });

  it('is as old as the call when nothing confirms it', async () => {
    const ENDS = [(one: Sidecar) => one.fail(), (one: Sidecar) => one.answer({ alive: false, cause: 'lease_expired' })];
    for (const end of ENDS) {
      const { clock, sidecar, confirmations, answer, confirmed } = confirming();
      clock.advance(60_000);
      answer(TURN);
      await settled();
      await end(sidecar);
      assert.equal(await confirmed, TURN);
      assert.equal(confirmations.since(TURN, 5), 5);
    }
  });

  it('is handed on at once when the wait was short', async () => {
    const { clock, sidecar, answer, confirmed } = confirming();
    clock.advance(1_000);
    answer(TURN);
    assert.equal(await confirmed, TURN);
    assert.equal(sidecar.sent.length, 0);
  });
});
