/** `keyturn watch` where nothing happens any more: its sidecar has stopped, or nobody reads it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { command, serveHere } from './in-process.js';
import { type Serving, serve, startKeyturn, temporaryFolder, until } from './keyturn-process.js';

async function submit({ client }: Pick<Serving, 'client'>): Promise<void> {
  await client.submit({ queue: 'q', items: [{ key: 'k' }] });
}

/** A watch as a process, and what it has printed so far. */
function startWatch(t: TestContext, address: string) {
  const { child, ended } = startKeyturn(['watch', 'q', '--json'], { env: { KEYTURN_ADDRESS: address } });
  t.after(() => child.kill('SIGKILL'));
  assert.ok(child.stdout && child.stderr);
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    printed.stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    printed.stderr += String(chunk);
  });
  const seesEventsOf = async (sidecar: Pick<Serving, 'client'>) => {
    const before = printed.stdout.length;
    await until('an event', async () => {
      await submit(sidecar);
      return printed.stdout.length > before;
    });
  };
  return { child, ended, printed, seesEventsOf };
}

test('a sidecar that is killed, or is stopped, and comes back: the watch says so and goes on', {
  timeout: 300_000,
}, async (t) => {
  const listen = `unix:${join(await temporaryFolder(t), 's.sock')}`;
  const first = await serve(t, '', listen);
  const watch = startWatch(t, first.address);
  await watch.seesEventsOf(first);

  async function end({ child }: Serving, signal: NodeJS.Signals): Promise<void> {
    watch.printed.stderr = '';
    child.kill(signal);
    await once(child, 'exit');
    await until('it says so', async () => /Watching goes on when it is back/.test(watch.printed.stderr));
  }
  async function back(sidecar: Pick<Serving, 'client'>): Promise<void> {
    const isBack = /is back; what happened meanwhile is not shown/;
    await until('it says that it is back', async () => isBack.test(watch.printed.stderr));
    await watch.seesEventsOf(sidecar);
  }

  await end(first, 'SIGKILL');
  const second = await serve(t, '', listen);
  await back(second);
  await end(second, 'SIGTERM');
  await back(await serveHere(t, '', { listen }));
  watch.child.kill('SIGINT');
  assert.equal((await watch.ended).exitCode, 130);
  for (const line of watch.printed.stdout.trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line));
});

test('a watch whose reader is gone ends with 0 at the next event', { timeout: 120_000 }, async (t) => {
  const sidecar = await serveHere(t);
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
  const { exitCode, stderr } = await command(['watch', '--address', `unix:${socket}`]);
  assert.equal(exitCode, 69);
  assert.match(stderr, /^keyturn: no answer from a sidecar/);
});
