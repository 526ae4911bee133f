/** Turns of a session, from their answer to their end: until when they are safe, and who is told when they are not. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type HeldTurn, type Turn, TurnLostError } from '@keyturn/client';
import { LossCause, NackKind } from '#client/gen/keyturn/v1/coordinator';
import type { FakeStream } from './fake-network.js';
import {
  accept,
  block,
  dequeued,
  error,
  greet,
  lost,
  MARGIN,
  nacked,
  pong,
  refused,
  renewed,
  type Stage,
  stage,
  TTL,
  unavailable,
  turn as wireTurn,
} from './stage.js';

const REF = { queue: 'q', key: 'k' };
const FIRST_PAUSE = 50;

/** The turn with token 7, given now. */
async function given(
  set: Stage,
  more: { readonly lease?: number; readonly ticket?: string } = {},
  told: { readonly attempt?: number } = {},
): Promise<Turn> {
  const asked = set.client.enQueue({ ...REF, ...more });
  await set.turn();
  const { stream } = set.network;
  stream.reply([stream.calls('enqueue').at(-1)?.id ?? 0, accept(7, told)]);
  const answer = await asked;
  if (answer.decision !== 'accept') throw new Error('no turn');
  return answer.turn;
}

function causeOf({ signal }: HeldTurn): unknown {
  return signal.reason instanceof TurnLostError ? signal.reason.loss : signal.reason;
}

/** Answers every ping that was not answered yet. */
function pings(stream: FakeStream): number {
  const sent = stream.calls('cancel').filter(({ value }) => value.id === 0);
  for (const { id } of sent) stream.reply([id, pong()]);
  return sent.length;
}

