/** A PostgreSQL of the test's own: its port on loopback, its folder. It can be killed and started again. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { chown, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.js';
import { GuardedProcess } from './guarded-process.js';
import { type NeededProgram, pathOf } from './needed-program.js';
import type { Cleanup } from './redis.js';

const INSTALL =
  'On Debian and Ubuntu: apt-get install postgresql (and, unless you want it for yourself: systemctl disable --now postgresql).';
const PLACES = (await readdir('/usr/lib/postgresql').catch(() => [])).sort().reverse();

function program(name: string): NeededProgram {
  return { name, places: PLACES.map((version) => `/usr/lib/postgresql/${version}/bin/${name}`), install: INSTALL };
}

export const POSTGRES = program('postgres');
const INITDB = program('initdb');
const BASEBACKUP = program('pg_basebackup');
const CONTROL = program('pg_ctl');

/** It takes half a second on an idle machine. */
const LONGEST_START_MS = 120_000;
const READY = /database system is ready to accept (read-only )?connections/;
/** Who runs it: it refuses root. */
const SERVANT = 'postgres';
const run = promisify(execFile);

export class TestPostgres {
  #process: GuardedProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly settings: readonly string[],
  ) {}

  /** @param settings `name=value` each */
  static async start(cleanup: Cleanup, settings: readonly string[] = []): Promise<TestPostgres> {
    const postgres = await TestPostgres.#make(cleanup, settings);
    template ??= makeTemplate();
    await run('/bin/cp', ['-a', await template, postgres.#data]);
    await postgres.start();
    return postgres;
  }

  /**
   * One that follows this one.
   * @param port where it reaches this one
   */
  async standby(cleanup: Cleanup, name: string, port = this.port): Promise<TestPostgres> {
    const standby = await TestPostgres.#make(cleanup, []);
    const from = `host=127.0.0.1 port=${port} user=owner application_name=${name}`;
    await asServant(BASEBACKUP, [
      '--pgdata',
      standby.#data,
      '--write-recovery-conf',
      '--checkpoint=fast',
      '--no-sync',
      '--dbname',
      from,
    ]);
    await standby.start();
    return standby;
  }

  static async #make(cleanup: Cleanup, settings: readonly string[]): Promise<TestPostgres> {
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-postgres-'));
    const postgres = new TestPostgres(await freePort(), folder, settings);
    cleanup.after(async () => {
      await postgres.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    await ownedByServant(folder);
    return postgres;
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  get url(): string {
    return `postgres://owner@127.0.0.1:${this.port}/postgres`;
  }

  /** Again, after {@link kill}. */
  async start(): Promise<void> {
    const own = [
      'listen_addresses=127.0.0.1',
      `port=${this.port}`,
      'unix_socket_directories=',
      'wal_level=replica',
      'shared_buffers=32MB',
      'max_connections=200',
    ];
    const options = [...own, ...this.settings].flatMap((setting) => ['-c', setting]);
    const [path, args] = servantCommand(POSTGRES, ['-D', this.#data, ...options]);
    this.#process = new GuardedProcess(path, args, environment());
    await this.#process.says(READY, LONGEST_START_MS);
  }

  /** As `kill -9` of all its processes, the one that writes for each client too. */
  async kill(): Promise<void> {
    await this.#process?.kill();
    // Those that serve a client each notice it soon; until then their memory is in the way of a new one.
    await this.#process?.ended();
  }

  /** A line of pg_hba.conf that comes before the others. */
  async allow(line: string): Promise<void> {
    const path = join(this.#data, 'pg_hba.conf');
    await writeFile(path, `${line}\n${await readFile(path, 'utf8')}`);
    await asServant(CONTROL, ['reload', '--pgdata', this.#data]);
  }

  /** Of a standby: it takes writes from now on. */
  async promote(): Promise<void> {
    await asServant(CONTROL, ['promote', '--pgdata', this.#data, '--wait']);
  }
}

let template: Promise<string> | undefined;

/** An initialised data folder, which every server of this process copies: initdb takes longer than all else. */
async function makeTemplate(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-postgres-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await ownedByServant(folder);
  const data = join(folder, 'data');
  const kind = ['--auth=trust', '--username=owner', '--encoding=UTF8', '--locale=C', '--no-sync'];
  await asServant(INITDB, ['--pgdata', data, ...kind]);
  return data;
}

function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LANG: 'C.UTF-8' };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** As root it is run by another one, who is there where Debian's package is. */
function servantCommand(needed: NeededProgram, args: readonly string[]): [string, string[]] {
  const path = pathOf(needed);
  return isRoot()
    ? ['/usr/bin/setpriv', [`--reuid=${SERVANT}`, `--regid=${SERVANT}`, '--clear-groups', path, ...args]]
    : [path, [...args]];
}

async function asServant(needed: NeededProgram, args: readonly string[]): Promise<void> {
  const [path, all] = servantCommand(needed, args);
  await run(path, all, { env: environment(), cwd: tmpdir() });
}

let servant: Promise<number> | undefined;

async function numberOfServant(): Promise<number> {
  const { stdout } = await run('/usr/bin/id', ['-u', SERVANT]);
  return Number(stdout);
}

async function ownedByServant(folder: string): Promise<void> {
  if (!isRoot()) return;
  servant ??= numberOfServant();
  await chown(folder, await servant, -1);
}
