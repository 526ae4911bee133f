/** The README of the client is true: every program in it runs as it stands, and prints what it says. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { it, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { read } from '../../project/repository.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';

interface Example {
  readonly program: string;
  readonly prints: string | undefined;
}

const readme = read('clients/typescript/README.md').text;
/** Each program with the block of output that follows it, if one does. */
const examples: readonly Example[] = [
  ...readme.matchAll(/^```js\n([\s\S]*?)^```$(?:\n\n```text\n([\s\S]*?)^```$)?/gm),
].map(([, program = '', prints]) => ({ program, prints }));

/** What the page says that stands around every example but the first. */
const BEFORE =
  "import { connect as connectForReader } from '@keyturn/client';\nconst keyturn = connectForReader('127.0.0.1:7420');\n";
const AFTER = '\nawait keyturn.close();\n';

/** After the output of each program. */
const END = 'this was the whole program\n';

it('has the worker first, in five lines', () => {
  const lines = examples[0]?.program.split('\n').filter((line) => line.trim() !== '') ?? [];
  strictEqual(lines.length, 5);
  ok(readme.indexOf('```js') < 400);
});

it('the worker of five lines works', async (t) => {
  const { address, client } = await startSidecar(t, localCoordinator(t));
  const { stdout } = run(t, [written(t, examples[0]?.program ?? '', address)]);
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  strictEqual(`${(await lines.next()).value}\n`, END, 'it waits for work');
  await client.submit({ queue: 'orders', items: [{ key: 'ada', itemId: 'twelve', payload: Buffer.from('twelve') }] });
  strictEqual((await lines.next()).value, 'ada: twelve');
  const { state, result } = await client.awaitItem({ queue: 'orders', itemId: 'twelve', wait: 60_000 });
  deepStrictEqual([state, result], ['done', undefined]);
});

test('every other example runs, prints what it says, and lets its process exit', async (t) => {
  const others = examples.slice(1);
  ok(others.length > 0);
  const files: string[] = [];
  // Each with a sidecar of its own: several use the same queues.
  for (const { program } of others) {
    const { address } = await startSidecar(t, localCoordinator(t));
    files.push(written(t, BEFORE + program + AFTER, address));
  }
  const child = run(t, files);
  const exited: Promise<unknown[]> = once(child, 'exit');
  const printed = (await text(child.stdout)).split(END);
  for (const [at, { program, prints }] of others.entries())
    await t.test(`example ${at + 2}: ${program.split('\n')[0]}`, () => {
      ok(prints !== undefined, 'it says what it prints');
      strictEqual(printed[at], prints);
    });
  deepStrictEqual([printed.length, printed.at(-1)], [others.length + 1, ''], 'every program came to its end');
  deepStrictEqual(await exited, [0, null]);
});

/** @returns a module that finds the packages of the repository */
function written(t: TestContext, program: string, address: string): string {
  const [modules, spool] = [folder(t, fileURLToPath(new URL('.', import.meta.url))), folder(t, tmpdir())];
  const file = join(modules, 'example.mjs');
  writeFileSync(file, program.replaceAll('127.0.0.1:7420', address).replaceAll('/var/spool', spool));
  return file;
}

function folder(t: TestContext, parent: string): string {
  const path = mkdtempSync(join(parent, 'keyturn-readme-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** One process for all of the modules, one after another: starting Node takes longer than any of them. */
function run(t: TestContext, files: readonly string[]): ChildProcess & { readonly stdout: Readable } {
  const all = `for (const file of ${JSON.stringify(files)}) {
    await import(file);
    process.stdout.write(${JSON.stringify(END)});
  }`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', all], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}
