/** The end of a client: what is called off, given back, waited for, and for how long. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { TurnLostError } from '@keyturn/client';
import type { FakeStream } from './fake-network.js';
import {
  accept,
  block,
  dequeued,
  error,
  greet,
  nacked,
  refused,
  renewed,
  type Stage,
  stage,
  stateOf,
  unavailable,
  turn as wireTurn,
} from './stage.js';

const REF = { queue: 'q', key: 'k' };

describe('close', () => {
  it('refuses open calls, loses held turns, ends the stream, and leaves nothing behind', async (t) => {
    const { client, begin, turn, advance, clock } = stage(t);
    const stream = await begin();
    const given = client.enQueue(REF);
    await turn();
    stream.reply([stream.call('enqueue').id, accept(7)]);
    const answer = await given;
    const held = answer.decision === 'accept' ? client.hold(answer.turn, clock.now()) : undefined;
    const open = refused(client.enQueue({ ...REF, key: 'other' }));
    await turn();
    const closing = client.close();
    await advance(1_000);
    stream.cut();
    await closing;
    await turn();
    assert.equal((await open).message, 'the client was closed');
    assert.equal(held?.signal.reason instanceof TurnLostError && held.signal.reason.loss, 'closed');
    assert.deepEqual([stream.destroyed, clock.pending], [true, 0]);
    assert.equal((await refused(client.enQueue(REF))).code, 'CANCELLED');
  });

  it('calls off what waits, with the places that are to be left, and sends nothing that was not sent', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const leaving = refused(client.enQueue({ ...REF, ticket: 't' }, { leave: true }));
    const staying = refused(client.enQueue({ ...REF, ticket: 'u' }));
    const settling = client.deQueue({ ...REF, token: 7 });
    await turn();
    const late = refused(client.enQueue({ ...REF, ticket: 'v' }, { leave: true }));
    const closing = client.close();
    const [first, second, ...more] = stream.calls('enqueue');
    assert.deepEqual(
      stream.calls('cancel').map(({ value }) => value),
      [
        { id: first?.id, leave: true },
        { id: second?.id, leave: false },
      ],
    );
    assert.deepEqual([more, stream.calls('dequeue').length, stream.ended], [[], 1, false]);
    for (const call of [leaving, staying, late]) assert.equal((await call).code, 'CANCELLED');
    for (const { id } of stream.calls('enqueue')) stream.reply([id, error(status.CANCELLED, 'CANCELLED')]);
    assert.deepEqual([stream.ended, await stateOf(settling)], [false, 'open'], 'what ends a turn may come through');
    stream.reply([stream.call('dequeue').id, dequeued()]);
    await settling;
    assert.equal(stream.ended, true);
    stream.cut();
    await closing;
  });

  it('gives a turn back whose grant crossed the calling off, before the stream ends', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const asked = refused(client.enQueue({ ...REF, ticket: 't' }, { leave: true }));
    await turn();
    const closing = client.close();
    stream.reply([stream.call('enqueue').id, accept(7)]);
    await turn();
    assert.equal((await asked).code, 'CANCELLED');
    assert.deepEqual([stream.call('nack').value.token, stream.ended], [7n, false]);
    stream.reply([stream.call('nack').id, nacked()]);
    assert.equal(stream.ended, true);
    stream.cut();
    await closing;
  });

  it('gives every turn back of a dispatch that crossed the calling off', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const stop = new AbortController();
    const call = { queues: ['q'], maxTurns: 2, wait: 30_000, ticket: 't' };
    const asked = refused(client.acquire(call, { signal: stop.signal, leave: true }));
    await turn();
    stop.abort();
    assert.equal((await asked).code, 'CANCELLED');
    const closing = client.close();
    const deliveries = [8, 9].map((token) => ({ turn: wireTurn(token, REF), items: [] }));
    stream.reply([stream.call('acquire').id, { $case: 'acquire', value: { deliveries } }]);
    await turn();
    assert.deepEqual(
      stream.calls('nack').map(({ value }) => value.token),
      [8n, 9n],
    );
    for (const { id } of stream.calls('nack')) stream.reply([id, nacked()]);
    stream.cut();
    await closing;
  });

  it('gives a turn back that is being confirmed, and refuses its call', async (t) => {
    const { client, begin, turn, advance } = stage(t);
    const stream = await begin();
    const asked = refused(client.enQueue({ ...REF, lease: 1_000 }));
    await turn();
    const handed = refused(client.acquire({ queues: ['r'], lease: 1_000, wait: 30_000 }));
    await turn();
    await advance(400);
    const delivery = { turn: wireTurn(9, { queue: 'r', key: 'k', lease: { seconds: 1n, nanos: 0 } }), items: [] };
    stream.reply([stream.call('enqueue').id, accept(7, { lease: { seconds: 1n, nanos: 0 } })]);
    stream.reply([stream.call('acquire').id, { $case: 'acquire', value: { deliveries: [delivery] } }]);
    await turn();
    assert.equal(stream.calls('renew').length, 2);
    const closing = client.close();
    await turn();
    assert.deepEqual([(await asked).code, (await handed).code], ['CANCELLED', 'CANCELLED']);
    assert.deepEqual(
      stream.calls('nack').map(({ value }) => value.token),
      [7n, 9n],
    );
    for (const { id } of stream.calls('renew')) stream.reply([id, renewed(true)]);
    assert.equal(stream.ended, false);
    for (const { id } of stream.calls('nack')) stream.reply([id, nacked()]);
    await turn();
    assert.equal(stream.ended, true);
    stream.cut();
    await closing;
  });

  it('gives a turn back whose holder ends within a second, and waits for that', async (t) => {
    const { client, begin, turn, clock } = stage(t);
    const stream = await begin();
    const held = await holding(client, stream, turn, clock.now());
    const closing = client.close();
    await turn();
    assert.deepEqual([held.lost, stream.ended, stream.calls('nack').length], [true, false, 0]);
    held.release();
    held.release();
    await turn();
    assert.equal(stream.call('nack').value.token, 7n);
    stream.reply([stream.call('nack').id, nacked()]);
    await turn();
    assert.equal(stream.ended, true);
    stream.cut();
    await closing;
  });

  it('gives a turn with a lease back too, which it was given on a stream that is gone', async (t) => {
    const { client, begin, turn, clock, network, advance } = stage(t);
    const stream = await begin();
    const asked = client.enQueue({ ...REF, lease: 20_000 });
    await turn();
    stream.reply([stream.call('enqueue').id, accept(7)]);
    const answer = await asked;
    assert.ok(answer.decision === 'accept');
    const held = client.hold(answer.turn, clock.now());
    void client.awaitItem({ queue: 'q', itemId: 'j', wait: 20_000 }).catch(() => {});
    await turn();
    stream.cut(unavailable());
    await advance(100);
    greet(network.stream);
    await turn();
    const closing = client.close();
    await turn();
    assert.equal(held.lost, true);
    held.release();
    await turn();
    assert.equal(network.stream.call('nack').value.token, 7n);
    network.stream.cut();
    await advance(2_000);
    await closing;
  });

  it('does not give back what its holder settled meanwhile', async (t) => {
    const { client, begin, turn, clock } = stage(t);
    const stream = await begin();
    const held = await holding(client, stream, turn, clock.now());
    const settling = client.deQueue({ ...REF, token: 7 });
    await turn();
    const closing = client.close();
    stream.reply([stream.call('dequeue').id, dequeued()]);
    await settling;
    held.release();
    await turn();
    assert.deepEqual([stream.calls('nack').length, stream.ended], [0, true]);
    stream.cut();
    await closing;
  });

  it('gives a turn back that came in the same moment, when who waited for it learns of the end', async (t) => {
    const { client, begin, turn, clock } = stage(t);
    const stream = await begin();
    const asked = client.enQueue(REF);
    await turn();
    stream.reply([stream.call('enqueue').id, accept(7)]);
    const closing = client.close();
    const answer = await asked;
    assert.ok(answer.decision === 'accept');
    const held = client.hold(answer.turn, clock.now());
    assert.equal(held.lost, true);
    held.release();
    await turn();
    assert.deepEqual([stream.call('nack').value.token, stream.ended], [7n, false]);
    stream.reply([stream.call('nack').id, nacked()]);
    stream.cut();
    await closing;
  });

  it('gives a turn back at once of which nobody would hear though its ticket may be used again', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const earlier = new AbortController();
    const before = refused(client.enQueue({ ...REF, ticket: 't' }, { signal: earlier.signal }));
    const asked = refused(client.enQueue({ ...REF, key: 'other', ticket: 'u' }));
    await turn();
    const [first, second] = stream.calls('enqueue');
    earlier.abort();
    await turn();
    stream.reply([first?.id ?? 0, accept(7)]);
    const closing = client.close();
    stream.reply([second?.id ?? 0, accept(8)]);
    await turn();
    assert.deepEqual([(await before).code, (await asked).code], ['CANCELLED', 'CANCELLED']);
    assert.deepEqual(
      stream.calls('nack').map(({ value }) => value.token),
      [7n, 8n],
    );
    for (const { id } of stream.calls('nack')) stream.reply([id, nacked()]);
    stream.cut();
    await closing;
  });

  for (const isBrokenBefore of [false, true]) {
    const when = isBrokenBefore ? 'before it' : 'between the calling off and its answer';
    it(`asks a new stream what was given when the stream breaks ${when}, and gives it back`, async (t) => {
      const { client, begin, turn, network, advance } = stage(t);
      const stream = await begin();
      const asked = refused(client.enQueue({ ...REF, ticket: 't' }, { leave: true }));
      await turn();
      if (isBrokenBefore) stream.cut(unavailable());
      const closing = client.close();
      await turn();
      if (!isBrokenBefore) stream.cut(unavailable());
      await advance(200);
      assert.equal((await asked).code, 'CANCELLED');
      assert.equal(network.streams.length, 2);
      assert.deepEqual(network.stream.calls('enqueue'), []);
      greet(network.stream, [{ ...REF, token: 7n }]);
      await turn();
      assert.deepEqual([network.stream.call('nack').value.token, network.stream.ended], [7n, false]);
      network.stream.reply([network.stream.call('nack').id, nacked()]);
      await turn();
      assert.equal(network.stream.ended, true);
      network.stream.cut();
      await closing;
    });
  }

  it('ends in its time when there is no new stream', async (t) => {
    const { client, begin, turn, network, advance, clock } = stage(t);
    const stream = await begin();
    const asked = refused(client.enQueue(REF));
    await turn();
    const closing = client.close();
    for (let at = 0; at < 10; at++) {
      network.stream.cut(unavailable());
      await advance(100);
    }
    await closing;
    assert.equal((await asked).code, 'CANCELLED');
    assert.deepEqual([stream.destroyed, clock.pending], [true, 0]);
  });

  it('is over at once when the stream breaks and nothing can be left behind', async (t) => {
    const { client, begin, turn, network, clock } = stage(t);
    const stream = await begin();
    const asked = refused(client.awaitItem({ queue: 'q', itemId: 'j', wait: 20_000 }));
    await turn();
    const closing = client.close();
    stream.cut(unavailable());
    await closing;
    await turn();
    assert.equal((await asked).code, 'CANCELLED');
    assert.deepEqual([network.streams.length, clock.pending], [1, 0]);
  });

  it('waits for outcomes a second at most, and for the end of the stream another', async (t) => {
    const { client, begin, turn, advance, clock } = stage(t);
    const stream = await begin();
    const settling = refused(client.deQueue({ ...REF, token: 7 }));
    await turn();
    const closing = client.close();
    await advance(999);
    assert.equal(stream.ended, false);
    await advance(1);
    assert.deepEqual([stream.ended, (await settling).code], [true, 'CANCELLED']);
    await advance(1_000);
    await closing;
    assert.deepEqual([stream.destroyed, clock.pending], [true, 0]);
  });

  it('with nothing open waits for the sidecar to end the stream in peace', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const closing = client.close();
    await turn();
    assert.deepEqual([stream.ended, stream.destroyed, await stateOf(closing)], [true, false, 'open']);
    stream.cut();
    await closing;
  });

  it('waits for that a second at most', async (t) => {
    const { client, begin, advance, clock } = stage(t);
    const stream = await begin();
    const closing = client.close();
    await advance(1_000);
    await closing;
    assert.deepEqual([stream.destroyed, clock.pending], [true, 0]);
  });

  it('twice is fine, and before the first call, and while there is no stream', async (t) => {
    const { client, network, turn, clock } = stage(t);
    const asked = refused(client.awaitItem({ queue: 'q', itemId: 'i' }));
    await turn();
    network.stream.cut(unavailable());
    await Promise.all([client.close(), client.close()]);
    assert.equal((await asked).code, 'CANCELLED');
    await turn();
    assert.equal(clock.pending, 0);
    await stage(t).client.close();
  });

  it('a turn that is held after it is lost already', async (t) => {
    const { client } = stage(t);
    await client.close();
    const held = client.hold({ ...REF, token: 1, lease: 1_000, leaseExpiresAt: 0, attempt: 0 }, 0);
    assert.equal(held.signal.aborted, true);
  });

  it('what the sidecar says afterwards means nothing', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const asked = refused(client.enQueue(REF));
    await turn();
    const closing = client.close();
    stream.reply([stream.call('enqueue').id, block()]);
    stream.cut(unavailable());
    await closing;
    assert.equal((await asked).code, 'CANCELLED');
  });
});

async function holding(client: Stage['client'], stream: FakeStream, turn: Stage['turn'], now: number) {
  const asked = client.enQueue(REF);
  await turn();
  stream.reply([stream.call('enqueue').id, accept(7)]);
  const answer = await asked;
  assert.ok(answer.decision === 'accept');
  return client.hold(answer.turn, now);
}
