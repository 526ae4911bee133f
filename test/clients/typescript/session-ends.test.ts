/** Calls that end without an answer, and the end of the client. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { TurnLostError } from '@keyturn/client';
import {
  accept,
  awaited,
  block,
  dequeued,
  error,
  greet,
  nacked,
  pong,
  refused,
  stage,
  stateOf,
  unavailable,
  turn as wireTurn,
} from './stage.js';

const REF = { queue: 'q', key: 'k' };

describe('the time-out of a call', () => {
  it('is its wait and 10 s, or what is said', async (t) => {
    const { client, begin, advance } = stage(t);
    await begin();
    const plain = client.enQueue({ ...REF, wait: 5_000 });
    const said = client.enQueue({ ...REF, wait: 5_000 }, { timeout: 1_000 });
    const settling = client.deQueue({ ...REF, token: 1 });
    await advance(999);
    assert.equal(await stateOf(said), 'open');
    await advance(1);
    assert.equal((await refused(said)).code, 'DEADLINE_EXCEEDED');
    await advance(8_999);
    assert.equal(await stateOf(settling), 'open');
    await advance(100);
    assert.equal((await refused(settling)).code, 'DEADLINE_EXCEEDED');
    assert.equal(await stateOf(plain), 'open');
    await advance(5_000);
    assert.equal((await refused(plain)).code, 'DEADLINE_EXCEEDED');
  });

  it('ends it also while there is no stream, and says why there is none', async (t) => {
    const { client, network, turn, advance } = stage(t);
    const asked = refused(client.awaitItem({ queue: 'q', itemId: 'i' }, { timeout: 5_000 }));
    await turn();
    for (let n = 0; n < 6; n++) {
      network.stream.cut(unavailable());
      await advance(1_000);
    }
    const { code, message, reason } = await asked;
    assert.deepEqual([code, reason], ['DEADLINE_EXCEEDED', '']);
    assert.match(message, /No connection established/);
  });

  it('of many calls costs one timer, and is at most a little late', async (t) => {
    const { client, begin, advance, clock } = stage(t);
    await begin();
    const before = clock.pending;
    const asked = Array.from({ length: 500 }, (_, n) =>
      refused(client.awaitItem({ queue: 'q', itemId: String(n) }, { timeout: 1_000 + n })),
    );
    await advance(0);
    assert.ok(clock.pending - before <= 1, `${clock.pending - before} timers`);
    await advance(1_560);
    assert.equal(new Set((await Promise.all(asked)).map(({ code }) => code)).size, 1);
  });

  it('of a call that was never sent leaves nothing to send', async (t) => {
    const { client, network, turn, advance } = stage(t);
    const asked = refused(client.enQueue(REF, { timeout: 100 }));
    await turn();
    const { stream } = network;
    stream.cut(unavailable());
    await advance(10);
    await advance(100);
    await asked;
    await advance(60_000);
    for (const each of network.streams.slice(1)) assert.equal(each.calls('enqueue').length, 0);
  });

  it('keeps the id until the sidecar has answered too', async (t) => {
    const { client, begin, advance } = stage(t, { limits: { commands: 1, bytes: 1_000 } });
    const stream = await begin();
    await Promise.all([refused(client.enQueue(REF, { timeout: 10 })), advance(10)]);
    assert.equal((await refused(client.enQueue(REF))).code, 'RESOURCE_EXHAUSTED');
    stream.reply([stream.call('enqueue').id, error(status.CANCELLED, 'CANCELLED')]);
    assert.equal(await stateOf(client.enQueue(REF)), 'open');
  });
});

describe('the signal of a call', () => {
  for (const leave of [false, true]) {
    it(`cancels it by a message, never by cancelling the stream; leave: ${leave}`, async (t) => {
      const { client, begin, turn } = stage(t);
      const stream = await begin();
      const stop = new AbortController();
      const asked = refused(client.enQueue({ ...REF, ticket: 't' }, { signal: stop.signal, leave }));
      const other = client.enQueue({ ...REF, key: 'other' }, { signal: stop.signal });
      void other.catch(() => {});
      await turn();
      const [mine] = stream.calls('enqueue');
      stop.abort();
      const { code, reason } = await asked;
      assert.deepEqual([code, reason], ['CANCELLED', '']);
      await turn();
      assert.deepEqual(stream.calls('cancel')[0]?.value, { id: mine?.id, leave });
      assert.equal(stream.destroyed, false);
    });
  }

  it('that is aborted already sends nothing', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const { code } = await refused(client.enQueue(REF, { signal: AbortSignal.abort() }));
    await turn();
    assert.deepEqual([code, stream.messages.length], ['CANCELLED', 0]);
  });

  it('before the call was sent: it is not', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const stop = new AbortController();
    const asked = refused(client.enQueue(REF, { signal: stop.signal }));
    stop.abort();
    await asked;
    await turn();
    assert.equal(stream.messages.length, 0);
  });

  it('while there is no stream: the call is not sent again', async (t) => {
    const { client, network, begin, turn, advance } = stage(t);
    const old = await begin();
    const stop = new AbortController();
    const asked = refused(client.enQueue(REF, { signal: stop.signal }));
    void client.awaitItem({ queue: 'q', itemId: 'i' }).catch(() => {});
    await turn();
    old.cut(unavailable());
    stop.abort();
    await asked;
    await advance(50);
    greet(network.stream);
    await turn();
    assert.deepEqual(
      network.stream.commands.map(({ call }) => call?.$case),
      ['hello', 'awaitItem'],
    );
  });

  it('has one listener however many calls it is given to, and none when they are answered', async (t) => {
    const { client, begin, turn } = stage(t);
    const stream = await begin();
    const counted = new CountedSignal();
    const asked = Array.from({ length: 100 }, (_, n) =>
      client.awaitItem({ queue: 'q', itemId: String(n) }, { signal: counted.signal }),
    );
    await turn();
    assert.equal(counted.listeners, 1);
    stream.reply(...stream.calls('awaitItem').map(({ id }) => [id, awaited()] as const));
    await Promise.all(asked);
    assert.equal(counted.listeners, 0);
  });
});

describe('a call that was given up', () => {
  for (const end of ['its signal', 'its time-out'] as const) {
    it(`by ${end} stays on no signal, whatever becomes of its stream`, async (t) => {
      const { client, begin, turn, advance } = stage(t);
      const stream = await begin();
      const stop = new AbortController();
      const asked = refused(client.submit({ queue: 'q', items: [{}] }, { signal: stop.signal, timeout: 100 }));
      await turn();
      if (end === 'its signal') stop.abort();
      else await advance(200);
      await asked;
      assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
      stream.cut(unavailable());
      await advance(1_000);
      assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
    });
  }

  it('is on no signal after close', async (t) => {
    const { client, begin, turn, advance } = stage(t);
    await begin();
    const stop = new AbortController();
    const asked = refused(client.awaitItem({ queue: 'q', itemId: 'i' }, { signal: stop.signal }));
    await turn();
    const closing = client.close();
    await asked;
    assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
    await advance(1_000);
    await advance(1_000);
    await closing;
  });
});

describe('a wait that only the sidecar knows', () => {
  it('ends after ten seconds without a sidecar: it is no wait then', async (t) => {
    const { client, network, turn, advance } = stage(t);
    const asked = refused(client.enQueue(REF));
    await turn();
    for (let second = 0; second < 10; second++) {
      network.stream.cut(unavailable());
      await advance(1_000);
    }
    await advance(100);
    const { code, message } = await asked;
    assert.equal(code, 'DEADLINE_EXCEEDED');
    assert.match(message, /No connection established/);
  });

  it('lasts as long as any may while there is one, and ten seconds more when it goes away', async (t) => {
    const { client, begin, advance, network } = stage(t);
    const stream = await begin();
    const asked = client.enQueue(REF);
    for (let second = 0; second < 100; second++) {
      await advance(1_000);
      for (const { id } of stream.calls('cancel')) stream.reply([id, pong()]);
      stream.messages.length = 0;
    }
    assert.equal(await stateOf(asked), 'open');
    stream.cut(unavailable());
    await advance(1_000);
    greet(network.stream);
    await advance(1_000);
    assert.deepEqual([network.stream.calls('enqueue').length, await stateOf(asked)], [1, 'open']);
    const late = refused(asked);
    for (let second = 0; second < 11; second++) {
      network.stream.cut(unavailable());
      await advance(1_000);
    }
    assert.equal((await late).code, 'DEADLINE_EXCEEDED');
  });
});

describe('close', () => {
  it('refuses open calls, loses held turns, ends the stream, and leaves nothing behind', async (t) => {
    const { client, begin, turn, clock } = stage(t);
    const stream = await begin();
    const given = client.enQueue(REF);
    await turn();
    stream.reply([stream.call('enqueue').id, accept(7)]);
    const answer = await given;
    const held = answer.decision === 'accept' ? client.hold(answer.turn, clock.now()) : undefined;
    const open = refused(client.enQueue({ ...REF, key: 'other' }));
    await turn();
    const closing = client.close();
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

  it('ends with its stream when that breaks while outcomes are waited for', async (t) => {
    const { client, begin, turn, network, clock } = stage(t);
    const stream = await begin();
    const asked = refused(client.enQueue(REF));
    await turn();
    const closing = client.close();
    stream.cut(unavailable());
    await closing;
    await turn();
    assert.equal((await asked).code, 'CANCELLED');
    assert.deepEqual([network.streams.length, clock.pending], [1, 0]);
  });

  it('with nothing open waits for the sidecar to end the stream in peace', async (t) => {
    const { client, begin } = stage(t);
    const stream = await begin();
    const closing = client.close();
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
    const asked = refused(client.enQueue(REF));
    await turn();
    network.stream.cut(unavailable());
    await Promise.all([client.close(), client.close()]);
    assert.equal((await asked).code, 'CANCELLED');
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

class CountedSignal {
  readonly #controller = new AbortController();
  listeners = 0;

  constructor() {
    const { signal } = this.#controller;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      this.listeners += 1;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      this.listeners -= 1;
      removeEventListener.apply(signal, args);
    };
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }
}
