/** The tool that most people try a gRPC service with, as they would: without a proto file. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from '../../project/repository.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { type NeededProgram, needs, pathOf } from '../../support/needed-program.js';
import { startSidecar } from '../../support/sidecar.js';

const GRPCURL: NeededProgram = {
  name: 'grpcurl',
  places: [join(ROOT, '.cache/bin/grpcurl')],
  install: 'With Go 1.22 or newer: .ci/go-programs puts it into .cache/bin.',
};

const run = promisify(execFile);

/** @returns what it says, as JSON where it is asked for a call */
async function grpcurl(address: string, ...words: string[]): Promise<string> {
  const flags = words.length > 1 ? ['-d', words[1] ?? ''] : [];
  const { stdout } = await run(pathOf(GRPCURL), ['-plaintext', '-emit-defaults', ...flags, address, words[0] ?? '']);
  return stdout;
}

async function addressOf(t: TestContext): Promise<string> {
  return (await startSidecar(t, localCoordinator(t))).address;
}

describe('grpcurl', needs([GRPCURL]), () => {
  it('calls EnQueue', async (t) => {
    const said = await grpcurl(await addressOf(t), 'keyturn.v1.CoordinatorService/EnQueue', '{"queue":"q","key":"k"}');
    const { decision, turn } = JSON.parse(said);
    assert.deepEqual([decision, turn.queue, turn.key, turn.lease], ['DECISION_ACCEPT', 'q', 'k', '20s']);
  });

  it('hands over an item with headers', async (t) => {
    const items = '{"queue":"q","items":[{"key":"k","item_id":"i","payload":"YQ==","headers":{"a":"b"}}]}';
    const said = await grpcurl(await addressOf(t), 'keyturn.v1.CoordinatorService/Submit', items);
    assert.equal(JSON.parse(said).results[0].itemId, 'i');
  });

  it('asks the health service', async (t) => {
    const said = await grpcurl(await addressOf(t), 'grpc.health.v1.Health/Check', '{}');
    assert.deepEqual(JSON.parse(said), { status: 'SERVING' });
  });

  it('lists and describes what is served', async (t) => {
    const address = await addressOf(t);
    assert.match(await grpcurl(address, 'list'), /^keyturn\.v1\.CoordinatorService$/m);
    const { stdout } = await run(pathOf(GRPCURL), ['-plaintext', address, 'describe', 'keyturn.v1.NewItem']);
    assert.match(stdout, /map<string, string> headers = 3;/);
  });
});
