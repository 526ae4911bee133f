/** `keyturn keys`: which keys stand still, for who knows the queue and no key. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { command, type ServedHere, serveHere } from './in-process.js';

describe('keyturn keys', () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let sidecar: ServedHere;

  before(async () => {
    sidecar = await serveHere(
      { after: (task) => void tasks.push(task) },
      'queues: { orders: { on_dead_letter: park } }',
    );
    const { client } = sidecar;
    await client.submit({ queue: 'orders', items: [{ key: 'parked' }, { key: 'parked' }] });
    const { deliveries } = await client.acquire({ queues: ['orders'] });
    for (const { turn } of deliveries) await client.nack({ ...turn, kind: 'dead_letter', error: 'poisoned' });
    await client.enQueue({ queue: 'orders', key: 'held', consumerId: 'ada', lease: 60_000 });
    await client.submit({ queue: 'orders', items: [{ key: 'held' }, { key: 'ready' }] });
  });
  after(async () => {
    for (const task of tasks.toReversed()) await task();
  });

  const said = (...words: readonly string[]) => command(['keys', ...words, '--address', sidecar.address]);

  it('lists those with something to do: state, since when, line, holder', async () => {
    const { exitCode, stdout } = await said('orders');
    assert.equal(exitCode, 0);
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    assert.match(head, /^KEY +STATE +SINCE +WAITING +HOLDER$/);
    assert.equal(rows.length, 3);
    assert.match(stdout, /^parked +PARK +\S+ ago +1 +-$/m);
    assert.match(stdout, /^held +BLOCK +\S+ ago +1 +ada$/m);
    assert.match(stdout, /^ready +READY +\S+ ago +1 +-$/m);
  });

  it('of one state only', async () => {
    const { stdout } = await said('orders', '--state', 'PARK', '--json');
    const told: unknown = JSON.parse(stdout);
    assert.ok(typeof told === 'object' && told !== null && 'keys' in told && Array.isArray(told.keys));
    const [{ since, ...rest }] = told.keys;
    assert.ok(Date.parse(since) <= Date.now());
    assert.deepEqual([told.keys.length, rest], [1, { key: 'parked', state: 'PARK', waiting: 1 }]);
  });

  it('page by page', async () => {
    const first = await said('orders', '--limit', '2');
    const [, token = ''] = /^there are more: --page-token (\S+)$/m.exec(first.stdout) ?? [];
    const second = await said('orders', '--limit', '2', '--page-token', token);
    const names = (text: string) => [...text.matchAll(/^(parked|held|ready) /gm)].map(([, name]) => name);
    assert.deepEqual([...names(first.stdout), ...names(second.stdout)].sort(), ['held', 'parked', 'ready']);
  });

  it('a queue that is not there is told, and has none', async () => {
    const { exitCode, stdout, stderr } = await said('order');
    assert.deepEqual([exitCode, stdout], [0, 'no keys\n']);
    assert.match(stderr, /there is no queue order now/);
  });

  it('a state that there is not is refused with those that there are', async () => {
    const { exitCode, stderr } = await said('orders', '--state', 'PARKED');
    assert.equal(exitCode, 2);
    assert.match(stderr, /PARKED.*INIT, PROCESS, BLOCK, READY, DELAY, PARK/s);
  });
});