describe('a tied turn', () => {
  it('is safe until the last answered command plus ttl, less the margin', async (t) => {
    const set = stage(t);
    await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    await set.advance(TTL - MARGIN - 1);
    assert.equal(held.signal.aborted, false);
    await set.advance(1);
    assert.equal(causeOf(held), 'unreachable');
  });

  it('is proved by an answer as of when its command was sent, not as of its answer', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    await set.advance(1_000);
    void set.client.deQueue({ ...REF, token: 1 }).catch(() => {});
    await set.advance(1_500);
    stream.reply([stream.call('dequeue').id, dequeued()]);
    await set.advance(TTL - MARGIN - 1_500 - 1);
    assert.equal(held.signal.aborted, false);
    await set.advance(1);
    assert.equal(held.signal.aborted, true);
  });

  it('is kept by a ping at every third of ttl, one at a time, however many turns there are', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    stream.messages.length = 0;
    for (let third = 1; third <= 10; third++) {
      await set.advance(TTL / 3 - 1);
      assert.equal(stream.commands.length, third - 1);
      await set.advance(1);
      assert.equal(stream.commands.length, third);
      stream.reply([stream.commands.at(-1)?.id ?? 0, pong()]);
      await set.turn();
    }
    assert.equal(held.signal.aborted, false);
  });

  it('needs no ping while other commands are answered', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    await given(set);
    for (let n = 0; n < 10; n++) {
      await set.advance(TTL / 3 - 1);
      void set.client.deQueue({ ...REF, token: 1 }).catch(() => {});
      await set.turn();
      stream.reply([stream.calls('dequeue').at(-1)?.id ?? 0, dequeued()]);
    }
    assert.equal(stream.calls('cancel').length, 0);
  });

  it('that no stream answers for: the stream is left for another one before the turn is given up', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    await set.advance((TTL * 2) / 3);
    assert.equal(stream.destroyed, true);
    await set.advance(FIRST_PAUSE);
    assert.equal(set.network.streams.length, 2);
    greet(set.network.stream, [{ ...REF, token: 7n }]);
    await set.advance(TTL / 3);
    pings(set.network.stream);
    await set.advance(TTL / 3);
    assert.equal(held.signal.aborted, false);
  });

  it('is given up while the stream is down, and is given back when the sidecar still has it', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    void set.client.awaitItem({ queue: 'q', itemId: 'i' }, { timeout: 60_000 }).catch(() => {});
    await set.turn();
    stream.cut(unavailable());
    await set.advance(TTL - MARGIN - 1);
    assert.equal(held.signal.aborted, false);
    await set.advance(1);
    assert.equal(causeOf(held), 'unreachable');
    held.release();
    greet(set.network.stream, [{ ...REF, token: 7n }]);
    await set.turn();
    assert.equal(set.network.stream.call('nack').value.kind, NackKind.NACK_KIND_RELEASE);
  });

  it('that its holder gave up is given back at once, though calls wait that may be answered with turns', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    void set.client.acquire({ queues: ['q'], ticket: 't', wait: 300_000 }).catch(() => {});
    await set.turn();
    stream.cut(unavailable());
    await set.advance(TTL - MARGIN);
    assert.equal(causeOf(held), 'unreachable');
    held.release();
    for (let n = 0; n < 2; n += 1) {
      const { stream: next } = set.network;
      greet(next, [{ ...REF, token: 7n }]);
      await set.turn();
      assert.equal(next.call('nack').value.token, 7n, 'once for every stream that tells of it, until it is answered');
      if (n > 0) next.reply([next.call('nack').id, nacked()]);
      next.cut(unavailable());
      await set.advance(1_000);
    }
    greet(set.network.stream);
    await set.turn();
    assert.equal(set.network.stream.calls('nack').length, 0);
  });

  for (const isEnded of [true, false]) {
    const until = isEnded ? 'its holder has ended' : 'its holder has had the margin to end';
    it(`that was given up, and is there again, is not given back before ${until}`, async (t) => {
      const set = stage(t);
      const stream = await set.begin();
      const held = set.client.hold(await given(set), set.clock.now());
      void set.client.awaitItem({ queue: 'q', itemId: 'i' }, { timeout: 60_000 }).catch(() => {});
      await set.turn();
      stream.cut(unavailable());
      await set.advance(TTL - MARGIN);
      assert.equal(causeOf(held), 'unreachable');
      // It is told of once more by the next stream.
      greet(set.network.stream, [{ ...REF, token: 7n }]);
      await set.turn();
      assert.equal(set.network.stream.calls('nack').length, 0);
      set.network.stream.cut(unavailable());
      await set.advance(500);
      const { stream: next } = set.network;
      greet(next, [{ ...REF, token: 7n }]);
      await set.advance(MARGIN - 500 - 1);
      assert.equal(next.calls('nack').length, 0);
      if (isEnded) held.release();
      else await set.advance(1);
      await set.turn();
      assert.equal(next.call('nack').value.token, 7n);
      next.reply([next.call('nack').id, nacked()]);
      held.release();
      await set.advance(MARGIN);
      assert.equal(next.calls('nack').length, 1);
    });
  }

  describe('S595: of a process that stood still, as a handler that computes for long makes it', () => {
    const STOOD_STILL = 2 * TTL;
    async function awake(t: TestContext) {
      const set = stage(t);
      const stream = await set.begin();
      const held = set.client.hold(await given(set), set.clock.now());
      await set.turn();
      set.clock.skip(STOOD_STILL);
      await set.advance(0);
      return { set, stream, held };
    }

    it('is kept when the sidecar answers within a second, and can be settled', async (t) => {
      const { set, stream, held } = await awake(t);
      await set.advance(999);
      assert.equal(pings(stream), 1);
      await set.advance(1_000);
      assert.equal(held.signal.aborted, false);
      const settled = set.client.deQueue({ ...REF, token: 7 });
      await set.turn();
      stream.reply([stream.call('dequeue').id, dequeued()]);
      await settled;
    });

    it('is kept when the stream was broken meanwhile, and the next one tells of it', async (t) => {
      const { set, stream, held } = await awake(t);
      stream.cut(unavailable());
      await set.advance(FIRST_PAUSE);
      greet(set.network.stream, [{ ...REF, token: 7n }]);
      await set.advance(TTL - MARGIN - FIRST_PAUSE - 1);
      assert.equal(held.signal.aborted, false);
    });

    it('is lost in time when it was woken before its holder is told, however late', async (t) => {
      const set = stage(t);
      await set.begin();
      const held = set.client.hold(await given(set), set.clock.now());
      await set.turn();
      set.clock.skip(TTL - MARGIN - 10);
      await set.advance(0);
      await set.advance(10);
      assert.equal(causeOf(held), 'unreachable');
    });

    it('is lost when it stands still again and nothing was heard meanwhile', async (t) => {
      const { set, held } = await awake(t);
      set.clock.skip(STOOD_STILL);
      await set.advance(0);
      assert.equal(causeOf(held), 'unreachable');
    });

    it('is lost when nothing is heard for a second', async (t) => {
      const { set, held } = await awake(t);
      await set.advance(999);
      assert.equal(held.signal.aborted, false);
      await set.advance(1);
      assert.equal(causeOf(held), 'unreachable');
    });
  });

  describe('S596: that was given up while somebody worked on its items, and is there still', () => {
    async function back(t: TestContext, isInUse = true) {
      const set = stage(t);
      const stream = await set.begin();
      const held = set.client.hold(await given(set, {}, { attempt: 1 }), set.clock.now());
      void set.client.awaitItem({ queue: 'q', itemId: 'i' }, { timeout: 60_000 }).catch(() => {});
      await set.turn();
      if (!isInUse) held.release();
      stream.cut(unavailable());
      await set.advance(TTL - MARGIN);
      held.release();
      greet(set.network.stream, [{ ...REF, token: 7n }]);
      await set.turn();
      return { set, stream: set.network.stream };
    }

    it('counts an attempt, as when the sidecar notices the silence first', async (t) => {
      const { stream } = await back(t);
      const { kind, error: why } = stream.call('nack').value;
      assert.deepEqual([kind, /worker was silent/.test(why)], [NackKind.NACK_KIND_RETRY, true]);
    });

    it('does so also when the sidecar refuses it for now', async (t) => {
      const { set, stream } = await back(t);
      stream.reply([stream.call('nack').id, error(14, 'NO_HOME')]);
      await set.advance(1_000);
      const kinds = stream.calls('nack').map(({ value }) => value.kind);
      assert.deepEqual(kinds, [NackKind.NACK_KIND_RETRY, NackKind.NACK_KIND_RETRY]);
    });

    it('is released where the queue gives its items once', async (t) => {
      const { set, stream } = await back(t);
      stream.reply([stream.call('nack').id, error(9, 'AT_MOST_ONCE')]);
      await set.turn();
      const kinds = stream.calls('nack').map(({ value }) => value.kind);
      assert.deepEqual(kinds, [NackKind.NACK_KIND_RETRY, NackKind.NACK_KIND_RELEASE]);
    });

    it('counts none when nobody had begun', async (t) => {
      const { stream } = await back(t, false);
      assert.equal(stream.call('nack').value.kind, NackKind.NACK_KIND_RELEASE);
    });
  });

  it('that its holder gave up is left to a call that settles it', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    const settling = set.client.deQueue({ ...REF, token: 7 }, { timeout: 60_000 });
    await set.turn();
    stream.cut(unavailable());
    await set.advance(TTL - MARGIN);
    assert.equal(causeOf(held), 'unreachable');
    const { stream: next } = set.network;
    greet(next, [{ ...REF, token: 7n }]);
    await set.turn();
    assert.equal(next.calls('nack').length, 0);
    next.reply([next.call('dequeue').id, dequeued()]);
    await settling;
  });

  it('is settled on the next stream though nobody waits for it any more: the session would keep it for ever', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    const givenUp = refused(set.client.deQueue({ ...REF, token: 7 }, { timeout: 1_000 }));
    await set.advance(1_000);
    assert.equal((await givenUp).code, 'DEADLINE_EXCEEDED');
    held.release();
    stream.cut(unavailable());
    await set.advance(FIRST_PAUSE);
    const { stream: next } = set.network;
    greet(next, [{ ...REF, token: 7n }]);
    await set.turn();
    next.reply([next.call('dequeue').id, dequeued()]);
    next.messages.length = 0;
    await set.advance(60_000);
    assert.deepEqual([next.messages.length, set.clock.pending], [0, 0]);
  });

  it('that was given up in silence leaves its stream too, which may be alive: the session would keep the turn', async (t) => {
    const set = stage(t, { ttl: 1_000 });
    const { client } = set;
    void client.awaitItem({ queue: 'q', itemId: 'i' }).catch(() => {});
    await set.turn();
    const { stream } = set.network;
    const ttl = { seconds: 1n, nanos: 0 };
    stream.reply([
      stream.call('hello').id,
      { $case: 'hello', value: { sessionId: 's', ttl, turns: [], turnCount: 0 } },
    ]);
    const held = client.hold(await given(set), set.clock.now());
    await set.advance(900);
    assert.equal(causeOf(held), 'unreachable');
    assert.equal(stream.destroyed, true);
    held.release();
    await set.advance(FIRST_PAUSE);
    greet(set.network.stream, [{ ...REF, token: 7n }]);
    await set.turn();
    assert.equal(set.network.stream.call('nack').value.kind, NackKind.NACK_KIND_RELEASE);
  });

  it('that was given up before a Renew said that it lives is given back', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    await set.advance(TTL - MARGIN - 1 - FIRST_PAUSE - 1_000);
    stream.cut(unavailable());
    await set.advance(1_000);
    const { stream: next } = set.network;
    greet(next);
    await set.advance(FIRST_PAUSE + 1);
    assert.equal(causeOf(held), 'unreachable');
    next.reply([next.call('renew').id, renewed(true)]);
    await set.turn();
    assert.equal(next.calls('nack').length, 0, 'its holder is still stopping');
    held.release();
    await set.turn();
    assert.equal(next.call('nack').value.kind, NackKind.NACK_KIND_RELEASE);
  });

  it('follows the ttl that the sidecar says', async (t) => {
    const set = stage(t);
    void set.client.awaitItem({ queue: 'q', itemId: 'i' }).catch(() => {});
    await set.turn();
    const { stream } = set.network;
    const ttl = { seconds: 3n, nanos: 0 };
    stream.reply([
      stream.call('hello').id,
      { $case: 'hello', value: { sessionId: 's', ttl, turns: [], turnCount: 0 } },
    ]);
    const held = set.client.hold(await given(set), set.clock.now());
    await set.advance(2_700);
    assert.equal(causeOf(held), 'unreachable');
  });

  it('ends for nobody but its holder when it is settled: no signal, no ping, nothing left', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    held.release();
    const settled = set.client.deQueue({ ...REF, token: 7 });
    await set.turn();
    stream.reply([stream.call('dequeue').id, dequeued()]);
    await settled;
    stream.messages.length = 0;
    await set.advance(60_000);
    assert.deepEqual([held.signal.aborted, stream.messages.length, set.clock.pending], [false, 0, 0]);
    stream.cut(unavailable());
    await set.advance(60_000);
    assert.equal(set.network.streams.length, 1);
  });

  it('is settled by its ticket too', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    await given(set, { ticket: 't' });
    const settled = set.client.deQueue({ ...REF, ticket: 't' });
    await set.turn();
    stream.reply([stream.call('dequeue').id, dequeued()]);
    await settled;
    stream.cut(unavailable());
    await set.advance(60_000);
    assert.equal(set.network.streams.length, 1);
  });
});

