/** What outlives a crash: many things are done, the sidecar is killed, and each is looked at in the next life. */
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { temporaryFolder } from '../cli/keyturn-process.js';
import { CrashingSidecar } from './crashing-sidecar.js';
import { ITEMS } from './kept/items.js';
import { type Case, Stage } from './kept/stage.js';
import { TURNS } from './kept/turns.js';

const CASES = [...ITEMS, ...TURNS];
/** Of the sessions of the cases: longer than the sidecar is away. */
const TTL = 5_000;

function settings(cases: readonly Case[]): string {
  const queues = cases.map(({ policy = '' }, at) => `  ${queueOf(at)}: { ${policy} }`);
  return ['default: { durable: true }', 'queues:', ...queues].join('\n');
}

function queueOf(at: number): string {
  return `case-${at}`;
}

describe('after a crash there is', async () => {
  it('everything that was promised', { timeout: 120_000 }, async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    const sidecar = await CrashingSidecar.make(t, { settings: settings(CASES), dataDir });
    await sidecar.start();
    const clients: Keyturn[] = [];
    t.after(() => Promise.all(clients.map((client) => client.close({ timeout: 0 }))));
    const client = (...how: Parameters<typeof connect>) => {
      const one = connect(...how);
      clients.push(one);
      return one;
    };
    const unary = client(sidecar.address, { transport: 'unary' });
    const session = (sessionId: string, sessionTtl = TTL) => client(sidecar.address, { sessionId, sessionTtl });
    const plays = CASES.map(({ play }, at) => play(new Stage(unary, queueOf(at), session)));
    const looks = await Promise.all(plays);
    await sidecar.kill();
    await sidecar.start();
    const next = client(sidecar.address, { transport: 'unary' });
    const checks = CASES.map(({ name }, at) =>
      t.test(name, async () => looks[at]?.(new Stage(next, queueOf(at), session))),
    );
    await Promise.all(checks);
  });
});
