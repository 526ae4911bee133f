/** The commands for PostgreSQL in docs/ENGINES.md, run as they stand there. */
import { ok, strictEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { command } from '../cli/in-process.js';
import { backwards } from '../support/backwards.js';
import { needs } from '../support/needed-program.js';
import { POSTGRES, TestPostgres } from '../support/postgres.js';
import { SidecarHere } from '../support/sidecar-here.js';

const run = promisify(execFile);

test('S613: a database, a user and a sidecar are made as the page says', needs([POSTGRES]), async (t) => {
  const cleanup = backwards(t);
  const postgres = await TestPostgres.start(cleanup);
  await postgres.allow('host all keyturn 127.0.0.1/32 scram-sha-256');
  const page = await readFile('docs/ENGINES.md', 'utf8');
  const [, block = ''] = /^## PostgreSQL\n.*?```sh\n(.*?)```/ms.exec(page) ?? [];
  const here = (text: string) => text.replaceAll('10.0.0.7', `127.0.0.1:${postgres.port}`);
  const [serve, ...made] = here(block).trim().split('\n').reverse();
  const env = { ...process.env, PGHOST: '127.0.0.1', PGPORT: String(postgres.port), PGUSER: 'owner' };
  strictEqual(made.length, 2);
  for (const line of made.reverse()) await run('/bin/sh', ['-c', line], { env });
  const words = serve?.split(' ') ?? [];
  strictEqual(words.slice(0, 2).join(' '), 'keyturn serve');
  const sidecar = await SidecarHere.start(cleanup, words.slice(2));
  await sidecar.logged('the tables of the store were made');
  await sidecar.ready();
  const migrate = /`keyturn (store migrate [^`]*)`/.exec(here(page.replace(block, '')));
  ok(migrate?.[1] !== undefined);
  const asked = migrate[1].replace('ADMIN:SECRET', 'owner').split(' ');
  const { exitCode, stderr } = await command(asked);
  strictEqual(exitCode, 0, stderr);
});
