/** The client and a sidecar in this process, over real sockets. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { connect, type Keyturn, type KeyturnOptions, type Turn, TurnLostError, VERSION } from '@keyturn/client';
import { ROOT } from '../../project/repository.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';
import { refused } from './stage.js';

const TRANSPORTS = ['session', 'unary'] as const;

function client(t: TestContext, address: string, options: KeyturnOptions = {}): Keyturn {
  const made = connect(address, options);
  t.after(() => made.close());
  return made;
}

async function given(made: Keyturn, key = 'k', lease?: number): Promise<Turn> {
  const answer = await made.enQueue({ queue: 'q', key, wait: 0, lease });
  if (answer.decision !== 'accept') throw new Error(answer.decision);
  return answer.turn;
}

function lostCause(signal: AbortSignal): unknown {
  return signal.reason instanceof TurnLostError ? signal.reason.loss : signal.reason;
}

function socketPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-client-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return `unix:${join(folder, 'k.sock')}`;
}

for (const listen of ['127.0.0.1:0', 'unix']) {
  for (const transport of TRANSPORTS) {
    describe(`every call, over ${transport}, on ${listen}`, () => {
      it('does what it says', async (t) => {
        const where = listen === 'unix' ? socketPath(t) : listen;
        const { address } = await startSidecar(t, localCoordinator(t), { listen: where });
        const made = client(t, address, { transport, consumerId: 'me' });
        const turn = await given(made);
        assert.equal((await made.admin.explainKey('q', 'k')).holder?.consumerId, 'me');
        assert.deepEqual(
          (await made.renew({ turns: [turn] })).results.map(({ alive }) => alive),
          [true],
        );
        assert.equal((await made.enQueue({ queue: 'q', key: 'k', wait: 0, ticket: 't' })).decision, 'block');
        assert.deepEqual(await made.deQueue({ ...refOf(turn) }), { promoted: true, waiting: 0 });
        await made.deQueue({ queue: 'q', key: 'k', ticket: 't' });

        const { results } = await made.submit({
          queue: 'w',
          items: [{ key: 'a', payload: new Uint8Array([1]) }, { key: 'b' }],
        });
        assert.deepEqual(
          results.map(({ decision }) => decision),
          ['accept', 'accept'],
        );
        const { deliveries } = await made.acquire({ queues: ['w'], wait: 1_000 });
        const [first] = deliveries;
        assert.deepEqual([first?.turn.queue, first?.turn.key, [...(first?.items[0]?.payload ?? [])]], ['w', 'a', [1]]);
        const acked = await made.ack({
          ...refOf(first?.turn ?? turn),
          result: new Uint8Array([2]),
          next: { queues: ['w'] },
        });
        const second = acked.next?.deliveries[0]?.turn ?? turn;
        assert.deepEqual([second.queue, second.key], ['w', 'b']);
        await made.nack({ ...refOf(second), kind: 'dead_letter', error: 'bad' });
        const done = await made.awaitItem({ queue: 'w', itemId: first?.items[0]?.itemId ?? '' });
        assert.deepEqual([done.state, [...(done.result ?? [])]], ['done', [2]]);
        assert.equal((await made.admin.listDeadLetters({ queue: 'w' })).deadLetters.length, 1);

        const stale = await refused(made.deQueue({ ...refOf(turn), abandoned: true }));
        assert.deepEqual([stale instanceof TurnLostError && stale.loss, stale.reason], ['settled', 'TURN_LOST']);
        const bad = await refused(made.enQueue({ queue: 'no such name!', key: '' }));
        const fields = bad.violations.map(({ field }) => field.replace(/^.*\./, ''));
        assert.deepEqual([bad.code, bad.reason, fields], ['INVALID_ARGUMENT', 'BAD_REQUEST', ['queue', 'key']]);
      });
    });
  }
}

describe('a wait', () => {
  for (const transport of TRANSPORTS) {
    it(`is ended by its signal, over ${transport}: the place is given up`, async (t) => {
      const coordinator = localCoordinator(t);
      const { address } = await startSidecar(t, coordinator);
      const made = client(t, address, { transport });
      const turn = await given(made);
      const stop = new AbortController();
      const waiting = refused(made.enQueue({ queue: 'q', key: 'k', wait: 60_000 }, { signal: stop.signal }));
      while ((await made.admin.explainKey('q', 'k')).waitingCallers === 0);
      stop.abort();
      assert.equal((await waiting).code, 'CANCELLED');
      while ((await made.admin.explainKey('q', 'k')).waitingCallers > 0);
      assert.equal((await made.deQueue(refOf(turn))).promoted, false);
    });
  }

  for (const transport of TRANSPORTS) {
    it(`is ended with its ticket’s place, over ${transport}, if it is to leave`, async (t) => {
      const { address } = await startSidecar(t, localCoordinator(t));
      const made = client(t, address, { transport });
      await given(made);
      const stop = new AbortController();
      const settings = { signal: stop.signal, leave: true };
      const waiting = refused(made.enQueue({ queue: 'q', key: 'k', wait: 60_000, ticket: 't' }, settings));
      while ((await made.admin.explainKey('q', 'k')).waitingCallers === 0);
      stop.abort();
      await waiting;
      while ((await made.admin.explainKey('q', 'k')).waitingCallers > 0);
    });
  }

  it('is ended, and its ticket’s place is kept, if it is not to leave', async (t) => {
    const { address } = await startSidecar(t, localCoordinator(t));
    const made = client(t, address);
    await given(made);
    const stop = new AbortController();
    const settings = { signal: stop.signal };
    const waiting = refused(made.enQueue({ queue: 'q', key: 'k', wait: 60_000, ticket: 't' }, settings));
    while ((await made.admin.explainKey('q', 'k')).waitingCallers === 0);
    stop.abort();
    await waiting;
    // Behind the cancel, on the same stream.
    await made.renew({ turns: [{ queue: 'q', key: 'k', token: 1 }] });
    assert.equal((await made.admin.explainKey('q', 'k')).waitingCallers, 1);
  });
});

describe('a turn that is held', () => {
  for (const transport of TRANSPORTS) {
    it(`outlives its lease, over ${transport}`, async (t) => {
      const { address } = await startSidecar(t, localCoordinator(t, { policy: { lease: 2_000 } }));
      const made = client(t, address, { transport });
      const askedAt = made.clock.now();
      const turns = await Promise.all([given(made, 'a'), given(made, 'b', 2_000)]);
      const held = turns.map((turn) => made.hold(turn, askedAt));
      await elapsed(2_500);
      assert.deepEqual(
        held.map(({ signal }) => signal.aborted),
        [false, false],
      );
      for (const one of held) one.release();
      await Promise.all(turns.map((turn) => made.deQueue(refOf(turn))));
    });

    it(`is told when it is evicted, over ${transport}`, async (t) => {
      const { address } = await startSidecar(t, localCoordinator(t));
      const made = client(t, address, { transport });
      const askedAt = made.clock.now();
      const held = made.hold(await given(made, 'k', transport === 'unary' ? 3_000 : undefined), askedAt);
      await Promise.all([once(held.signal, 'abort'), made.admin.evictHolder('q', 'k')]);
      assert.equal(lostCause(held.signal), 'evicted');
    });
  }
});

describe('a session that is cut', () => {
  it('goes on where it was: turns are still held, waits are still waited', async (t) => {
    const coordinator = localCoordinator(t);
    const where = socketPath(t);
    const first = await startSidecar(t, coordinator, { listen: where });
    const made = client(t, first.address, { sessionTtl: 5_000 });
    const held = made.hold(await given(made), made.clock.now());
    const waiting = made.enQueue({ queue: 'q', key: 'k', wait: 60_000, ticket: 't' });
    while ((await made.admin.explainKey('q', 'k')).waitingCallers === 0);
    await first.server.forceStop();
    // The same coordinator behind another server: the connection broke, nobody died.
    await startSidecar(t, coordinator, { listen: where });
    assert.equal((await made.deQueue(refOf(held.turn))).promoted, true);
    const answer = await waiting;
    assert.equal(answer.decision, 'accept');
    assert.equal(held.signal.aborted, false);
  });

  it('and a sidecar that forgot everything: the turn is lost, and its holder is told', async (t) => {
    const where = socketPath(t);
    const first = await startSidecar(t, localCoordinator(t), { listen: where });
    const made = client(t, first.address);
    const held = made.hold(await given(made), made.clock.now());
    await first.server.forceStop();
    const aborted = once(held.signal, 'abort');
    await startSidecar(t, localCoordinator(t), { listen: where });
    await aborted;
    assert.equal(lostCause(held.signal), 'unknown');
    assert.equal((await given(made)).key, 'k', 'the next call is as any');
  });

  it('and nobody comes back within ttl: the holder is told before its turn is another’s', async (t) => {
    const coordinator = localCoordinator(t);
    const first = await startSidecar(t, coordinator, { listen: socketPath(t) });
    const made = client(t, first.address, { sessionTtl: 600 });
    const held = made.hold(await given(made), made.clock.now());
    const other = client(t, (await startSidecar(t, coordinator)).address);
    const taken = other.enQueue({ queue: 'q', key: 'k', wait: 60_000 });
    while ((await other.admin.explainKey('q', 'k')).waitingCallers === 0);
    await first.server.forceStop();
    assert.equal((await taken).decision, 'accept');
    assert.equal(held.signal.aborted, true, 'it was told before');
    assert.equal(lostCause(held.signal), 'unreachable');
  });

  it('of two clients with one id the newer wins, and the older is told', async (t) => {
    const { address } = await startSidecar(t, localCoordinator(t));
    const older = client(t, address, { sessionId: 'one' });
    const held = older.hold(await given(older), older.clock.now());
    const aborted = once(held.signal, 'abort');
    const newer = client(t, address, { sessionId: 'one' });
    assert.equal((await given(newer, 'other')).key, 'other');
    await aborted;
    assert.equal(lostCause(held.signal), 'replaced');
    assert.equal((await refused(older.enQueue({ queue: 'q', key: 'x' }))).reason, 'SESSION_REPLACED');
  });
});

describe('a process that closes its client', () => {
  const PROGRAM = `
    import { connect } from '@keyturn/client';
    const client = connect(process.argv[2], { transport: process.argv[3] });
    const askedAt = client.clock.now();
    const { turn } = await client.enQueue({ queue: 'q', key: 'k', wait: 0 });
    client.hold(turn, askedAt);
    const waiting = client.enQueue({ queue: 'q', key: 'k', wait: 60_000, ticket: 't' }).catch(({ code }) => code);
    await client.admin.listQueues();
    await client.close();
    console.log(await waiting);
  `;

  for (const transport of TRANSPORTS) {
    it(`exits, over ${transport}`, async (t) => {
      const { address } = await startSidecar(t, localCoordinator(t));
      const args = ['--input-type=module', '-', address, transport];
      const run = spawn(process.execPath, args, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] });
      t.after(() => run.kill('SIGKILL'));
      run.stdin.end(PROGRAM);
      assert.deepEqual([await text(run.stdout), (await exitOf(run))[0]], ['CANCELLED\n', 0]);
    });
  }
});

it('many calls at once are answered, each its own', async (t) => {
  const { address } = await startSidecar(t, localCoordinator(t));
  const made = client(t, address);
  const keys = Array.from({ length: 5_000 }, (_, n) => `k${n}`);
  const turns = await Promise.all(keys.map((key) => given(made, key)));
  assert.deepEqual(
    turns.map(({ key }) => key),
    keys,
  );
  const ended = await Promise.all(turns.map((turn) => made.deQueue(refOf(turn))));
  assert.equal(ended.length, keys.length);
  assert.equal((await made.admin.listQueues()).queues[0]?.liveTurns, 0);
});

it('answers of large payloads come through', async (t) => {
  const { address } = await startSidecar(t, localCoordinator(t));
  const made = client(t, address);
  const payload = new Uint8Array(1_000_000).fill(7);
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
  await Promise.all(keys.map((key) => made.submit({ queue: 'w', items: [{ key, payload }] })));
  const got = await Promise.all(keys.map(() => made.acquire({ queues: ['w'], wait: 1_000 })));
  assert.deepEqual(got.flatMap(({ deliveries }) => deliveries.map(({ turn }) => turn.key)).sort(), keys);
});

it(`says who it is: keyturn-typescript/${VERSION}`, async (t) => {
  const { createServer } = await import('node:http2');
  const server = createServer();
  const agents: unknown[] = [];
  server.on('stream', (stream, headers) => {
    agents.push(headers['user-agent']);
    stream.respond({ ':status': 200, 'grpc-status': '12', 'content-type': 'application/grpc' }, { endStream: true });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const made = client(t, `127.0.0.1:${address.port}`);
  assert.equal((await refused(made.enQueue({ queue: 'q', key: 'k' }))).code, 'UNIMPLEMENTED');
  assert.match(String(agents[0]), new RegExp(`^keyturn-typescript/${VERSION.replaceAll('.', '\\.')} grpc-node-js/`));
});

function refOf({ queue, key, token }: Turn) {
  return { queue, key, token };
}

/** For what must not happen in a while. */
function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function exitOf(run: ReturnType<typeof spawn>): Promise<readonly [number | null]> {
  if (run.exitCode === null && run.signalCode === null) await once(run, 'exit');
  return [run.exitCode];
}
