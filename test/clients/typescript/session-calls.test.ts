/** Calls on one stream that stands: how they are gathered, answered, and bounded. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { KeyturnError, TurnLostError } from '@keyturn/client';
import { accept, awaited, block, dequeued, error, greet, refused, stage, stateOf, unavailable } from './stage.js';

const MIB = 1_048_576;

describe('a session', () => {
  it('opens no stream before the first call', async (t) => {
    const { network, advance } = stage(t);
    await advance(60_000);
    assert.equal(network.streams.length, 0);
  });

  it('says hello first, and sends the first calls behind it without waiting', async (t) => {
    const { client, network, turn } = stage(t);
    const asked = client.enQueue({ queue: 'q', key: 'k' });
    await turn();
    const { stream } = network;
    assert.deepEqual(
      stream.messages.map((message) => message.map(({ call }) => call?.$case)),
      [['hello', 'enqueue']],
    );
    assert.deepEqual(stream.call('hello').value, { consumerId: 'me', sessionId: 's', ttl: { seconds: 9n, nanos: 0 } });
    greet(stream);
    stream.reply([stream.call('enqueue').id, block()]);
    assert.equal((await asked).decision, 'block');
  });

  it('sends what is asked in one turn of the event loop in one message, in order', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    for (const key of ['a', 'b', 'c']) void client.enQueue({ queue: 'q', key }).catch(() => {});
    void client.deQueue({ queue: 'q', key: 'd', token: 4 }).catch(() => {});
    assert.equal(stream.messages.length, 0);
    await turn();
    assert.equal(stream.messages.length, 1);
    assert.deepEqual(
      stream.calls('enqueue').map(({ value }) => value.key),
      ['a', 'b', 'c'],
    );
    assert.equal(new Set(stream.commands.map(({ id }) => id)).size, 4);
  });

  it('takes answers in any order, and fills in what they leave out', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const first = client.enQueue({ queue: 'q', key: 'a', ticket: 't' });
    const second = client.enQueue({ queue: 'q', key: 'b' });
    await turn();
    const [a, b] = stream.calls('enqueue');
    stream.reply([b?.id ?? 0, block(3)], [a?.id ?? 0, accept(7)]);
    const got = await first;
    assert.equal(got.decision === 'accept' && got.ticket, 't');
    assert.deepEqual(got.decision === 'accept' && got.turn, {
      queue: 'q',
      key: 'a',
      token: 7,
      lease: 20_000,
      leaseExpiresAt: Number.POSITIVE_INFINITY,
      attempt: 0,
    });
    assert.deepEqual(await second, { decision: 'block', ahead: 3, retryAfter: undefined, ticket: undefined });
  });

  it('fills in the queue of a delivery if there is only one it can be', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const one = client.acquire({ queues: ['q'] });
    const keyed = client.acquire({ queues: ['q'], key: 'k' });
    await turn();
    const delivery = (queue: string, key: string) => ({
      $case: 'acquire' as const,
      value: {
        deliveries: [
          {
            turn: { queue, key, token: 1n, lease: { seconds: 1n, nanos: 0 }, leaseExpiresAt: undefined, attempt: 1 },
            items: [],
          },
        ],
      },
    });
    const [first, second] = stream.calls('acquire');
    stream.reply([first?.id ?? 0, delivery('', 'x')], [second?.id ?? 0, delivery('', '')]);
    const turnOf = async (asked: typeof one) => (await asked).deliveries[0]?.turn;
    assert.deepEqual([(await turnOf(one))?.queue, (await turnOf(one))?.key], ['q', 'x']);
    assert.deepEqual([(await turnOf(keyed))?.queue, (await turnOf(keyed))?.key], ['q', 'k']);
  });

  it('refuses a call as the unary one would be refused', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const settled = client.deQueue({ queue: 'q', key: 'k', token: 1 });
    const asked = client.enQueue({ queue: 'nope', key: 'k' });
    await turn();
    const cause = new Map([['cause', 'EVICTED']]);
    stream.reply(
      [stream.call('dequeue').id, error(status.ABORTED, 'TURN_LOST', cause)],
      [stream.call('enqueue').id, error(status.NOT_FOUND, 'NO_SUCH_QUEUE')],
    );
    const lost = await refused(settled);
    assert.ok(lost instanceof TurnLostError);
    assert.deepEqual([lost.code, lost.reason, lost.loss], ['ABORTED', 'TURN_LOST', 'evicted']);
    const unknown = await refused(asked);
    assert.deepEqual(
      [unknown.code, unknown.reason, unknown.message],
      ['NOT_FOUND', 'NO_SUCH_QUEUE', 'no: NO_SUCH_QUEUE'],
    );
  });

  it('refuses a call whose answer is another call’s, or nothing, and goes on', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const asked = [1, 2, 3].map((token) => client.deQueue({ queue: 'q', key: 'k', token }));
    await turn();
    const [first, second, third] = stream.calls('dequeue');
    stream.reply([first?.id ?? 0, block()], [999_999, block()], [third?.id ?? 0, dequeued()]);
    stream.tell({ replies: [{ id: second?.id ?? 0, outcome: undefined }], notices: [] });
    assert.deepEqual(await Promise.all(asked.map(stateOf)), ['refused', 'refused', 'answered']);
  });

  it('gives items that have no id one that no other client has', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    void client.submit({ queue: 'q', items: [{ key: 'a' }, { key: 'b', itemId: 'mine' }, {}] }).catch(() => {});
    await turn();
    assert.deepEqual(
      stream.call('submit').value.items.map(({ itemId }) => itemId),
      ['c.1', 'mine', 'c.2'],
    );
  });

  it('refuses what cannot be written, without a word to the sidecar', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const { code } = await refused(client.deQueue({ queue: 'q', key: 'k', token: 1.5 }));
    assert.equal(code, 'INVALID_ARGUMENT');
    await turn();
    assert.equal(stream.messages.length, 0);
  });
});

describe('bounds of a session', () => {
  it('a message has at most 1,024 commands', async (t) => {
    const { client, begin, turn } = stage(t, { limits: { commands: 5_000, bytes: 64 * MIB } });
    const stream = await begin();
    for (let n = 0; n < 2_500; n++) void client.awaitItem({ queue: 'q', itemId: String(n) }).catch(() => {});
    await turn();
    assert.deepEqual(
      stream.messages.map(({ length }) => length),
      [1_024, 1_024, 452],
    );
    assert.deepEqual(
      stream.calls('awaitItem').map(({ value }) => value.itemId),
      Array.from({ length: 2_500 }, (_, n) => String(n)),
    );
  });

  it('a message has at most 1 MiB, or one command', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const payload = new Uint8Array(400_000);
    for (let n = 0; n < 5; n++) void client.submit({ queue: 'q', items: [{ payload }] }).catch(() => {});
    const large = [{ payload: new Uint8Array(MIB) }, { payload: new Uint8Array(MIB) }];
    void client.submit({ queue: 'q', items: large }).catch(() => {});
    await turn();
    assert.deepEqual(
      stream.messages.map(({ length }) => length),
      [2, 2, 1, 1],
    );
  });

  it('a call above 4 MiB is refused, because it would end the stream', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const mib = () => ({ payload: new Uint8Array(MIB) });
    const { code, message } = await refused(client.submit({ queue: 'q', items: [mib(), mib(), mib(), mib()] }));
    assert.equal(code, 'INVALID_ARGUMENT');
    assert.match(message, /takes 41943\d\d bytes; at most 4194240/);
    // Three bytes for each character is the estimate, one is the truth.
    void client.nack({ queue: 'q', key: 'k', token: 1, kind: 'retry', error: 'e'.repeat(2 * MIB) }).catch(() => {});
    await turn();
    assert.equal(stream.messages.length, 1);
  });

  it('a stream that is full is written no more until it drains', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    stream.room = 1;
    const ask = (itemId: string) => void client.awaitItem({ queue: 'q', itemId }).catch(() => {});
    ask('a');
    await turn();
    ask('b');
    await turn();
    ask('c');
    await turn();
    assert.deepEqual(
      stream.calls('awaitItem').map(({ value }) => value.itemId),
      ['a'],
    );
    stream.drain();
    await turn();
    assert.deepEqual(
      stream.messages.map((message) => message.length),
      [1, 2],
    );
  });

  it('one more open call than allowed is refused, and nothing is lost; there is room to end turns', async (t) => {
    const { client, begin, turn } = stage(t, { limits: { commands: 8, bytes: MIB } });
    const stream = await begin();
    const open = Array.from({ length: 8 }, (_, n) => client.enQueue({ queue: 'q', key: `k${n}` }));
    const { code, message } = await refused(client.enQueue({ queue: 'q', key: 'one more' }));
    assert.equal(code, 'RESOURCE_EXHAUSTED');
    assert.match(message, /8 calls are open; at most 8/);
    const end = client.deQueue({ queue: 'q', key: 'x', token: 1 });
    await turn();
    stream.reply(
      [stream.call('dequeue').id, dequeued()],
      ...stream.calls('enqueue').map(({ id }) => [id, block()] as const),
    );
    await Promise.all([...open, end]);
    assert.equal(await stateOf(client.enQueue({ queue: 'q', key: 'again' })), 'open');
  });

  it('open calls take no more bytes than allowed, connected or not', async (t) => {
    const { client, network, turn } = stage(t, { limits: { commands: 1_000, bytes: 4 * MIB } });
    const items = [{ payload: new Uint8Array(MIB - 1_000) }];
    const open = Array.from({ length: 4 }, () => client.submit({ queue: 'q', items }));
    const { code, message } = await refused(client.submit({ queue: 'q', items }));
    assert.equal(code, 'RESOURCE_EXHAUSTED');
    assert.match(message, /at most 4194304 \(openBytes\)/);
    await turn();
    network.stream.cut(unavailable());
    assert.deepEqual(await Promise.all(open.map(stateOf)), ['open', 'open', 'open', 'open']);
  });

  it('an answered call counts no more', async (t) => {
    const { client, begin, turn } = stage(t, { limits: { commands: 1, bytes: MIB } });
    const stream = await begin();
    for (let n = 1; n <= 3; n++) {
      const asked = client.awaitItem({ queue: 'q', itemId: 'i' });
      await turn();
      stream.reply([stream.calls('awaitItem').at(-1)?.id ?? 0, awaited()]);
      await asked;
    }
    assert.equal(stream.messages.length, 3);
  });

  it('KeyturnError is what every refusal is', async (t) => {
    const { client } = stage(t, { limits: { commands: 0, bytes: 0 } });
    await assert.rejects(client.enQueue({ queue: 'q', key: 'k' }), KeyturnError);
  });
});
