/** Streams that break, at whatever moment, and what a new one is told. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { KeyturnError, TurnLostError } from '@keyturn/client';
import { LossCause, NackKind } from '#client/gen/keyturn/v1/coordinator';
import {
  accept,
  awaited,
  block,
  dequeued,
  error,
  greet,
  hello,
  nacked,
  pong,
  refused,
  renewed,
  stage,
  stateOf,
  unavailable,
  turn as wireTurn,
} from './stage.js';

const REF = { queue: 'q', key: 'k' };

/** The pause after the first break: random is a half, the first bound 100 ms. */
const FIRST_PAUSE = 50;

describe('a stream that breaks', () => {
  it('before hello is answered: everything is sent again, hello first', async (t) => {
    const { client, network, turn, advance } = stage(t);
    const asked = client.enQueue({ ...REF, ticket: 't' });
    await turn();
    network.stream.cut(unavailable());
    await advance(FIRST_PAUSE);
    const { stream } = network;
    assert.equal(network.streams.length, 2);
    assert.deepEqual(
      stream.commands.map(({ call }) => call?.$case),
      ['hello'],
    );
    greet(stream);
    await turn();
    stream.reply([stream.call('enqueue').id, block()]);
    assert.equal((await asked).decision, 'block');
  });

  it('while calls wait: they are sent again in order, with their ids, and each is answered once', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const old = await begin();
    const asked = ['a', 'b', 'c'].map((itemId) => client.awaitItem({ queue: 'q', itemId }));
    await turn();
    const [first] = old.calls('awaitItem');
    old.reply([first?.id ?? 0, awaited()]);
    old.cut(unavailable());
    const late = client.awaitItem({ queue: 'q', itemId: 'd' });
    await advance(FIRST_PAUSE);
    greet(network.stream);
    await turn();
    const again = network.stream.calls('awaitItem');
    assert.deepEqual(
      again.map(({ value }) => value.itemId),
      ['b', 'c', 'd'],
    );
    // What an old stream still says means nothing.
    old.reply([again[0]?.id ?? 0, awaited()]);
    assert.equal(await stateOf(asked[1] ?? late), 'open');
    network.stream.reply(...again.map(({ id }) => [id, awaited()] as const));
    await Promise.all([...asked, late]);
  });

  it('is followed by another only while somebody waits or holds a turn; else by the next call', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const stream = await begin();
    stream.cut();
    await advance(60_000);
    assert.equal(network.streams.length, 1);
    void client.awaitItem({ queue: 'q', itemId: 'i' }).catch(() => {});
    await turn();
    assert.equal(network.streams.length, 2);
    assert.deepEqual(
      network.stream.commands.map(({ call }) => call?.$case),
      ['hello', 'awaitItem'],
    );
  });

  it('again and again: pauses grow, jittered, up to a bound', async (t) => {
    const { client, network, turn, clock } = stage(t, {}, () => 0.999_999);
    void client.awaitItem({ queue: 'q', itemId: 'i' }, { timeout: 3_600_000 }).catch(() => {});
    await turn();
    const opened: number[] = [];
    let at = clock.now();
    for (let n = 0; n < 7; n++) {
      network.stream.cut(unavailable());
      const before = network.streams.length;
      while (network.streams.length === before) clock.advance(1);
      opened.push(clock.now() - at);
      at = clock.now();
    }
    assert.deepEqual(opened, [100, 200, 400, 800, 1_000, 1_000, 1_000]);
  });

  it('after it stood for a while: pauses begin anew', async (t) => {
    const { client, network, turn, advance } = stage(t, {}, () => 0.999_999);
    void client.awaitItem({ queue: 'q', itemId: 'i' }, { timeout: 3_600_000 }).catch(() => {});
    await turn();
    for (const pause of [100, 200, 400]) {
      network.stream.cut(unavailable());
      await advance(pause);
    }
    greet(network.stream);
    await advance(1_000);
    network.stream.cut(unavailable());
    const before = network.streams.length;
    await advance(100);
    assert.equal(network.streams.length, before + 1);
  });

  it('in peace, or because the sidecar drains: there is a next one', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const stream = await begin();
    void client.awaitItem({ queue: 'q', itemId: 'i' }).catch(() => {});
    await turn();
    stream.cut();
    await advance(FIRST_PAUSE);
    network.stream.cut(new KeyturnError('draining', 'UNAVAILABLE', 'DRAINING'));
    await advance(2 * FIRST_PAUSE);
    assert.equal(network.streams.length, 3);
  });

  it('for a reason that stays: open calls are refused with it, and the next call tries again', async (t) => {
    const { client, network, turn } = stage(t);
    const asked = client.enQueue(REF);
    await turn();
    network.stream.cut(new KeyturnError('no such service', 'UNIMPLEMENTED'));
    assert.equal((await refused(asked)).code, 'UNIMPLEMENTED');
    void client.enQueue(REF).catch(() => {});
    await turn();
    assert.equal(network.streams.length, 2);
  });

  it('hello refused: the calls are refused as hello was', async (t) => {
    const { client, network, turn } = stage(t);
    const asked = client.enQueue(REF);
    await turn();
    const { stream } = network;
    stream.reply([stream.call('hello').id, error(status.INVALID_ARGUMENT, 'BAD_REQUEST')]);
    assert.equal((await refused(asked)).reason, 'BAD_REQUEST');
    assert.equal(stream.destroyed, true);
  });

  it('because a newer client has the session: it does not fight for it', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const stream = await begin();
    const given = client.enQueue(REF);
    await turn();
    stream.reply([stream.call('enqueue').id, accept(7)]);
    const answer = await given;
    const held = answer.decision === 'accept' ? client.hold(answer.turn, 0) : undefined;
    const open = client.enQueue({ ...REF, key: 'other' });
    await turn();
    stream.cut(new KeyturnError('a newer stream has the session', 'ABORTED', 'SESSION_REPLACED'));
    assert.equal((await refused(open)).reason, 'SESSION_REPLACED');
    assert.equal(held?.signal.aborted, true);
    assert.equal(held?.signal.reason instanceof TurnLostError && held.signal.reason.loss, 'replaced');
    assert.equal((await refused(client.enQueue(REF))).reason, 'SESSION_REPLACED');
    await advance(60_000);
    assert.equal(network.streams.length, 1);
    await client.close();
  });
});

