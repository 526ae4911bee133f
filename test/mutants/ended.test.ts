import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

/** Of each of two trials: the process that runs the tests, and one that a test started. */
const PROCESSES = 4;

/** The main thread is in a loop for ever. Each process is seen by its connection: that ends with the process, whatever it does. */
const WAIT_TEST = `import { spawn } from 'node:child_process'; import { once } from 'node:events';
import { connect } from 'node:net'; import { it } from 'node:test';
it('never ends', async () => {
  await once(connect(Number(process.env.PORT), '127.0.0.1'), 'connect');
  const started = spawn(process.execPath, [new URL('started.js', import.meta.url).pathname], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(started.stdout, 'data');
  for (;;);
});`;
const STARTED = `import { connect } from 'node:net';
connect(Number(process.env.PORT), '127.0.0.1').on('connect', () => process.stdout.write('.'));`;

describe('a run of mutants that is ended', () => {
  let folder = '';
  const connections: Socket[] = [];
  let told: () => void = () => undefined;
  const server = createServer((socket) => {
    connections.push(socket);
    told();
  });
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'keyturn-ended-'));
    const file = (name: string, text: string) => writeFileSync(join(folder, name), text);
    file('package.json', '{ "type": "module" }');
    file('wait.test.js', WAIT_TEST);
    file('started.js', STARTED);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  /** A run whose processes are all there. @returns the process, and what resolves when each of them is gone */
  async function begun(...args: readonly string[]) {
    connections.length = 0;
    const { port } = server.address() as AddressInfo; // It listens on a port.
    const env = { ...process.env, PORT: String(port), TMPDIR: folder };
    const child = spawn(process.execPath, [new URL('two-trials.js', import.meta.url).pathname, folder, ...args], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await new Promise<void>((resolve) => {
      told = () => {
        if (connections.length === PROCESSES) resolve();
      };
    });
    // A process that is killed resets it.
    const gone = connections.map(
      (socket) => new Promise((resolve) => socket.on('error', resolve).on('close', resolve)),
    );
    for (const socket of connections) socket.resume();
    return { child, gone: Promise.all(gone) };
  }

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    it(`by ${signal} leaves no process behind, in a loop or not, and no folder`, async () => {
      const { child, gone } = await begun();
      child.kill(signal);
      assert.deepEqual(await once(child, 'exit'), [code, null]);
      await gone;
      assert.deepEqual(
        readdirSync(folder).filter((name) => name.startsWith('keyturn-')),
        [],
      );
    });
  }

  it('by SIGKILL leaves none behind that has a mutant in it: it notices', async () => {
    const { child, gone } = await begun('mutant');
    child.kill('SIGKILL');
    await gone;
  });
});