describe('a turn that is lost', () => {
  it('is told with its cause', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    stream.tell(lost(8, LossCause.LOSS_CAUSE_EVICTED));
    assert.equal(held.signal.aborted, false);
    stream.tell(lost(7, LossCause.LOSS_CAUSE_EVICTED));
    assert.equal(causeOf(held), 'evicted');
  });

  it('before anybody held it: whoever holds it is told at once', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const asked = set.client.enQueue(REF);
    await set.turn();
    const reply = { id: stream.call('enqueue').id, outcome: accept(7) };
    stream.tell({ replies: [reply], notices: lost(7, LossCause.LOSS_CAUSE_TAKEN_OVER).notices });
    const answer = await asked;
    assert.equal(causeOf(set.client.hold(answer.decision === 'accept' ? answer.turn : neverTurn(), 0)), 'taken_over');
  });

  it('is learnt by a call that wanted to settle it', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set), set.clock.now());
    const settling = set.client.nack({ ...REF, token: 7, kind: 'retry' });
    const renewing = set.client.renew({ turns: [{ ...REF, token: 7 }] });
    await set.turn();
    stream.reply([stream.call('renew').id, renewed(LossCause.LOSS_CAUSE_LEASE_EXPIRED)]);
    assert.equal(causeOf(held), 'lease_expired');
    stream.reply([stream.call('nack').id, nacked()]);
    await Promise.all([settling, renewing]);
  });

  it('asks nobody to reconnect', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    await given(set);
    stream.tell(lost(7, LossCause.LOSS_CAUSE_EVICTED));
    stream.cut(unavailable());
    await set.advance(60_000);
    assert.equal(set.network.streams.length, 1);
  });
});