describe('turns across streams', () => {
  async function holding(t: Parameters<typeof stage>[0]) {
    const set = stage(t);
    const stream = await set.begin();
    const asked = set.client.enQueue(REF);
    await set.turn();
    stream.reply([stream.call('enqueue').id, accept(7)]);
    const answer = await asked;
    if (answer.decision !== 'accept') throw new Error('no turn');
    const held = set.client.hold(answer.turn, set.clock.now());
    stream.cut(unavailable());
    await set.advance(FIRST_PAUSE);
    return { ...set, held, stream: set.network.stream };
  }

  it('a turn that is held and told of is held on', async (t) => {
    const { stream, held, turn } = await holding(t);
    greet(stream, [{ ...REF, token: 7n }]);
    await turn();
    assert.deepEqual(
      stream.commands.map(({ call }) => call?.$case),
      ['hello'],
    );
    assert.equal(held.signal.aborted, false);
  });

  it('a turn that is held and not told of is asked for; it lives', async (t) => {
    const { stream, held, turn, advance } = await holding(t);
    greet(stream);
    await turn();
    const { id, value } = stream.call('renew');
    assert.deepEqual(value.turns, [{ ...REF, token: 7n }]);
    stream.reply([id, renewed(true)]);
    await advance(3_000);
    stream.reply([stream.calls('cancel').at(-1)?.id ?? 0, { $case: 'cancel', value: { cancelled: false } }]);
    await advance(5_000);
    assert.equal(held.signal.aborted, false);
  });

  it('a turn that is held and not told of is asked for; it is lost, and why', async (t) => {
    const { stream, held, turn } = await holding(t);
    greet(stream);
    await turn();
    stream.reply([stream.call('renew').id, renewed(LossCause.LOSS_CAUSE_LEASE_EXPIRED)]);
    assert.equal(held.signal.reason instanceof TurnLostError && held.signal.reason.loss, 'lease_expired');
  });

  it('a turn that is held and not told of is no safer than before until the answer', async (t) => {
    const { stream, held, turn, advance } = await holding(t);
    greet(stream);
    await turn();
    // 9 s from the call that gave it, less the margin of 900 ms, less the pause: hello was answered, but not for this turn.
    await advance(8_100 - FIRST_PAUSE - 1);
    assert.equal(held.signal.aborted, false);
    await advance(1);
    assert.equal(held.signal.reason instanceof TurnLostError && held.signal.reason.loss, 'unreachable');
  });

  it('a turn that was given up before that answer, and lives, is given back', async (t) => {
    const { stream, held, turn, advance } = await holding(t);
    greet(stream);
    await turn();
    // The stream itself is well.
    for (let second = 0; second < 9; second++) {
      await advance(1_000);
      for (const { id } of stream.calls('cancel')) stream.reply([id, pong()]);
    }
    assert.equal(held.signal.aborted, true);
    stream.reply([stream.call('renew').id, renewed(true)]);
    await turn();
    assert.equal(stream.call('nack').value.token, 7n);
  });

  it('a thousand turns in one Renew, not more', async (t) => {
    const { client, network, begin, turn, advance } = stage(t, { limits: { commands: 10_000, bytes: 2 ** 30 } });
    const stream = await begin();
    const asked = Array.from({ length: 1_500 }, (_, n) => client.enQueue({ queue: 'q', key: `k${n}` }));
    await turn();
    stream.reply(...stream.calls('enqueue').map(({ id }, n) => [id, accept(n + 1)] as const));
    await Promise.all(asked);
    stream.cut(unavailable());
    await advance(FIRST_PAUSE);
    greet(network.stream);
    await turn();
    assert.deepEqual(
      network.stream.calls('renew').map(({ value }) => value.turns.length),
      [1_000, 500],
    );
  });

  it('a turn that is told of and that nobody holds is given back, before anything is sent again', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const old = await begin();
    const asked = client.enQueue(REF);
    await turn();
    // The sidecar accepts, and the answer is lost with the stream.
    old.cut(unavailable());
    await advance(FIRST_PAUSE);
    const { stream } = network;
    greet(stream, [{ ...REF, token: 7n }]);
    await turn();
    assert.deepEqual(
      stream.commands.map(({ call }) => call?.$case),
      ['hello', 'nack', 'enqueue'],
    );
    const { id, value } = stream.call('nack');
    assert.deepEqual([value.queue, value.key, value.token, value.kind], ['q', 'k', 7n, NackKind.NACK_KIND_RELEASE]);
    stream.reply([id, nacked()], [stream.call('enqueue').id, accept(8)]);
    const answer = await asked;
    assert.equal(answer.decision === 'accept' && answer.turn.token, 8);
  });

  it('a turn that an open call with a ticket may claim is not given back: it is claimed', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const old = await begin();
    const asked = client.enQueue({ ...REF, ticket: 't' });
    await turn();
    old.cut(unavailable());
    await advance(FIRST_PAUSE);
    const { stream } = network;
    greet(stream, [{ ...REF, token: 7n }]);
    await turn();
    stream.reply([stream.call('enqueue').id, accept(7)]);
    assert.equal((await asked).decision, 'accept');
    await advance(60_000);
    assert.equal(stream.calls('nack').length, 0);
  });

  it('a turn that an open call with a ticket did not claim is given back after its answer', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const old = await begin();
    const asked = [
      client.acquire({ queues: ['q'], ticket: 't', wait: 1_000 }),
      client.enQueue({ ...REF, ticket: 'u' }),
    ];
    await turn();
    old.cut(unavailable());
    await advance(FIRST_PAUSE);
    const { stream } = network;
    greet(stream, [{ ...REF, token: 7n }]);
    await turn();
    stream.reply([stream.call('acquire').id, { $case: 'acquire', value: { deliveries: [] } }]);
    await turn();
    assert.equal(stream.calls('nack').length, 0, 'the other one may claim it still');
    stream.reply([stream.call('enqueue').id, block()]);
    await turn();
    assert.equal(stream.call('nack').value.token, 7n);
    await Promise.all(asked);
  });

  it('a turn that an open call settles is left to it', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const old = await begin();
    const asked = client.enQueue(REF);
    await turn();
    old.reply([old.call('enqueue').id, accept(7)]);
    await asked;
    const settling = client.deQueue({ ...REF, token: 7 });
    await turn();
    old.cut(unavailable());
    // Longer than the turn is known to live: it is given up here, but the call goes on.
    await advance(FIRST_PAUSE);
    network.stream.cut(unavailable());
    await advance(8_900);
    const { stream } = network;
    greet(stream, [{ ...REF, token: 7n }]);
    await turn();
    assert.equal(stream.calls('nack').length, 0);
    stream.reply([stream.call('dequeue').id, dequeued()]);
    assert.deepEqual(await settling, { promoted: false, waiting: 0 });
  });

  it('a turn is given back once more if the stream breaks before it was', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const old = await begin();
    void client.enQueue(REF).catch(() => {});
    await turn();
    old.cut(unavailable());
    for (const pause of [FIRST_PAUSE, 2 * FIRST_PAUSE]) {
      await advance(pause);
      greet(network.stream, [{ ...REF, token: 7n }]);
      await turn();
      assert.equal(network.stream.call('nack').value.token, 7n);
      network.stream.cut(unavailable());
    }
  });

  it('what a piped hello tells of is given back too', async (t) => {
    const { client, network, turn } = stage(t);
    void client.awaitItem({ queue: 'q', itemId: 'i' }).catch(() => {});
    await turn();
    const { stream } = network;
    stream.reply([stream.call('hello').id, hello([wireTurn(5, REF)])]);
    await turn();
    assert.equal(stream.call('nack').value.token, 5n);
  });
});
