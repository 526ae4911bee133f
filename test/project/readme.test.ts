/** The README is true: its first worker works as it stands, its links lead somewhere, its values are the built-in ones. */
import { deepStrictEqual, fail, match, strictEqual } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { keyturn, ServeProcess } from '../cli/serve-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { ROOT, read, trackedPaths } from './repository.js';

const readme = read('README.md').text;

const [first = ''] = blocks('js');
const bare = blocks('js').at(-1) ?? '';

test('the first worker runs as it stands', async (t) => {
  const [turn = '', ...rest] = await linesOf(t, first);
  match(turn, /^my turn, token \d+$/);
  deepStrictEqual(rest, ['done', '']);
});

test('the worker without a client runs as it stands', async (t) => {
  const [turn = '', ...rest] = await linesOf(t, bare);
  match(turn, /^my turn, token \d+$/);
  deepStrictEqual(rest, ['customer-7: {"order": 12}', '']);
});

/** What a worker writes, in a clone, to a sidecar of its own. */
async function linesOf(t: TestContext, worker: string): Promise<string[]> {
  const sidecar = await ServeProcess.start(t);
  const run = spawn(process.execPath, ['--input-type=module', '-'], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => run.kill('SIGKILL'));
  run.stdin.end(worker.replaceAll('127.0.0.1:7420', await sidecar.address('grpc')));
  return (await text(run.stdout)).split('\n');
}

/** The workers of all languages, each in a part that opens; the first one is open. */
const WORKERS: readonly (readonly [string, string, string])[] = [
  ['typescript', '<details open>', 'TypeScript, JavaScript'],
  ['python', '<details>', 'Python'],
  ['go', '<details>', 'Go'],
  ['java', '<details>', 'Java'],
];

for (const [language, opening, title] of WORKERS) {
  test(`the worker of ${title} is the first example of its page, which its own tests run`, () => {
    const [block = ''] =
      /^```(?!sh\b|text\b)\w+\n[\s\S]*?^```$/m.exec(read(`clients/${language}/README.md`).text) ?? [];
    match(block, /./);
    strictEqual(readme.includes(`${opening}\n<summary>${title}</summary>\n\n${block}\n\n</details>\n`), true, block);
  });
}

for (const [index, configuration] of blocks('yaml').entries()) {
  test(`the configuration ${index + 1} that it shows is accepted`, async (t) => {
    deepStrictEqual(await keyturn(['serve', '--config', yamlFile(t, configuration), '--check-config']), {
      code: 0,
      stdout: 'the configuration is fine\n',
      stderr: '',
    });
  });
}

for (const path of trackedPaths().filter((name) => name.endsWith('.md'))) {
  test(`the links of ${path} lead somewhere`, () => {
    const page = read(path).text;
    for (const [, link = ''] of withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (link.startsWith('https://')) continue;
      const [file = '', heading] = link.split('#');
      const other = join(ROOT, dirname(path), file);
      const isThere = file === '' || existsSync(other);
      const target = file === '' || !isThere || heading === undefined ? page : readFileSync(other, 'utf8');
      strictEqual(isThere && (heading === undefined || headingsOf(target).includes(heading)), true, link);
    }
  });
}

function withoutCode(page: string): string {
  return page.replace(/^```[\s\S]*?^```$/gm, '');
}

function headingsOf(page: string): readonly string[] {
  return [...withoutCode(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchor(heading));
}

test('what is not promised stands on the first page', () => {
  const firstPage = readme.split('\n').slice(0, 40).join('\n');
  for (const point of ['lease ends', 'Exactly-once', 'order between keys', 'declined message', 'Fan-out'])
    strictEqual(firstPage.includes(point), true, point);
});

test('every npm script that it names is there', () => {
  const scripts = read('package.json').text;
  for (const [, name = ''] of readme.matchAll(/npm (?:run )?(demo|start|test:clients|test|build|bench)\b/g)) {
    strictEqual(scripts.includes(`"${name}":`), true, name);
  }
});

/** What runs a command of the page: a test that starts it as it stands, or this file. */
const RUN_BY: readonly (readonly [
  command: RegExp,
  by: string | ((t: TestContext, command: string) => Promise<void>),
])[] = [
  [/^npm ci && npm start$/, 'test/cli/npm-start.test.ts'],
  [/^npm ci && npm test$/, '.ci/run'],
  [/^npm run demo$/, 'test/cli/demo.test.ts'],
  [/^npm start -- --config keyturn\.yaml$/, 'test/cli/npm-start.test.ts'],
  [/^npm start -- .*--(check|print)-config$/, checkedByServe],
  [/^keyturn lead /, 'test/cli/lead/newcomer.test.ts'],
  [/^grpcurl /, 'test/grpc/services/grpcurl.test.ts'],
  // No engine builds the image in the tests: its steps are rehearsed one by one, and what it would run is started.
  [/^docker (build|run) /, 'test/project/check-image.ts'],
];

for (const command of blocks('sh').flatMap(commandsOf)) {
  test(`the command is run by a test: ${command}`, async (t) => {
    const [, by] = RUN_BY.find(([pattern]) => pattern.test(command)) ?? [];
    if (by === undefined) fail('nothing runs it');
    else if (typeof by === 'string') strictEqual(existsSync(join(ROOT, by)), true, by);
    else await by(t, command);
  });
}

/** `npm start -- WORDS` is `keyturn serve WORDS`. */
async function checkedByServe(t: TestContext, command: string): Promise<void> {
  const [configuration = ''] = blocks('yaml').slice(-1);
  const words = command
    .split(' -- ')[1]
    ?.split(' ')
    .map((word) => (word === 'keyturn.yaml' ? yamlFile(t, configuration) : word));
  strictEqual((await keyturn(['serve', ...(words ?? [])])).code, 0);
}

function commandsOf(block: string): readonly string[] {
  return block
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** Commands that the tables name are those that there are, and the other way round. */
test('every command of keyturn is named, and no other', async () => {
  const { stdout } = await keyturn(['--help']);
  const [, list = ''] = stdout.split('\nCommands:\n');
  const there = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
  const named = [...readme.matchAll(/`keyturn ([a-z-]+)/g)].map(([, name = '']) => name);
  deepStrictEqual([...new Set(named)].sort(), there.sort());
});

/** The blocks of a language. */
function blocks(language: string): readonly string[] {
  const fences = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...readme.matchAll(fences)].map(([, code = '']) => code);
}

/** As the sites that show READMEs make it. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