describe('a turn with a lease of its own', () => {
  it('is renewed while it is held, and is not a reason to reconnect when it is not', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const turn = await given(set, { lease: 20_000 });
    const held = set.client.hold(turn, set.clock.now());
    await set.advance(20_000 / 3 + 1);
    const { id, value } = stream.call('renew');
    assert.deepEqual(value, { turns: [{ ...REF, token: 7n }], lease: { seconds: 20n, nanos: 0 } });
    stream.reply([id, renewed(true)]);
    await set.turn();
    held.release();
    stream.cut(unavailable());
    await set.advance(60_000);
    assert.deepEqual([stream.calls('renew').length, set.network.streams.length, held.signal.aborted], [1, 1, false]);
  });

  it('is lost when no renewal comes through', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set, { lease: 20_000 }), set.clock.now());
    stream.cut(unavailable());
    await set.advance(17_999);
    assert.equal(held.signal.aborted, false);
    await set.advance(1);
    assert.equal(causeOf(held), 'unreachable');
  });

  for (const [passed, cause] of [
    [17_999, 'lease_expired'],
    [18_000, 'unreachable'],
  ] as const)
    it(`is lost as ${cause} when a process that stood still for ${passed} ms reads first that its lease ended`, async (t) => {
      const set = stage(t);
      const stream = await set.begin();
      const held = set.client.hold(await given(set, { lease: 20_000 }), set.clock.now());
      set.clock.skip(passed);
      stream.tell(lost(7, LossCause.LOSS_CAUSE_LEASE_EXPIRED));
      assert.equal(causeOf(held), cause);
    });

  for (const [passed, cause] of [
    [17_999, 'lease_expired'],
    [18_000, 'unreachable'],
  ] as const)
    it(`is lost as ${cause} when it is told before anybody held it, ${passed} ms after it was asked for`, async (t) => {
      const set = stage(t);
      const stream = await set.begin();
      const askedAt = set.clock.now();
      const turn = await given(set, { lease: 20_000 });
      set.clock.skip(askedAt + passed - set.clock.now());
      stream.tell(lost(7, LossCause.LOSS_CAUSE_LEASE_EXPIRED));
      set.clock.skip(1);
      assert.equal(causeOf(set.client.hold(turn, askedAt)), cause);
    });

  it('is lost as it was told in time, however late somebody holds it', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const askedAt = set.clock.now();
    const turn = await given(set, { lease: 20_000 });
    stream.tell(lost(7, LossCause.LOSS_CAUSE_EVICTED));
    set.clock.skip(60_000);
    assert.equal(causeOf(set.client.hold(turn, askedAt)), 'evicted');
  });

  it('is told of its loss', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const held = set.client.hold(await given(set, { lease: 20_000 }), set.clock.now());
    stream.tell(lost(7, LossCause.LOSS_CAUSE_SETTLED));
    assert.equal(causeOf(held), 'settled');
    stream.messages.length = 0;
    await set.advance(60_000);
    assert.equal(stream.messages.length, 0);
  });

  it('of another session is renewed as well', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    set.client.hold({ ...REF, token: 99, lease: 3_000, leaseExpiresAt: 0, attempt: 0 }, set.clock.now());
    await set.advance(1_000);
    assert.equal(stream.call('renew').value.turns[0]?.token, 99n);
  });
});

