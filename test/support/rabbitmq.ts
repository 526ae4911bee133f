/** A RabbitMQ server of the test's own: its name, its ports on loopback, its folder, its cookie. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedProcess } from './guarded-process.js';
import { type NeededProgram, pathOf } from './needed-program.js';

const INSTALL =
  'On Debian and Ubuntu: apt-get install rabbitmq-server (and, unless you want it for yourself: systemctl disable --now rabbitmq-server).';

/** Debian's program on PATH is for root and the service only; the one behind it is for everybody. */
const SERVER: NeededProgram = {
  name: 'rabbitmq-server',
  places: ['/usr/lib/rabbitmq/bin/rabbitmq-server'],
  install: INSTALL,
};
/** The name service of Erlang. Without one of our own the server would start one that outlives the test. */
const NAMES: NeededProgram = { name: 'epmd', install: 'It comes with Erlang, on which RabbitMQ runs.' };

export const RABBITMQ: readonly NeededProgram[] = [SERVER, NAMES];

/** It takes seven seconds on an idle machine. */
const LONGEST_START_MS = 120_000;

export interface Cleanup {
  after(task: () => Promise<void> | void): void;
}

/** @returns the URL of the broker. It ends with the test, also when the test fails. */
export async function startRabbitmq(cleanup: Cleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-rabbitmq-'));
  const processes: GuardedProcess[] = [];
  cleanup.after(async () => {
    await Promise.all(processes.map((process) => process.kill()));
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const [port, distribution, names] = await freePorts();
  await writeFile(join(folder, 'rabbitmq.conf'), configuration(port));
  await writeFile(join(folder, 'enabled_plugins'), '[].\n');
  await writeFile(join(folder, 'rabbitmq-env.conf'), '');
  // The only variables: no setting of this machine's own RabbitMQ counts.
  const env = { PATH: process.env['PATH'], HOME: folder, LANG: 'C.UTF-8', ERL_EPMD_PORT: String(names) };
  processes.push(new GuardedProcess(pathOf(NAMES), ['-address', '127.0.0.1', '-port', String(names)], env));
  const server = new GuardedProcess(pathOf(SERVER), [], { ...env, ...settings(folder, distribution) });
  processes.push(server);
  await server.says(/Server startup complete/, LONGEST_START_MS);
  return `amqp://127.0.0.1:${port}`;
}

function configuration(port: number): string {
  return [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    'log.file = false',
    'log.console = true',
    'log.console.level = info',
    'disk_free_limit.absolute = 1MB',
    '',
  ].join('\n');
}

function settings(folder: string, distribution: number): NodeJS.ProcessEnv {
  return {
    RABBITMQ_NODENAME: `keyturn-${process.pid}@localhost`,
    RABBITMQ_CONF_ENV_FILE: join(folder, 'rabbitmq-env.conf'),
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_DIST_PORT: String(distribution),
    // The script becomes the server, instead of a shell that waits for it: the one who kills the process kills it.
    RABBITMQ_ALLOW_INPUT: 'true',
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-noinput -start_epmd false -kernel inet_dist_use_interface {127,0,0,1}',
  };
}

/** Ports that nobody has now: the server does not tell which one it took, so it cannot be left to choose. */
async function freePorts(): Promise<readonly [number, number, number]> {
  const held = await Promise.all([holdPort(), holdPort(), holdPort()] as const);
  const [first, second, third] = held;
  await Promise.all(held.map(({ release }) => release()));
  return [first.port, second.port, third.port];
}

async function holdPort(): Promise<{ readonly port: number; release(): Promise<unknown> }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a server on TCP has a port');
  return { port: address.port, release: () => once(server.close(), 'close') };
}
