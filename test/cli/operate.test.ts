/** Commands of operators, against a sidecar: what they change, what they print, and their JSON. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it, test } from 'node:test';
import { command, type ServedHere, serveHere } from './in-process.js';
import { startKeyturn, until } from './keyturn-process.js';

const SETTINGS = 'queues: { orders: { on_dead_letter: park, retry: { max_attempts: 1 } } }';

test('explain says that startup_hold lasts, of a key at rest too', { timeout: 60_000 }, async (t) => {
  const { address } = await serveHere(t, 'startup_hold: 1h');
  const env = { KEYTURN_ADDRESS: address };
  const explained = await command(['explain', 'q', 'k'], { env });
  assert.match(explained.stdout, /^gate\s+startup_hold: no queue gives turns until \S+ \(in (1h|59m \d+s)\)$/m);
  const told: unknown = JSON.parse((await command(['explain', 'q', 'k', '--json'], { env })).stdout);
  assert.ok(typeof told === 'object' && told !== null && 'startup_hold_until' in told);
});

describe('commands of operators', { timeout: 400_000 }, () => {
  let sidecar: ServedHere;
  const cleanUps: (() => Promise<void> | void)[] = [];
  before(async () => {
    sidecar = await serveHere({ after: (task) => cleanUps.push(task) }, SETTINGS);
  });
  after(async () => {
    for (const task of cleanUps.reverse()) await task();
  });

  const run = (...args: readonly string[]) => command([...args, '--address', sidecar.address]);

  async function said(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await run(...args);
    assert.equal(exitCode, 0, stderr);
    return stdout;
  }

  const json = async (...args: readonly string[]): Promise<unknown> => JSON.parse(await said(...args, '--json'));

  async function submit(queue: string, key: string, delay?: number): Promise<string> {
    const { results } = await sidecar.client.submit({ queue, items: [{ key, delay }] });
    return results[0]?.itemId ?? assert.fail();
  }

  async function take(
    queue: string,
  ): Promise<{ readonly queue: string; readonly key: string; readonly token: number }> {
    const { deliveries } = await sidecar.client.acquire({ queues: [queue], consumerId: 'worker-1' });
    return deliveries[0]?.turn ?? assert.fail();
  }

  it('resume lets a parked key go on, and says when there was nothing to do', async () => {
    await submit('orders', 'c7');
    await submit('orders', 'c7');
    await sidecar.client.nack({ ...(await take('orders')), kind: 'dead_letter', error: 'no' });
    const explained = await said('explain', 'orders', 'c7');
    assert.match(explained, /^state\s+PARK/m);
    assert.match(explained, /^command\s+keyturn dead-letters redrive --queue orders --key c7$/m);
    assert.match(explained, /^command\s+keyturn resume -- orders c7$/m);
    assert.equal(await said('resume', 'orders', 'c7'), 'key c7 in queue orders goes on, now READY\n');
    assert.deepEqual(await json('resume', 'orders', 'c7'), {
      queue: 'orders',
      key: 'c7',
      resumed: false,
      state: 'READY',
    });
  });

  it('resume of a queue says that keys of it are parked, when that is what may be meant', async () => {
    await submit('orders', 'stuck');
    await sidecar.client.nack({ ...(await take('orders')), kind: 'dead_letter', error: 'no' });
    const told = await said('resume', 'orders');
    assert.match(
      told,
      /^queue orders was not paused; 1 key of it is parked: "keyturn resume -- orders KEY" lets one go on$/m,
    );
    await said('resume', 'orders', 'stuck');
  });

  it('explain of the empty key tells of the items without a key, and names no command that cannot help', async () => {
    await submit('no-keys', '', 3_600_000);
    await submit('no-keys', '');
    const told = await said('explain', 'no-keys', '');
    assert.match(told, /^state\s+READY/m);
    assert.match(told, /^why\s+items without a key are each for themselves: 1 READY, 1 DELAY; /m);
    assert.match(told, /^line\s+0 callers, 2 items$/m);
    assert.doesNotMatch(told, /evict|retry|nobody/);
    await take('no-keys');
    assert.match(await said('explain', 'no-keys', ''), /^command\s+keyturn retry --item-id ID -- no-keys$/m);
  });

  it('no command is offered for a key that waits for other items: retry would be refused', async () => {
    const first = await submit('chain', 'a', 3_600_000);
    await sidecar.client.submit({ queue: 'chain', items: [{ key: 'b', after: [{ queue: 'chain', itemId: first }] }] });
    assert.match(await said('explain', 'chain', 'a'), /^command\s+keyturn retry -- chain a$/m);
    const told = await said('explain', 'chain', 'b');
    assert.match(told, /^why\s+the item at the head waits for others to be done/m);
    assert.doesNotMatch(told, /^command/m);
  });

  it('pause holds a queue back and resume lets it go on', async () => {
    const id = await submit('mail', 'm');
    assert.equal(await said('pause', 'mail'), 'queue mail gives no turns until "keyturn resume -- mail"\n');
    assert.deepEqual((await sidecar.client.acquire({ queues: ['mail'] })).deliveries, []);
    assert.match(await said('explain', 'mail', 'm'), /^command\s+keyturn resume -- mail$/m);
    assert.deepEqual(await json('resume', 'mail'), { queue: 'mail', paused: false });
    const { deliveries } = await sidecar.client.acquire({ queues: ['mail'] });
    assert.equal(deliveries[0]?.items[0]?.itemId, id);
  });

  it('evict takes a turn away, and says from whom', async () => {
    await submit('evicted', 'k');
    const { token } = await take('evicted');
    assert.match(await said('explain', 'evicted', 'k'), /^command\s+keyturn evict -- evicted k$/m);
    assert.deepEqual(await json('evict', 'evicted', 'k'), {
      queue: 'evicted',
      key: 'k',
      evicted: true,
      token,
      consumer_id: 'worker-1',
      items_returned: 1,
      items_discarded: 0,
      state: 'READY',
    });
    assert.equal(await said('evict', 'evicted', 'k'), 'nobody holds key k in queue evicted: it is READY\n');
  });

  it('evict --discard drops what the holder had', async () => {
    await submit('poisoned', 'k');
    await take('poisoned');
    assert.match(
      await said('evict', 'poisoned', 'k', '--discard'),
      /^took key k in queue poisoned away from worker-1 \(token \d+\), 1 item discarded; now INIT\n$/,
    );
    assert.deepEqual((await sidecar.client.acquire({ queues: ['poisoned'] })).deliveries, []);
  });

  it('retry lets a key, or an item, that waits for a time start now', async () => {
    await submit('later', 'k', 3_600_000);
    assert.match(
      await said('retry', 'later', 'k'),
      /^key k in queue later does not wait for its delay any more, (1h|59m \d+s) early; now READY/,
    );
    assert.match(await said('retry', 'later', 'k'), /^no time keeps key k in queue later back: it is READY/);
    const itemId = await submit('later', 'other', 3_600_000);
    const told = await json('retry', 'later', '--item-id', itemId);
    assert.ok(typeof told === 'object' && told !== null && 'key' in told && 'changed' in told);
    assert.deepEqual([told.key, told.changed], ['other', true]);
  });

  it('dead-letters chooses by what went wrong, says how many that are, and does it', async () => {
    const died = async (key: string, error: string) => {
      await submit('mended', key);
      const { deliveries } = await sidecar.client.acquire({ queues: ['mended'], consumerId: 'worker-1' });
      const [delivery] = deliveries;
      assert.ok(delivery);
      await sidecar.client.nack({ ...delivery.turn, kind: 'dead_letter', error });
    };
    for (const [key, error] of [
      ['a', 'no route'],
      ['b', 'no route'],
      ['c', 'bad zip'],
    ] as const)
      await died(key, error);
    const of = ['--queue', 'mended', '--error', 'no route'];
    assert.equal(await said('dead-letters', 'redrive', ...of, '--dry-run'), '2 would be redriven\n');
    assert.deepEqual(await json('dead-letters', 'discard', ...of, '--dry-run'), {
      discarded: 0,
      chosen: 2,
      dry_run: true,
    });
    assert.equal((await said('dead-letters', 'list', ...of)).trim().split('\n').length, 3);
    assert.equal(await said('dead-letters', 'list', ...of, '--before', '1h'), 'no dead letters\n');
    assert.equal(
      await said('dead-letters', 'redrive', ...of, '--after', '1h', '--reason', 'the route is back'),
      '2 redriven\n',
    );
    assert.deepEqual(await json('dead-letters', 'discard', '--queue', 'mended', '--cause', 'refused'), {
      discarded: 1,
    });
  });

  it('dead-letters discard --waiting takes very many in one go: what comes meanwhile is not of them (S88)', async () => {
    const key = (at: number) => ({ key: `k${at}` });
    for (let batch = 0; batch < 11; batch++)
      await sidecar.client.submit({
        queue: 'flood',
        items: Array.from({ length: 500 }, (_, at) => key(500 * batch + at)),
      });
    assert.equal(await said('dead-letters', 'discard', '--queue', 'flood', '--waiting', '--yes'), '5,500 discarded\n');
  });

  it('limits shows and changes what a queue may do', async () => {
    await submit('limited', 'k');
    assert.deepEqual(await json('limits', 'limited'), { queue: 'limited', rate: null, max_in_flight: null });
    await said('limits', 'limited', '--rate', '2.5', '--burst', '7', '--max-in-flight', '3');
    assert.match(await said('limits', 'limited'), /^rate\s+2\.5 per second, burst 7\nmax in flight\s+3\n$/);
    await said('limits', 'limited', '--rate', 'none');
    assert.deepEqual(await json('limits', 'limited'), { queue: 'limited', rate: null, max_in_flight: 3 });
  });

  it('watch shows what happens until it is stopped', async () => {
    const { child, ended } = startKeyturn(['watch', 'seen', 'k', '--json'], {
      env: { KEYTURN_ADDRESS: sidecar.address },
    });
    assert.ok(child.stdout);
    const first = once(child.stdout, 'data');
    // It says nothing when it has begun: so there is an event until one was seen.
    const seen = first.then(() => true);
    await until('an event', async () => {
      await submit('seen', 'k');
      return Promise.race([seen, Promise.resolve(false)]);
    });
    child.kill('SIGINT');
    const { exitCode, stdout } = await ended;
    assert.equal(exitCode, 130);
    const event: unknown = JSON.parse(stdout.split('\n')[0] ?? '');
    assert.ok(typeof event === 'object' && event !== null && 'event' in event && 'key' in event);
    assert.deepEqual([event.event, event.key], ['arrival', 'k']);
  });

  it('watch without a queue shows all of them, each event with its queue', async () => {
    const { child, ended } = startKeyturn(['watch'], { env: { KEYTURN_ADDRESS: sidecar.address } });
    assert.ok(child.stdout);
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += String(chunk);
    });
    await until('events of both queues', async () => {
      await submit('seen-here', 'k');
      await submit('seen-there', 'k');
      return /seen-here/.test(text) && /seen-there/.test(text);
    });
    child.kill('SIGINT');
    assert.equal((await ended).exitCode, 130);
    assert.match(text, /^\S+ {2}arrival {4,}seen-here {2}k {2}item /m);
  });

  it('what is asked of a queue that is not there says so', async () => {
    for (const args of [
      ['explain', 'nobody', 'k'],
      ['dead-letters', 'list', '--queue', 'nobody'],
    ]) {
      const { exitCode, stderr } = await run(...args);
      assert.equal(exitCode, 0);
      assert.match(stderr, /^keyturn: there is no queue nobody now: .*"keyturn queues" lists/);
    }
  });

  for (const args of [
    ['limits', 'nobody'],
    ['resume', 'nobody'],
    ['resume', 'nobody', 'k'],
    ['evict', 'nobody', 'k'],
    ['dead-letters', 'redrive', '--queue', 'nobody'],
    ['dead-letters', 'discard', '--queue', 'nobody', '--yes'],
  ]) {
    it(`${args.join(' ')} says that there is no such queue`, async () => {
      const { exitCode, stderr } = await run(...args);
      assert.equal(exitCode, 0);
      assert.match(stderr, /^keyturn: there is no queue nobody now: .*"keyturn queues" lists/);
    });
  }

  it('none of these has made a queue', async () => {
    assert.equal(await said('queues', 'nobody'), 'no queue has nobody in its name\n');
    assert.equal(await said('queues', 'nobody', '--stuck'), 'nothing is stuck\n');
  });

  for (const args of [
    ['pause', 'new-one'],
    ['limits', 'new-two', '--rate', '5'],
  ]) {
    it(`${args.join(' ')} says that it makes the queue`, async () => {
      const { exitCode, stderr } = await run(...args);
      assert.equal(exitCode, 0);
      assert.match(stderr, /^keyturn: there was no queue new-(one|two): it is made now/);
      assert.equal((await run(...args)).stderr, '');
    });
  }

  it('retry of a queue that is not there names it once', async () => {
    const { exitCode, stderr } = await run('retry', 'nobody', 'k');
    assert.deepEqual([exitCode, stderr.match(/keyturn queues/g)?.length], [1, 1]);
  });

  for (const [what, args, message] of [
    ['neither a key nor an item', ['retry', 'q'], /^keyturn: say which: a key, or --item-id/],
    ['a rate that is none', ['limits', 'q', '--rate', '0'], /--rate .*a number above 0, turns per second, or none/],
    ['a burst without a rate', ['limits', 'q', '--burst', '2'], /--burst needs --rate with a number/],
    ['no queue', ['pause'], /missing required argument 'queue'/],
    ['a key that is no key', ['evict', 'q', 'k'.repeat(1_025)], /key: .*1025 bytes.*1024/],
    ['a queue that is none', ['pause', 'a b'], /queue: .*"a b".*allowed/],
    ['a name of 200 characters', ['evict', 'x'.repeat(200), 'k'], /^keyturn: queue: .*200 bytes.*1 to 128/],
    ['a queue that is none, looked for nowhere', ['evict', 'a b', 'k'], /^keyturn: queue: .*allowed[^\n]*\n$/],
    ['an empty key, for which nobody has a turn', ['evict', 'q', ''], /^keyturn: name a key: items without one/],
    ['an empty key of a retry', ['retry', 'q', ''], /^keyturn: say which: a key, or --item-id/],
    ['a key and an item', ['retry', 'q', 'k', '--item-id', 'i'], /^keyturn: a key and --item-id: name one/],
  ] as const) {
    it(`${what} is refused with exit code 2`, async () => {
      const { exitCode, stderr } = await run(...args);
      assert.match(stderr, message);
      assert.equal(exitCode, 2);
    });
  }
});
