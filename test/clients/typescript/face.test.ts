/** The public face, as an application meets it: names that there are not, headers, `await using`, errors, CommonJS. */
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect, type Keyturn, KeyturnError, TurnLostError, type WithTurnOptions } from '@keyturn/client';
import { localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

describe('a name that there is not is refused with the one that may be meant', () => {
  // As a program in JavaScript may say it, which has no types.
  const any = <T>(value: object): T => value as T;
  const CALLS: readonly (readonly [string, (client: Keyturn) => Promise<unknown>, RegExp])[] = [
    [
      'enQueue',
      (c) => c.enQueue(any({ queue: 'q', key: 'k', waitMs: 5 })),
      /"waitMs" is not an .*did you mean "wait"\?/,
    ],
    ['deQueue', (c) => c.deQueue(any({ queue: 'q', key: 'k', tokn: 5 })), /"tokn".*did you mean "token"\?/],
    ['submit of a call', (c) => c.submit(any({ queue: 'q', items: [{ paylod: '' }] })), /did you mean "payload"\?/],
    ['submit of an item', (c) => c.submit('q', any({ paylod: '' })), /items\[0\]\.paylod: .*did you mean "payload"\?/],
    ['the options of submit', (c) => c.submit('q', {}, any({ wait_for_room: 1 })), /did you mean "waitForRoom"\?/],
    ['submitMany', (c) => c.submitMany('q', [any({ item_id: '' })]), /did you mean "itemId"\?/],
    ['acquire', (c) => c.acquire(any({ queues: ['q'], maxTurn: 1 })), /did you mean "maxTurns"\?/],
    ['ack', (c) => c.ack(any({ queue: 'q', key: 'k', token: 1, results: '' })), /did you mean "result"\?/],
    ['next of ack', (c) => c.ack(any({ queue: 'q', key: 'k', token: 1, next: { queue: ['q'] } })), /mean "queues"\?/],
    ['nack', (c) => c.nack(any({ queue: 'q', key: 'k', token: 1, kind: 'retry', delayMs: 1 })), /mean "delay"\?/],
    ['renew', (c) => c.renew(any({ turns: [], leaseMs: 1 })), /did you mean "lease"\?/],
    ['awaitItem', (c) => c.awaitItem(any({ queue: 'q', itemID: 'i' })), /did you mean "itemId"\?/],
    ['settings', (c) => c.enQueue({ queue: 'q', key: 'k' }, any({ timeoutMs: 1 })), /did you mean "timeout"\?/],
    [
      'withTurn',
      (c) => c.withTurn('q', 'k', any<WithTurnOptions>({ max_hold: 1 }), () => 0),
      /did you mean "maxHold"\?/,
    ],
    ['result', (c) => c.result('q', 'i', any({ wait: 1 })), /"wait" is not an option; those are timeout, signal$/],
    ['close', (c) => c.close(any({ timeoutMs: 1 })), /did you mean "timeout"\?/],
  ];
  for (const transport of ['session', 'unary'] as const) {
    for (const [what, call, told] of CALLS) {
      it(`${what}, over ${transport}`, async () => {
        const client = connect('127.0.0.1:1', { transport });
        await rejects(
          async () => call(client),
          (error) => {
            const cause = error instanceof Error && error.cause instanceof KeyturnError ? error.cause : error;
            ok(cause instanceof KeyturnError && cause.code === 'INVALID_ARGUMENT', String(error));
            ok(told.test(cause.message), cause.message);
            return true;
          },
        );
        await client.close();
      });
    }
  }

  it('but what a turn or a delivered item has besides may be spread into a call', async (t) => {
    const { address } = await startSidecar(t, localCoordinator(t));
    await using client = connect(address);
    const { itemId } = await client.submit('q', { key: 'k', headers: { a: 'b' } });
    const { deliveries } = await client.acquire({ queues: ['q'] });
    const [delivery] = deliveries;
    const [item] = delivery?.items ?? [];
    ok(delivery !== undefined && item !== undefined);
    await client.ack({ ...delivery.turn, result: Buffer.from('done') });
    strictEqual((await client.submit('r', { ...item, key: 'k' })).itemId, itemId);
  });
});

for (const transport of ['session', 'unary'] as const) {
  it(`headers are a Map or a plain object, over ${transport}`, async (t) => {
    const { address } = await startSidecar(t, localCoordinator(t));
    await using client = connect(address, { transport });
    await client.submit('q', { key: '1', headers: { trace: 'a', empty: '' } });
    await client.submit('q', { key: '2', headers: new Map([['trace', 'b']]) });
    const { deliveries } = await client.acquire({ queues: ['q'], maxTurns: 2 });
    deepStrictEqual(
      deliveries.map(({ items }) => items.map(({ headers }) => [...(headers ?? [])])),
      [
        [
          [
            ['trace', 'a'],
            ['empty', ''],
          ],
        ],
        [[['trace', 'b']]],
      ],
    );
    for (const headers of [['a'], new Headers({ a: 'b' }), { a: 1 }])
      await rejects(
        client.submit('q', { headers: headers as unknown as Map<string, string> }),
        /is no Map and no plain/,
      );
  });
}

it('`await using` closes a client, stops a consumer and closes a producer', async (t) => {
  const { address } = await startSidecar(t, localCoordinator(t));
  let client: Keyturn | undefined;
  let ended: Promise<void> | undefined;
  {
    await using keyturn = connect(address);
    client = keyturn;
    await using consumer = keyturn.consume('q', () => undefined);
    ended = consumer.ended;
    await using producer = keyturn.producer('q');
    void producer.add({ key: 'k' });
  }
  await ended;
  await rejects(client.enQueue({ queue: 'q', key: 'k' }), { code: 'CANCELLED' });
});

describe('`cause` of an error', () => {
  it('is the error of the transport that it was made of', async () => {
    await using client = connect('127.0.0.1:1', { transport: 'unary' });
    await rejects(client.enQueue({ queue: 'q', key: 'k', wait: 0 }), (error) => {
      ok(error instanceof KeyturnError && error.cause instanceof Error);
      return true;
    });
  });

  it('is what the handler threw when its turn was lost; `loss` says why it was', async (t) => {
    const { address } = await startSidecar(t, localCoordinator(t));
    await using client = connect(address);
    const own = new Error('half done');
    const lost = client.withTurn('q', 'k', async ({ signal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      await client.admin.evictHolder('q', 'k');
      await aborted;
      throw own;
    });
    await rejects(lost, (error) => {
      ok(error instanceof TurnLostError);
      deepStrictEqual([error.loss, error.cause], ['evicted', own]);
      return true;
    });
  });
});

describe('the package', () => {
  function run(program: string, ...args: readonly string[]) {
    return spawnSync(process.execPath, [...args, '-e', program], { cwd: ROOT, encoding: 'utf8' });
  }

  it('is had by `require` of a program in CommonJS', () => {
    const { stdout, stderr } = run("console.log(typeof require('@keyturn/client').connect)", '--input-type=commonjs');
    strictEqual(stdout, 'function\n', stderr);
  });

  it('has no way to its insides', () => {
    ok(existsSync(`${ROOT}/clients/typescript/dist/words/ids.js`));
    const { stderr } = run("await import('@keyturn/client/internal/ids')", '--input-type=module');
    ok(/ERR_PACKAGE_PATH_NOT_EXPORTED/.test(stderr), stderr);
    throws(() => import.meta.resolve('@keyturn/client/dist/words/ids.js'));
  });
});
