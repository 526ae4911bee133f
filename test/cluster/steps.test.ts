/** Follow-ups from one group to another between real processes over a real Redis: the home of the Ack is killed right behind its answer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect, type Keyturn, KeyturnError } from '@keyturn/client';
import { openStore } from '../../src/cluster/engines/open.js';
import { PartitionMap } from '../../src/cluster/partitions/partition-map.js';
import { command } from '../cli/in-process.js';
import { ServeProcess } from '../cli/serve-process.js';
import { backwards } from '../support/backwards.js';
import { deferred } from '../support/deferred.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';

const PARTITIONS = 2;
const map = new PartitionMap(PARTITIONS, new Map());
/** A queue of each partition. */
const queueAt = (partition: number) =>
  ['orders', 'bills', 'mails', 'calls'].find((name) => map.of(name, '') === partition) ?? 'none';
const FROM = queueAt(0);
const TO = queueAt(1);
/** First the home of the Acks, then the one that took over and is that of the other group, too. */
const ROUNDS = 2;
/** What the home that is killed acknowledges without waiting for one answer before the next. */
const EACH = 8;

async function until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (isSo(answer)) return answer;
    await once(AbortSignal.timeout(50), 'abort');
  }
}

/** Addresses of the homes of both partitions, when both are open. @param apart at different members */
async function homesOf(client: Keyturn, apart: boolean): Promise<readonly string[]> {
  const { homes, members } = await until(
    () => client.admin.getCluster(),
    (view) =>
      view.homes.every(({ state }) => state === 'open') && (!apart || view.homes[0]?.member !== view.homes[1]?.member),
  );
  const addresses = new Map(members.map(({ id, address }) => [id, address]));
  return homes.map(({ member }) => addresses.get(member) ?? '');
}

/** Of a cluster that is new the newest format of rows counts from the start. */
async function beganWithVersionBefore(url: string): Promise<void> {
  const store = await openStore(url, { cluster: 'keyturn', replicas: 0 });
  const secret = Buffer.alloc(32).toString('base64');
  await store.record({ id: 'older', partitions: PARTITIONS, secret, version: 1, routes: {} });
  await store.close();
}

test(
  'S520, S522, S526: follow-ups arrive in the other group once, whichever home is killed right behind the answer to their Ack',
  needs([REDIS]),
  async (t) => {
    const cleanup = backwards(t);
    const redis = await TestRedis.start(cleanup, ['--appendonly', 'yes', '--appendfsync', 'always']);
    await beganWithVersionBefore(redis.url);
    const options = ['--store', redis.url, '--cluster-session', '3s', '--cluster-partitions', String(PARTITIONS)];
    const gateway = await SidecarHere.start(cleanup, [...options, '--cluster-weight', '0']);
    const members = new Map<string, ServeProcess>();
    const start = async () => {
      const member = await ServeProcess.start(cleanup, options);
      members.set(await member.address('grpc'), member);
    };
    await Promise.all([start(), start()]);
    const client = connect(gateway.address('grpc'));
    cleanup.after(() => client.close({ timeout: 0 }));
    await homesOf(client, true);

    await client.submit(FROM, { key: 'k', itemId: 'first' });
    const [first] = (await client.acquire({ queues: [FROM], wait: 5_000 })).deliveries;
    assert.ok(first !== undefined);
    const followUps = [{ queue: TO, item: { key: 'k', itemId: 'none' } }];
    await assert.rejects(client.ack({ ...first.turn, followUps }), (error) => {
      assert.ok(error instanceof KeyturnError);
      assert.equal(error.reason, 'OTHER_GROUP');
      assert.match(error.message, /keyturn cluster finalize/);
      return true;
    });
    const fixed = await command(['cluster', 'finalize', '--address', gateway.address('grpc')]);
    assert.equal(fixed.exitCode, 0, fixed.stderr);
    // Each sidecar learns of it with its next look at the store.
    await until(
      () =>
        client
          .ack({ ...first.turn, followUps: [{ queue: TO, item: { key: 'k', payload: Buffer.from('first') } }] })
          .catch(() => undefined),
      (answer) => answer !== undefined,
    );

    const expected = ['first'];
    for (let round = 0; round < ROUNDS; round++) {
      const [killed = ''] = await homesOf(client, round === 0);
      const names = Array.from({ length: EACH }, (_, at) => `${round}.${at}`);
      await Promise.all(names.map((itemId) => client.submit(FROM, { key: itemId, itemId })));
      const { deliveries } = await client.acquire({ queues: [FROM], maxTurns: EACH, wait: 5_000 });
      assert.equal(deliveries.length, EACH);
      const acks = deliveries.map(({ turn, items }) => {
        const payload = Buffer.from(items[0]?.itemId ?? '');
        return client.ack({ ...turn, followUps: [{ queue: TO, item: { key: turn.key, payload } }] });
      });
      // Behind the first answer: of the others nobody knows what became of them, and the client asks again.
      await Promise.race(acks);
      members.get(killed)?.signal('SIGKILL');
      await members.get(killed)?.exited;
      members.delete(killed);
      await start();
      for (const { followUps: results } of await Promise.all(acks)) assert.equal(results[0]?.decision, 'accept');
      expected.push(...names);
    }

    const got: string[] = [];
    const done = deferred();
    client.consume(
      [TO],
      async ({ items }) => {
        for (const { payload } of items) got.push(Buffer.from(payload).toString());
        if (got.length >= expected.length) done.resolve(undefined);
      },
      { concurrency: 8 },
    );
    await done.promise;
    // What came twice would stand in the queue by now: its parcel is gone only when it is known to be there.
    await until(
      () => client.admin.listQueues({}),
      ({ queues }) => queues.every(({ waiting, states }) => waiting === 0 && states.PROCESS === 0),
    );
    assert.deepEqual([...got].sort(), [...expected].sort());
  },
);
