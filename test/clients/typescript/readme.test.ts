/** The README of the client is true: every program in it runs as it stands, and prints what it says. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { it, type TestContext } from 'node:test';
import { connect } from '@keyturn/client';
import { ServeProcess } from '../../cli/serve-process.js';
import { ROOT, read } from '../../project/repository.js';

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

it('has the worker first, in five lines', () => {
  const lines = examples[0]?.program.split('\n').filter((line) => line.trim() !== '') ?? [];
  strictEqual(lines.length, 5);
  ok(readme.indexOf('```js') < 400);
});

it('the worker of five lines works', async (t) => {
  const sidecar = await ServeProcess.start(t);
  const address = await sidecar.address('grpc');
  const worker = run(t, examples[0]?.program ?? '', address);
  const keyturn = connect(address);
  t.after(() => keyturn.close());
  const { stdout } = worker;
  ok(stdout);
  const line: Promise<unknown[]> = once(createInterface({ input: stdout }), 'line');
  const { itemId } = await keyturn.submit('orders', { key: 'ada', payload: Buffer.from('twelve') });
  deepStrictEqual(await line, ['ada: twelve']);
  strictEqual(await keyturn.result('orders', itemId), undefined);
});

for (const [at, { program, prints }] of examples.slice(1).entries()) {
  it(`example ${at + 2} runs, prints what it says, and exits: ${program.split('\n')[0]}`, async (t) => {
    ok(prints !== undefined, 'it says what it prints');
    const sidecar = await ServeProcess.start(t);
    const child = run(t, BEFORE + program + AFTER, await sidecar.address('grpc'));
    const { stdout } = child;
    ok(stdout);
    const exited: Promise<unknown[]> = once(child, 'exit');
    strictEqual(await text(stdout), prints);
    deepStrictEqual(await exited, [0, null]);
  });
}

function run(t: TestContext, program: string, address: string): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-'], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const directory = mkdtempSync(join(tmpdir(), 'keyturn-readme-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  child.stdin.end(program.replaceAll('127.0.0.1:7420', address).replaceAll('/var/spool', directory));
  return child;
}
