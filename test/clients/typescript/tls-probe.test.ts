/** The look for TLS at a port that closes plain connections: what it finds, and what waits for it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { Reach } from '#client/connection/reach';
import { TlsProbe } from '#client/connection/tls-probe';
import { CoordinatorServiceClient } from '#client/gen/keyturn/v1/coordinator';
import { OpenCalls } from '#client/unary/open-calls';
import { wireEnQueue } from '#client/wire/requests';
import { deferred } from '../../support/deferred.js';
import { FakeClock } from '../../support/fake-clock.js';

function probed(answers: boolean[]) {
  const clock = new FakeClock();
  let count = 0;
  const probe = new TlsProbe(clock, async () => {
    count += 1;
    return answers.shift() ?? assert.fail('one probe too many');
  });
  return { clock, probe, count: () => count };
}

describe('a probe', () => {
  test('is one for all who ask, and its answer counts for a second', async () => {
    const { clock, probe, count } = probed([false, false]);
    const asked = [probe.ask(), probe.ask()];
    assert.deepEqual(await Promise.all(asked), ['no', 'no']);
    clock.advance(999);
    assert.equal(await probe.ask(), 'no');
    assert.equal(count(), 1);
    clock.advance(1);
    await probe.ask();
    assert.equal(count(), 2);
  });

  test('is sure when another one, seconds later, finds the same', async () => {
    const { clock, probe } = probed([true, true, true]);
    assert.equal(await probe.ask(), 'perhaps');
    clock.advance(3_999);
    assert.equal(await probe.ask(), 'perhaps');
    clock.advance(1_000);
    assert.equal(await probe.ask(), 'surely');
  });

  test('that finds no TLS between the two begins again', async () => {
    const { clock, probe } = probed([true, false, true]);
    for (const answer of ['perhaps', 'no', 'perhaps']) {
      assert.equal(await probe.ask(), answer);
      clock.advance(4_000);
    }
  });
});

/** At a port that closes every connection, with a probe that never ends. */
async function endless(t: TestContext) {
  const { promise: probing, resolve } = deferred();
  const rude = createServer((socket) => socket.on('error', () => {}).destroy()).listen(0, '127.0.0.1');
  t.after(() => rude.close());
  await once(rude, 'listening');
  const port = Object(rude.address()).port;
  const address = `127.0.0.1:${port}`;
  const probe = new TlsProbe(new FakeClock(), () => {
    resolve();
    return new Promise(() => {});
  });
  const calls = new OpenCalls(new Reach(address, 'plain', probe));
  const client = new CoordinatorServiceClient(address, credentials.createInsecure());
  t.after(() => client.close());
  const ask = (timeout: number, signal?: AbortSignal) =>
    calls.ask(client, client.enQueue, wireEnQueue({ queue: 'q', key: 'k' }), { timeout, signal });
  return { probing, calls, ask };
}

describe('a call outlives by a probe', () => {
  test('no deadline', async (t) => {
    const { ask } = await endless(t);
    await assert.rejects(ask(200), { name: 'KeyturnError', code: 'UNAVAILABLE', message: /it may want TLS/ });
  });

  test('no signal', async (t) => {
    const { ask, probing } = await endless(t);
    const signal = new AbortController();
    const refused = assert.rejects(ask(60_000, signal.signal), { code: 'CANCELLED', message: /by its signal/ });
    await probing;
    await setImmediate();
    signal.abort();
    await refused;
  });

  test('no close of its client', async (t) => {
    const { ask, probing, calls } = await endless(t);
    const refused = assert.rejects(ask(60_000), { code: 'CANCELLED', message: 'the client was closed' });
    await probing;
    await setImmediate();
    calls.close();
    await refused;
  });
});
