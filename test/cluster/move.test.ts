/** `keyturn cluster move`, over a real Redis: by way of any sidecar, while a worker is busy. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect, KeyturnError } from '@keyturn/client';
import { command } from '../cli/in-process.js';
import { keyturn } from '../cli/serve-process.js';
import { backwards } from '../support/backwards.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';

/** What a worker does in its turn takes so long, ms. */
const WORK_MS = 10;

async function until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (isSo(answer)) return answer;
    await once(AbortSignal.timeout(50), 'abort');
  }
}

test('S332: a person moves a partition by way of a gateway, and no call fails', needs([REDIS]), async (t) => {
  const cleanup = backwards(t);
  const redis = await TestRedis.start(cleanup);
  const options = ['--store', redis.url, '--cluster-session', '10s', '--cluster-partitions', '2'];
  // Even shares give the second one nothing: on a slow machine 15 s may pass before it is asked for.
  const heavy = [...options, '--cluster-weight', '100'];
  const [first, second] = [await SidecarHere.start(cleanup, heavy), await SidecarHere.start(cleanup, options)];
  const gateway = await SidecarHere.start(cleanup, [...options, '--cluster-weight', '0']);
  const at = ['--address', gateway.address('grpc')];
  const client = connect(gateway.address('grpc'));
  cleanup.after(() => client.close({ timeout: 0 }));
  const seen = await until(
    () => client.admin.getCluster(),
    ({ homes, members }) => members.length === 2 && homes.every(({ state }) => state === 'open'),
  );
  const [one, two] = seen.members;
  const from = seen.homes[0]?.member;
  const to = [one, two].find((member) => member?.id !== from) ?? assert.fail();

  const failures: unknown[] = [];
  let turns = 0;
  let isOver = false;
  const busy = ['a', 'b', 'c', 'd'].map(async (queue) => {
    // One failure is enough to know.
    while (!isOver && failures.length === 0) {
      const work = async () => {
        turns += 1;
        await once(AbortSignal.timeout(WORK_MS), 'abort');
      };
      await client.withTurn(queue, 'k', work).catch((error: unknown) => failures.push(error));
    }
  });

  // Both have the name of this machine: that says too little.
  await assert.rejects(client.admin.movePartition(0, to.name), (error) => {
    assert.ok(error instanceof KeyturnError);
    assert.deepEqual([error.code, error.reason], ['FAILED_PRECONDITION', 'NOT_MOVABLE']);
    assert.match(error.message, new RegExp(`is ambiguous; say the id, .*${to.id.slice(0, 8)}`));
    return true;
  });
  const moved = await keyturn(['cluster', 'move', '0', to.id.slice(0, 8), '--json', ...at]);
  assert.equal(moved.code, 0, `${moved.stdout} ${moved.stderr}`);
  const told: { readonly paused_ms: number | null; readonly [field: string]: unknown } = JSON.parse(moved.stdout);
  assert.deepEqual(Object.keys(told), ['partition', 'state', 'member', 'name', 'previous', 'paused_ms', 'why']);
  assert.deepEqual([told['partition'], told['state'], told['member'], told['why']], [0, 'moved', to.id, '']);
  assert.ok(told.paused_ms !== null && told.paused_ms > 0, 'the last home told the next one when it began');
  const now = await until(
    () => client.admin.getCluster(),
    ({ homes }) => homes[0]?.member === to.id && homes[0].state === 'open',
  );
  assert.equal(now.homes[0]?.pinned, `${to.name} at ${to.peer}`);
  const shown = await command(['cluster', ...at]);
  assert.match(shown.stdout, new RegExp(`\\nMOVED TO +PARTITIONS\\n.* at ${to.peer} +0\\n`));

  const before = turns;
  await until(
    async () => turns,
    (count) => count > before + 4,
  );
  isOver = true;
  await Promise.all(busy);
  assert.deepEqual(failures, []);

  const here = connect(first.address('grpc'), { transport: 'unary' });
  cleanup.after(() => here.close());
  assert.deepEqual(await here.admin.movePartition(0, to.id), {
    state: 'already_there',
    member: to.id,
    name: to.name,
    previous: to.name,
    paused: undefined,
    why: '',
  });
  const at2 = ['--address', second.address('grpc')];
  const released = await command(['cluster', ...at2, 'move', '0', '--anywhere']);
  assert.deepEqual(
    [released.exitCode, released.stdout],
    [0, `partition 0 is kept nowhere any more; ${to.name} has it now\n`],
  );
  assert.equal((await client.admin.getCluster()).homes[0]?.pinned, '');
  await assert.rejects(here.admin.movePartition(9, to.id), /allowed: 0 to 1/);
  await assert.rejects(here.admin.movePartition(0, ''), /member/);
});

test('says what it needs', async () => {
  const usage = await command(['cluster', 'move', '0']);
  assert.deepEqual([usage.exitCode, /MEMBER or --anywhere/.test(usage.stderr)], [2, true]);
});

test('S332: a sidecar that stands alone moves nothing, and says why', async (t) => {
  const sidecar = await SidecarHere.start(t);
  const args = ['cluster', 'move', '0', 'x', '--address', sidecar.address('grpc')];
  const { exitCode, stderr } = await command(args);
  assert.equal(exitCode, 1);
  assert.match(stderr, /this sidecar stands alone/);
});
