import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import { command as commandHere, type ServedHere, serveHere } from './in-process.js';
import { type Ended, keyturn, put, temporaryFolder } from './keyturn-process.js';

const SETTINGS = `
queues:
  orders: { retry: { max_attempts: 1 } }
  coalescing: { waiting_per_key: 1 }
  tiny: { max_waiting: 1 }
  all-settings: { max_hold: 1h, slow_hold: 1m, rate: { per_second: 1 }, max_in_flight: 5, waiting_per_key: 1, group: g }
`;

const text = new TextDecoder();

/** The commands by which people hand messages over and look after them: submit, explain, queues, dead-letters. */
describe('commands for people', () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let sidecar: ServedHere;
  let folder: string;

  before(async () => {
    const cleanup = { after: (task: () => Promise<void> | void) => void tasks.unshift(task) };
    sidecar = await serveHere(cleanup, SETTINGS);
    folder = await temporaryFolder(cleanup);
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  /** Standard input is that of a process. */
  function command(args: readonly string[], input?: { readonly stdin: string }): Promise<Ended> {
    const words = [...args, '--address', sidecar.address];
    return input === undefined ? commandHere(words) : keyturn(words, input);
  }

  async function json(args: readonly string[]): Promise<unknown> {
    const { exitCode, stdout, stderr } = await command([...args, '--json']);
    assert.equal(exitCode, 0, stderr);
    return JSON.parse(stdout);
  }

  /** What a worker gets: key, id, payload, headers. */
  async function take(queue: string, turns = 10) {
    // No machine is so busy that they come back during a test.
    const lease = 3_600_000;
    const { deliveries } = await sidecar.client.acquire({
      queues: [queue],
      maxTurns: turns,
      maxItemsPerTurn: 100,
      lease,
    });
    return deliveries.flatMap(({ turn, items }) =>
      items.map(({ itemId, payload, headers }) => {
        return { key: turn.key, itemId, payload: text.decode(payload), headers: Object.fromEntries(headers ?? []) };
      }),
    );
  }

  /** Lets items die: each is taken once and fails. */
  async function makeDeadLetter(key: string, ...itemIds: string[]): Promise<void> {
    const items = itemIds.map((itemId) => ({ key, itemId, payload: Buffer.from(`payload of ${itemId}`) }));
    await sidecar.client.submit({ queue: 'orders', items });
    const { deliveries } = await sidecar.client.acquire({ queues: ['orders'], maxItemsPerTurn: 100, lease: 3_600_000 });
    for (const { turn } of deliveries) {
      const { queue, token } = turn;
      await sidecar.client.nack({ queue, key: turn.key, token, kind: 'dead_letter', error: 'no stock' });
    }
  }

  describe('keyturn submit', () => {
    it('hands a message over with all that belongs to it', async () => {
      const args = ['submit', '--queue', 's1', '--key', 'k', '--payload', 'hello', '--item-id', 'one'];
      const ended = await command([...args, '--header', 'kind=welcome', '--header', 'a=b=c']);
      assert.deepEqual([ended.exitCode, ended.stdout], [0, 'accepted  one\n']);
      const headers = { kind: 'welcome', a: 'b=c' };
      assert.deepEqual(await take('s1'), [{ key: 'k', itemId: 'one', payload: 'hello', headers }]);
    });

    it('says what shall have happened when it is accepted; what the queue cannot give is refused', async () => {
      const args = ['submit', '--queue', 's10', '--payload', 'x', '--durability'];
      assert.equal((await command([...args, 'memory'])).exitCode, 0);
      const refused = await command([...args, 'on_flush']);
      assert.equal(refused.exitCode, 2);
      assert.match(refused.stderr, /durability: on_flush is not allowed, queue s10 is not durable; allowed: memory/);
      const unknown = await command([...args, 'disk']);
      assert.equal(unknown.exitCode, 2);
      assert.match(unknown.stderr, /Allowed choices are on_flush, interval, count, memory/);
    });

    it('--after: it starts when that one is done, and an unknown one is refused unless it may wait', async () => {
      const args = ['submit', '--queue', 's0', '--payload', 'p'];
      const never = await command([...args, '--after', 's0=never']);
      assert.equal(never.exitCode, 2);
      assert.match(never.stderr, /items\[0\]\.after\[0\].*item never of queue s0 is not known here/s);
      const wrong = await command([...args, '--after', 'never']);
      assert.deepEqual([wrong.exitCode, wrong.stderr], [2, 'keyturn: --after "never": write queue=id\n']);
      const waits = ['--item-id', 'second', '--after', 's0=a=b', '--after-unknown', 'wait'];
      assert.equal((await command([...args, ...waits])).exitCode, 0);
      assert.equal((await command([...args, '--item-id', 'a=b'])).exitCode, 0);
      const { deliveries } = await sidecar.client.acquire({ queues: ['s0'], maxTurns: 10 });
      assert.deepEqual(
        deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId)),
        ['a=b'],
      );
      for (const { turn } of deliveries) await sidecar.client.ack({ queue: 's0', key: '', token: turn.token });
      assert.equal((await take('s0'))[0]?.itemId, 'second');
    });

    it('a second time with the same id is harmless', async () => {
      const args = ['submit', '--queue', 's2', '--key', 'k', '--payload', 'hello', '--item-id', 'one'];
      for (let time = 1; time <= 2; time++) assert.equal((await command(args)).exitCode, 0);
      assert.equal((await take('s2')).length, 1);
    });

    it('takes the message from a file or from standard input', async () => {
      const file = await put(folder, 'payload', 'from a file\n');
      await command(['submit', '--queue', 's3', '--key', 'a', '--payload-file', file]);
      await command(['submit', '--queue', 's3', '--key', 'b'], { stdin: 'from\nstandard input' });
      const payloads = (await take('s3')).map(({ payload }) => payload);
      assert.deepEqual(payloads, ['from a file\n', 'from\nstandard input']);
    });

    it('takes every line as an item, in order, with ids that make a resend harmless', async () => {
      const stdin = Array.from({ length: 1_200 }, (_, n) => `line ${n}\n`).join('');
      const args = ['submit', '--queue', 's4', '--key', 'k', '--lines', '--item-id', 'import'];
      const ended = await command(args, { stdin });
      assert.equal(ended.exitCode, 0);
      assert.equal(ended.stdout.split('\n').length, 1_201);
      await command(args, { stdin });
      const queue = (await sidecar.client.admin.listQueues()).queues.find(({ name }) => name === 's4');
      assert.equal(queue?.waiting, 1_200);
      assert.deepEqual(
        (await take('s4')).slice(0, 2).map(({ itemId, payload }) => [itemId, payload]),
        [
          ['import:1', 'line 0'],
          ['import:2', 'line 1'],
        ],
      );
    });

    it('says it in JSON, an object per item', async () => {
      const args = ['submit', '--queue', 'coalescing', '--key', 'k', '--lines', '--item-id', 'x', '--json'];
      const { exitCode, stdout } = await command(args, { stdin: 'a\nb\n' });
      assert.equal(exitCode, 75, 'one was declined');
      assert.deepEqual(
        stdout
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
        [
          { item_id: 'x:1', decision: 'accept' },
          { item_id: 'x:2', decision: 'decline', reason: 'waiter_exists', survivor_id: 'x:1' },
        ],
      );
    });

    it('says why an item was declined, and by whom', async () => {
      await command(['submit', '--queue', 'coalescing', '--key', 'l', '--payload', 'x', '--item-id', 'first']);
      const args = ['submit', '--queue', 'coalescing', '--key', 'l', '--payload', 'y', '--item-id', 'second'];
      const { exitCode, stdout } = await command(args);
      assert.deepEqual([exitCode, stdout], [75, 'declined  second  WAITER_EXISTS  first stands in\n']);
    });

    it('with a delay is not taken before it has passed', async () => {
      await command(['submit', '--queue', 's5', '--key', 'k', '--payload', 'x', '--delay', '1h']);
      assert.deepEqual(await take('s5'), []);
      assert.equal((await sidecar.client.admin.explainKey('s5', 'k')).state, 'DELAY');
    });

    const wrong: readonly [string, readonly string[], number, RegExp][] = [
      ['two sources', ['--payload', 'x', '--lines'], 2, /--payload and --lines exclude each other/],
      [
        'one idempotency key for many',
        ['--lines', '--idempotency-key', 'x'],
        2,
        /with --lines every line would have the same/,
      ],
      ['a header without a value', ['--payload', 'x', '--header', 'kind'], 2, /--header "kind": write name=value/],
      ['a missing file', ['--payload-file', '/no/such'], 1, /cannot read \/no\/such: there is no such file \(ENOENT\)/],
      ['a key that is too long', ['--payload', 'x', '--key', 'x'.repeat(1_025)], 2, /items\[0\]\.key: /],
    ];
    for (const [title, args, exitCode, message] of wrong) {
      it(`refuses ${title}`, async () => {
        const ended = await command(['submit', '--queue', 'q', ...args]);
        assert.match(ended.stderr, message);
        assert.equal(ended.exitCode, exitCode);
      });
    }

    for (const [size, message] of [
      [1_048_577, /items\[0\]\.payload: /],
      [3_000_000, /standard input is longer than 1 MiB, the limit of a payload/],
    ] as const) {
      it(`refuses a payload of ${size} bytes`, async () => {
        const ended = await command(['submit', '--queue', 'q', '--key', 'k'], { stdin: 'x'.repeat(size) });
        assert.match(ended.stderr, message);
        assert.deepEqual([ended.exitCode, ended.stdout], [2, '']);
      });
    }

    it('says that the queue is full', async () => {
      await command(['submit', '--queue', 'tiny', '--payload', 'x']);
      const { exitCode, stderr } = await command(['submit', '--queue', 'tiny', '--payload', 'y']);
      assert.equal(exitCode, 1);
      assert.match(stderr, /^keyturn: .*\(RESOURCE_EXHAUSTED, QUEUE_FULL\)\n$/);
    });
  });

  describe('keyturn explain', () => {
    it('tells who holds a key and who waits', async () => {
      const { client } = sidecar;
      await client.enQueue({ queue: 'e1', key: 'k', consumerId: 'ada', lease: 60_000 });
      await client.submit({ queue: 'e1', items: [{ key: 'k', itemId: 'behind' }] });
      const { stdout } = await command(['explain', 'e1', 'k']);
      assert.match(stdout, /^key +k in queue e1$/m);
      assert.match(stdout, /^state +BLOCK since \d{4}-\d\d-\d\dT\S+Z \(.* ago\)$/m);
      assert.match(stdout, /^holder +ada, token \d+, since .* ago, lease ends in (1m|59s|5\ds), 0 renewals$/m);
      assert.match(stdout, /^line +0 callers, 1 item$/m);
      assert.match(stdout, /^1 +item +behind +\S+ ago +0$/m);
      const told = await json(['explain', 'e1', 'k']);
      assert.ok(typeof told === 'object' && told !== null && 'holder' in told && 'line' in told && 'state' in told);
      assert.equal(told.state, 'BLOCK');
      assert.ok(typeof told.holder === 'object' && told.holder !== null && 'consumer_id' in told.holder);
      assert.equal(told.holder.consumer_id, 'ada');
      assert.ok(Array.isArray(told.line) && told.line.length === 1);
    });

    it('tells why a key does not move, and until when', async () => {
      await sidecar.client.submit({ queue: 'e2', items: [{ key: 'k', delay: 3_600_000 }] });
      const { stdout } = await command(['explain', 'e2', 'k']);
      assert.match(stdout, /^state +DELAY /m);
      assert.match(stdout, /^why +\S/m);
      assert.match(stdout, /^until +\S+Z \(in (1h|59m \d+s)\)$/m);
    });

    it('of a key of which nothing is known tells just that', async () => {
      const { exitCode, stdout } = await command(['explain', 'e3', 'nobody']);
      assert.deepEqual(
        [exitCode, stdout],
        [0, 'key     nobody in queue e3\nstate   INIT\nholder  nobody\nline    empty\n'],
      );
    });
  });

  describe('keyturn queues', () => {
    it('lists them in columns', async () => {
      await sidecar.client.enQueue({ queue: 'listed', key: 'k', lease: 60_000 });
      await sidecar.client.submit({ queue: 'listed', items: [{ key: 'k' }, { key: 'l' }] });
      await sidecar.client.admin.pauseQueue('listed');
      const { exitCode, stdout } = await command(['queues']);
      assert.equal(exitCode, 0);
      assert.match(stdout, /^QUEUE +LIVE +WAITING +OLDEST +DEAD +PROCESS +BLOCK +READY +DELAY +PARK$/m);
      assert.match(stdout, /^listed +1 +2 +\S+ +0 +0 +1 +1 +0 +0 +paused$/m);
    });

    it('lists them in JSON, with their policies', async () => {
      await sidecar.client.submit({ queue: 'orders', items: [{ key: 'listed', itemId: 'listed' }] });
      const queues = await json(['queues']);
      await sidecar.client.admin.discard({ queue: 'orders' }, true);
      assert.ok(Array.isArray(queues));
      const orders: unknown = queues.find((queue) => queue.name === 'orders');
      assert.ok(typeof orders === 'object' && orders !== null && 'policy' in orders);
      assert.ok(typeof orders.policy === 'object' && orders.policy !== null && 'retry' in orders.policy);
      assert.deepEqual(orders.policy.retry, {
        max_attempts: 1,
        initial_ms: 1_000,
        factor: 2,
        max_ms: 300_000,
        jitter: 'full',
      });
    });

    it('with every setting of a queue', async () => {
      await sidecar.client.submit({ queue: 'all-settings', items: [{ key: 'k', delay: 3_600_000 }] });
      const [queue] = (await json(['queues', 'all-settings'])) as [{ policy: object }];
      const shown = Object.keys(queue.policy).map((name) => name.replace(/_ms$/, ''));
      const settings = Object.keys(BUILT_IN_POLICY).map((name) =>
        name.replaceAll(/[A-Z]/g, (one) => `_${one.toLowerCase()}`),
      );
      assert.deepEqual(shown.toSorted(), settings.toSorted());
    });
  });

  describe('keyturn dead-letters', () => {
    it('are listed in pages, redriven and discarded', async () => {
      await makeDeadLetter('a', '1', '2', '3');
      await makeDeadLetter('b', '4');
      const list = ['dead-letters', 'list', '--queue', 'orders'];
      const all = await command(list);
      assert.match(all.stdout, /^ITEM +KEY +ATTEMPTS +DIED +CAUSE +LAST ERROR$/m);
      assert.match(all.stdout, /^1 +a +1 +\S+ ago +refused +no stock$/m);
      assert.equal(all.stdout.split('\n').length, 6);
      assert.equal((await command(['dead-letters', 'list', 'orders'])).stdout.split('\n').length, 6, 'in its place');
      for (const words of [[], ['orders', '--queue', 'orders'], ['']])
        assert.match(
          (await command(['dead-letters', 'list', ...words])).stderr,
          /^keyturn: name the queue once, as an argument or by --queue$/m,
        );

      const page = await json([...list, '--limit', '2']);
      assert.ok(typeof page === 'object' && page !== null && 'dead_letters' in page && 'next_page_token' in page);
      assert.deepEqual(ids(page.dead_letters), ['1', '2']);
      assert.equal(typeof page.next_page_token, 'string');
      const rest = await json([...list, '--page-token', String(page.next_page_token)]);
      assert.ok(typeof rest === 'object' && rest !== null && 'dead_letters' in rest);
      assert.deepEqual(ids(rest.dead_letters), ['3', '4']);

      const ofKey = await json([...list, '--key', 'b']);
      assert.ok(typeof ofKey === 'object' && ofKey !== null && 'dead_letters' in ofKey);
      assert.deepEqual(ids(ofKey.dead_letters), ['4']);

      const redrive = ['dead-letters', 'redrive', '--queue', 'orders'];
      assert.deepEqual(await json([...redrive, '--item-id', '1', '--item-id', '2']), { redriven: 2 });
      assert.deepEqual(
        (await take('orders')).map(({ itemId }) => itemId),
        ['1', '2'],
      );

      const discard = ['dead-letters', 'discard', '--queue', 'orders'];
      const refused = await command(discard);
      assert.equal(refused.exitCode, 2);
      assert.match(refused.stderr, /would discard all dead letters of orders for good; say --yes if you mean it/);
      assert.deepEqual(await json([...discard, '--key', 'b']), { discarded: 1 });
      assert.deepEqual(await json([...discard, '--yes']), { discarded: 1 });
      assert.deepEqual((await command(list)).stdout, 'no dead letters\n');
      assert.deepEqual((await command(redrive)).stdout, '0 redriven\n');
    });

    it('discard takes waiting items too when it is told so', async () => {
      await sidecar.client.submit({ queue: 'd1', items: [{ key: 'k' }, { key: 'k' }] });
      assert.deepEqual(await json(['dead-letters', 'discard', '--queue', 'd1', '--key', 'k']), { discarded: 0 });
      assert.deepEqual(await json(['dead-letters', 'discard', '--queue', 'd1', '--key', 'k', '--waiting']), {
        discarded: 2,
      });
    });

    it('S436: so does explain, of what is held and of what waits', async () => {
      const trace = (digit: string) => digit.repeat(32);
      const header = (digit: string) => new Map([['traceparent', `00-${trace(digit)}-${digit.repeat(16)}-01`]]);
      await sidecar.client.submitMany('looked-at', [
        { key: 'k', itemId: 'held', headers: header('1') },
        { key: 'k', itemId: 'waits', headers: header('2') },
        { key: 'k', itemId: 'plain' },
      ]);
      await sidecar.client.acquire({ queues: ['looked-at'], maxTurns: 1, maxItemsPerTurn: 1, lease: 3_600_000 });
      const { stdout } = await command(['explain', 'looked-at', 'k']);
      assert.match(stdout, new RegExp(`items +held \\(attempt 1, trace ${trace('1')}\\)`));
      assert.match(stdout, /TRACE/);
      assert.match(stdout, new RegExp(`waits .*${trace('2')}`));
      const told = JSON.stringify(await json(['explain', 'looked-at', 'k']));
      assert.match(told, new RegExp(`"held_items":\\[{"item_id":"held","attempt":1,"trace_id":"${trace('1')}"}\\]`));
      assert.match(told, new RegExp(`"id":"waits".*"trace_id":"${trace('2')}"`));
    });

    it('S441: so does item, and shows what it carries when asked to', async () => {
      const headers = new Map([['colour', 'red\u001b[31m']]);
      await sidecar.client.submit('one-by-one', { key: 'k', itemId: 'it', payload: Buffer.from('hello'), headers });
      const { stdout } = await command(['item', 'one-by-one', 'it']);
      assert.match(stdout, /^state +waiting$/m);
      assert.match(stdout, /^payload +5 bytes$/m);
      assert.doesNotMatch(stdout, /hello|colour/);
      const shown = await command(['item', 'one-by-one', 'it', '--payload']);
      assert.match(shown.stdout, /^content +hello$/m);
      assert.ok(!shown.stdout.includes('\u001b'), 'nothing in it that a terminal acts on');
      const told = JSON.stringify(await json(['item', 'one-by-one', 'it', '--payload']));
      assert.match(told, /"state":"waiting".*"payload_bytes":5.*"payload":"aGVsbG8="/);
      const unknown = await command(['item', 'one-by-one', 'nothing']);
      assert.deepEqual([unknown.exitCode, /^state +unknown$/m.test(unknown.stdout)], [0, true]);
    });

    it('S452: show the trace of who submitted them', async () => {
      const trace = '0af7651916cd43dd8448eb211c80319c';
      const items = [
        { itemId: 'traced', headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` } },
        { itemId: 'strange', headers: { traceparent: '\u001b[31m' } },
        { itemId: 'none' },
      ];
      await sidecar.client.submit({
        queue: 'traced',
        items: items.map((item) => ({ ...item, payload: new Uint8Array() })),
      });
      const { deliveries } = await sidecar.client.acquire({ queues: ['traced'], maxTurns: 3 });
      for (const { turn } of deliveries)
        await sidecar.client.nack({ queue: 'traced', key: '', token: turn.token, kind: 'dead_letter', error: 'no' });
      const { stdout } = await command(['dead-letters', 'list', '--queue', 'traced']);
      assert.match(stdout, /^ITEM +KEY +ATTEMPTS +DIED +CAUSE +TRACE +LAST ERROR$/m);
      assert.match(stdout, new RegExp(`^traced .* refused +${trace} +no$`, 'm'));
      for (const id of ['strange', 'none']) assert.match(stdout, new RegExp(`^${id} .* refused +- +no$`, 'm'));
      const told = await json(['dead-letters', 'list', '--queue', 'traced']);
      assert.ok(typeof told === 'object' && told !== null && 'dead_letters' in told);
      assert.ok(Array.isArray(told.dead_letters));
      assert.deepEqual(
        told.dead_letters.map(({ trace_id }) => trace_id),
        [trace, undefined, undefined],
      );
    });

    function ids(letters: unknown): unknown[] {
      assert.ok(Array.isArray(letters));
      return letters.map((letter) => letter.item_id);
    }
  });

  describe('without a sidecar', () => {
    const commands: readonly (readonly string[])[] = [
      ['queues'],
      ['explain', 'q', 'k'],
      ['submit', '--queue', 'q', '--payload', 'x'],
      ['dead-letters', 'list', '--queue', 'q'],
    ];
    for (const args of commands) {
      it(`${args[0]} says so, and what to do`, async () => {
        const { exitCode, stdout, stderr } = await commandHere([...args, '--address', '127.0.0.1:1']);
        assert.deepEqual([exitCode, stdout], [69, '']);
        assert.match(
          stderr,
          /no answer from a sidecar at 127\.0\.0\.1:1 .*\nStart one with "keyturn serve", or say where/,
        );
      });
    }
  });
});