describe('a turn that comes when nobody waits for it any more', () => {
  it('without a ticket is given back at once', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const asked = refused(set.client.enQueue(REF, { timeout: 1_000 }));
    await set.advance(1_000);
    assert.equal((await asked).code, 'DEADLINE_EXCEEDED');
    const { id } = stream.call('enqueue');
    assert.deepEqual(stream.call('cancel').value, { id, leave: false });
    stream.reply([id, accept(7)]);
    await set.turn();
    const { value } = stream.call('nack');
    assert.deepEqual([value.queue, value.key, value.token, value.kind], ['q', 'k', 7n, NackKind.NACK_KIND_RELEASE]);
  });

  it('with a ticket is kept for the next call with it, for a while', async (t) => {
    for (const comesBack of [true, false]) {
      const set = stage(t);
      const stream = await set.begin();
      const asked = refused(set.client.enQueue({ ...REF, ticket: 't' }, { timeout: 1_000 }));
      await set.advance(1_000);
      await asked;
      stream.reply([stream.call('enqueue').id, accept(7)]);
      await set.turn();
      assert.equal(stream.calls('nack').length, 0);
      if (comesBack) {
        const again = set.client.enQueue({ ...REF, ticket: 't' });
        await set.turn();
        stream.reply([stream.calls('enqueue').at(-1)?.id ?? 0, accept(7)]);
        assert.equal((await again).decision, 'accept');
      }
      for (let second = 0; second < 11; second++) {
        await set.advance(1_000);
        pings(stream);
      }
      assert.equal(stream.calls('nack').length, comesBack ? 0 : 1);
    }
  });

  it('of a dispatch is given back, each of its turns', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const asked = refused(set.client.acquire({ queues: ['q'], maxTurns: 2, wait: 60_000 }, { timeout: 1_000 }));
    await set.advance(1_000);
    await asked;
    const delivery = (token: number) => ({ turn: wireTurn(token, { key: `k${token}` }), items: [] });
    const value = { deliveries: [delivery(7), delivery(8)] };
    stream.reply([stream.call('acquire').id, { $case: 'acquire', value }]);
    await set.turn();
    assert.deepEqual(
      stream.calls('nack').map((call) => call.value.token),
      [7n, 8n],
    );
  });

  it('is nobody’s to give back while another call learnt of it', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const stop = new AbortController();
    const old = refused(set.client.enQueue({ ...REF, ticket: 't' }, { signal: stop.signal, leave: true }));
    const newer = set.client.enQueue({ ...REF, ticket: 't' });
    await set.turn();
    stop.abort();
    await old;
    const [first, second] = stream.calls('enqueue');
    stream.reply([second?.id ?? 0, accept(7)], [first?.id ?? 0, accept(7)]);
    assert.equal((await newer).decision, 'accept');
    await set.turn();
    assert.equal(stream.calls('nack').length, 0);
  });

  it('a BLOCK is nothing to give back', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const asked = refused(set.client.enQueue(REF, { timeout: 1_000 }));
    await set.advance(1_000);
    await asked;
    stream.reply([stream.call('enqueue').id, block()]);
    await set.turn();
    assert.equal(stream.calls('nack').length, 0);
  });
});

function neverTurn(): never {
  throw new Error('no turn');
}
