/** Calls that end without an answer, and the end of the client. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { awaited, error, greet, pong, refused, stage, stateOf, unavailable } from './stage.js';

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
