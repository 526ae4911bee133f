/** `keyturn watch` where nothing happens any more: its sidecar has stopped, or nobody reads it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { keyturn, type Serving, serve, startKeyturn, temporaryFolder, until } from './keyturn-process.js';

/** A sidecar that can be started again where it was. */
async function onSocket(t: TestContext): Promise<() => Promise<Serving>> {
  const socket = join(await temporaryFolder(t), 's.sock');
  return () => serve(t, '', `unix:${socket}`);
}

async function submit({ client }: Serving): Promise<void> {
  await client.submit({ queue: 'q', items: [{ key: 'k' }] });
}

for (const [how, signal] of [
  ['is stopped', 'SIGTERM'],
  ['is killed', 'SIGKILL'],
] as const) {
  test(`a sidecar that ${how} and comes back: the watch says so and goes on`, { timeout: 120_000 }, async (t) => {
    const start = await onSocket(t);
    const first = await start();
    const { child, ended } = startKeyturn(['watch', 'q', '--json'], { env: { KEYTURN_ADDRESS: first.address } });
    t.after(() => child.kill('SIGKILL'));
    assert.ok(child.stdout && child.stderr);
    const [out, said] = [{ text: '' }, { text: '' }];
    child.stdout.on('data', (chunk) => {
      out.text += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      said.text += String(chunk);
    });
    await until('an event', async () => {
      await submit(first);
      return out.text !== '';
    });
    first.child.kill(signal);
    await once(first.child, 'exit');
    await until('it says so', async () => /Watching goes on when it is back/.test(said.text));
    const second = await start();
    await until('it says that it is back', async () => /is back; what happened meanwhile is not shown/.test(said.text));
    const before = out.text.length;
    await until('an event of the new one', async () => {
      await submit(second);
      return out.text.length > before;
    });
    child.kill('SIGINT');
    assert.equal((await ended).exitCode, 130);
    for (const line of out.text.trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line));
  });
}

test('a watch whose reader is gone ends with 0 at the next event', { timeout: 60_000 }, async (t) => {
  const sidecar = await serve(t);
  const { child, ended } = startKeyturn(['watch'], { env: { KEYTURN_ADDRESS: sidecar.address } });
  t.after(() => child.kill('SIGKILL'));
  const { stdout } = child;
  assert.ok(stdout);
  stdout.once('data', () => stdout.destroy());
  await until('its end', async () => {
    await submit(sidecar);
    return child.exitCode !== null;
  });
  assert.equal((await ended).exitCode, 0);
});

test('a watch of a sidecar that was never there ends with 69 at once', async (t) => {
  const socket = join(await temporaryFolder(t), 's.sock');
  const { exitCode, stderr } = await keyturn(['watch', '--address', `unix:${socket}`]);
  assert.equal(exitCode, 69);
  assert.match(stderr, /^keyturn: no answer from a sidecar/);
});
