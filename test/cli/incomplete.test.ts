/** What a cluster tells while homes cannot be asked: the commands say that it is not complete, and what is missing. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FakeCoordinator } from '../grpc/fake-coordinator.js';
import { startSidecar } from '../support/sidecar.js';
import { command } from './in-process.js';

const ESC = String.fromCharCode(27);
const why = (partition: number) => `the home of partition ${partition} (b at b:1) does not answer${ESC}[2J`;
const unavailable = [1, 2, 3, 4, 5].map((partition) => ({ partition, why: why(partition) }));

/** Each list is empty, because nobody who has something could be asked. */
async function cluster(t: TestContext, missing = unavailable): Promise<string> {
  const coordinator = new FakeCoordinator();
  const rest = { nextPageToken: '', unavailable: missing };
  const okay = <T>(value: T) => ({ ok: true, value }) as const;
  coordinator.admin.answers.listQueues = async () => okay({ queues: [], more: false, holdUntil: undefined, ...rest });
  coordinator.admin.answers.listKeys = async () => okay({ keys: [], ...rest });
  coordinator.admin.answers.listDeadLetters = async () => okay({ deadLetters: [], ...rest });
  return (await startSidecar(t, coordinator)).address;
}

const COMMANDS: readonly (readonly string[])[] = [
  ['queues'],
  ['keys', 'orders'],
  ['dead-letters', 'list', '--queue', 'orders'],
];

for (const words of COMMANDS) {
  test(`S419: keyturn ${words.join(' ')}: says what is missing, and why, on standard error`, async (t) => {
    const address = await cluster(t);
    for (const json of [[], ['--json']]) {
      const { exitCode, stderr } = await command([...words, ...json, '--address', address]);
      assert.equal(exitCode, 0);
      assert.match(stderr, /^This is not complete: 5 partitions of the cluster could not be asked\.$/m);
      assert.match(stderr, /^ {2}the home of partition 1 \(b at b:1\) does not answer/m);
      assert.match(stderr, /^ {2}and 2 more: keyturn cluster$/m);
      assert.equal(stderr.includes(ESC), false, 'what others wrote is made harmless');
      assert.equal(stderr.includes('no queue'), false, 'nobody knows that');
    }
  });

  test(`S419: keyturn ${words.join(' ')}: says nothing where all was asked`, async (t) => {
    const { stderr } = await command([...words, '--address', await cluster(t, [])]);
    assert.equal(stderr.includes('not complete'), false);
  });
}

test('S419: programs find it in the JSON of keys and dead letters', async (t) => {
  const address = await cluster(t, unavailable.slice(0, 1));
  for (const words of COMMANDS.slice(1)) {
    const { stdout } = await command([...words, '--json', '--address', address]);
    const told: unknown = JSON.parse(stdout);
    assert.ok(typeof told === 'object' && told !== null && 'unavailable' in told);
    assert.deepEqual(told.unavailable, [{ partition: 1, why: why(1) }]);
  }
});
