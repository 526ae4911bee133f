/** A sidecar that is killed and started again: its leaders go on. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Keyturn } from '@keyturn/client';
import { freePort } from '../../support/free-port.js';
import { serve, temporaryFolder, until } from '../keyturn-process.js';
import { lastFirst, leadHere } from './lead-shell.js';

const WORKS =
  'trap "echo $NAME > $KEYTURN_STATE_FILE; exit 0" TERM; echo "$NAME begins after $KEYTURN_PREDECESSOR_HOW: $(cat $KEYTURN_STATE_FILE)"; n=0; while [ $n -lt 1200 ]; do n=$((n+1)); sleep 0.05; done';

/** Leads the group for a moment: from then on its sidecar knows who led, and the next one waits for nobody. */
async function leadOnce(client: Keyturn): Promise<void> {
  const leadership = client.lead('g', { execute: () => {} }, { ttl: 500, once: true });
  await leadership.ended;
}

async function killAndStart(t: TestContext, keeps: boolean): Promise<void> {
  const cleanup = lastFirst(t);
  const settings = keeps ? `data_dir: ${join(await temporaryFolder(cleanup), 'data')}` : '';
  const listen = `127.0.0.1:${await freePort()}`;
  const first = await serve(cleanup, settings, listen);
  await leadOnce(first.client);
  // Long enough for a machine on which a start takes its time.
  const shell = (name: string) =>
    leadHere(cleanup, { address: listen, name, options: ['--ttl', '20s'], script: WORKS });
  const a = shell('a');
  await a.said('a begins after HANDED_OVER: ');
  const before = (await first.client.admin.getLeader('g')).leader;
  const b = shell('b');
  await b.said('standing');
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const { client } = await serve(cleanup, settings, listen);
  await until('the leader is back, and the other one waits', async () => {
    // The rows are read first, and until then nobody is told anything.
    const now = await client.admin.getLeader('g').catch(() => undefined);
    if (keeps && now !== undefined) assert.equal(now.leader?.term, before?.term);
    return now?.leader?.term === before?.term && now?.leader?.phase === 'executing' && now.candidates === 1;
  });
  a.signal('SIGTERM');
  await b.said('b begins after HANDED_OVER: a');
  assert.equal(await a.ended, 143);
  assert.equal(a.lines.filter((line) => line.includes('begins')).length, 1);
  assert.ok(Number((await client.admin.getLeader('g')).leader?.term) > Number(before?.term));
}

describe('a sidecar is killed and started again', { concurrency: true }, () => {
  it('with a data directory the leader is known at once, and the next one gets its state', (t) =>
    killAndStart(t, true));

  it('without one the leader comes back with its term, and the next one gets its state', (t) => killAndStart(t, false));
});
