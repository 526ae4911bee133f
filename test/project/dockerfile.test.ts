/** The Dockerfile says what it should. What it builds is rehearsed by check-image.ts, which needs a registry. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { validate } from 'dockerfile-utils';
import { readDockerfile } from './dockerfile.js';
import { ROOT, read } from './repository.js';

const image = readDockerfile();

test('the linter has nothing to say, not even a warning', () => {
  deepStrictEqual(validate(image.text), []);
  strictEqual(validate(`${image.text}\nEXPOSE many\n`).length > 0, true, 'it has when there is something');
});

test('every image is Node 24 slim, and nothing that builds is in the last stage', () => {
  deepStrictEqual(new Set(image.stages.map(({ base }) => base)), new Set(['node:24-slim', 'scratch']));
  deepStrictEqual(image.stages.at(-1)?.runs, []);
});

test('it is built by the npm scripts of the project, with the locked dependencies, without install scripts', () => {
  const npm = image.stages.flatMap(({ runs }) => runs).filter((run) => run.startsWith('npm '));
  // What npm brought and nobody loads here goes in the same step, or it would stay in the layer.
  deepStrictEqual(
    npm.map((run) =>
      run.replace(/\s+/g, ' ').replace(/ && rm -rf [^&|;]+( && find node_modules [^&|;]+ -delete)?$/, ''),
    ),
    [
      'npm ci --ignore-scripts',
      'npm run build:src',
      'npm ci --omit=dev --ignore-scripts',
      'npm pkg delete devDependencies --include-workspace-root --workspace clients/typescript && npm sbom --omit=dev --sbom-format=cyclonedx --sbom-type=application > sbom.cdx.json',
    ],
  );
});

test('everything that is copied from the repository is there, and let through to the builder', () => {
  const copied = image.stages.flatMap(({ copies }) => copies).filter(({ from }) => from === undefined);
  const ignore = read('.dockerignore').text.split('\n');
  for (const source of new Set(copied.flatMap(({ sources }) => sources))) {
    strictEqual(existsSync(join(ROOT, source)), true, `${source} is in the repository`);
    strictEqual(ignore.includes(`!${source}`), true, `${source} is in .dockerignore`);
  }
});

test('it runs as somebody who is not root, by number', () => match(image.user, /^[1-9]\d+:[1-9]\d+$/));

test('a volume for the data directory can be written by that user, and by any other', () => {
  const made = image.stages.find(({ name }) => name === 'runtime')?.runs.join(' ') ?? '';
  match(made, /install -d -m 1777 \/var\/lib\/keyturn$/);
  strictEqual('KEYTURN_DATA_DIR' in image.environment, false, 'there is none unless somebody asks for it');
});

test('it says what it is: version, license, where it comes from', () => {
  const { version, license } = JSON.parse(read('package.json').text);
  const label = (name: string) => image.labels[`org.opencontainers.image.${name}`];
  deepStrictEqual([label('version'), label('licenses'), label('revision')], [version, license, `\${REVISION}`]);
  match(label('source') ?? '', /^https:\/\/github\.com\/keyturn\/keyturn$/);
});

test('it listens beyond the loopback of the container, on the ports that it names', () => {
  strictEqual(image.environment['KEYTURN_LISTEN'], '0.0.0.0:7420');
  strictEqual(image.environment['KEYTURN_HTTP_LISTEN'], '0.0.0.0:7421');
  deepStrictEqual(image.ports, ['7420', '7421']);
});

test('it serves, unless it is told otherwise', () => {
  deepStrictEqual(image.command, ['node', 'dist/src/main.js', 'serve']);
});

const HEALTH: readonly { readonly answers: string; readonly status: number | undefined; readonly exits: number }[] = [
  { answers: 'says that it is alive', status: 200, exits: 0 },
  { answers: 'says that it is not', status: 500, exits: 1 },
  { answers: 'is not there', status: undefined, exits: 1 },
];

for (const { answers, status, exits } of HEALTH) {
  test(`the health check exits with ${exits} when the sidecar ${answers}`, async () => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/healthz' ? (status ?? 500) : 404).end();
    });
    const port = await listen(server);
    if (status === undefined) await close(server);
    strictEqual(await runHealthCheck(`0.0.0.0:${port}`), exits);
    if (status !== undefined) await close(server);
  });
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on no port');
  return address.port;
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

async function runHealthCheck(httpListen: string): Promise<number | null> {
  const [program, ...args] = image.healthCheck;
  strictEqual(program, 'node');
  const check = spawn(process.execPath, args, { stdio: 'inherit', env: { KEYTURN_HTTP_LISTEN: httpListen } });
  await once(check, 'exit');
  return check.exitCode;
}
