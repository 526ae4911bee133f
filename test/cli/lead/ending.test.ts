/**
 * No command outlives its term: neither one that does not listen, nor what it has started, nor when the sidecar or keyturn
 * itself is stopped or killed. Everybody writes into one diary, which tells who was at work when.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type Cleanup, serve, temporaryFolder } from '../keyturn-process.js';
import type { ShellHere } from '../shell-here.js';
import { LeadShell, lastFirst, leadHere } from './lead-shell.js';
import { longServing } from './long-serving.js';

const WORK = 'n=0; while [ $n -lt 900 ]; do n=$((n+1)); echo "$NAME" >> diary; sleep 0.03; done';
/** Says that it begins, and works until it is told to end. */
const LISTENS = `trap 'echo "$NAME stops"; exit 0' TERM; echo "$NAME" >> diary; echo "$NAME begins"; ${WORK}`;
/** The same, and does not end. */
const DEAF = `trap 'echo "$NAME hears"' TERM; echo "$NAME" >> diary; echo "$NAME begins"; ${WORK}`;

interface Place {
  /** As a process: for one that is stopped, killed, or gets two signals. */
  shell(name: string, script: string, ...options: string[]): LeadShell;
  here(name: string, script: string, ...options: string[]): ShellHere;
  /** Who was at work, in the order of their work. */
  turns(): Promise<string>;
}

async function placeAt(cleanup: Cleanup, address: string): Promise<Place> {
  const cwd = await temporaryFolder(cleanup);
  const shell = (name: string, script: string, ...options: string[]) => {
    const words = ['--group', 'g', '--ttl', '3s', ...options, '--', 'sh', '-c', script];
    return new LeadShell(cleanup, words, { address, cwd, env: { NAME: name, DEAF } });
  };
  const here = (name: string, script: string, ...more: string[]) => {
    const options = ['--ttl', '3s', ...more];
    return leadHere(cleanup, { address, cwd, name, env: { DEAF }, options, script });
  };
  const turns = async () => {
    const names = (await readFile(join(cwd, 'diary'), 'utf8')).trimEnd().split('\n');
    return names.filter((name, at) => name !== names[at - 1]).join(' ');
  };
  return { shell, here, turns };
}

async function place(t: TestContext): Promise<Place> {
  const cleanup = lastFirst(t);
  const { address } = await longServing(t);
  return placeAt(cleanup, address);
}

describe('a command that does not end', { concurrency: true }, () => {
  it('is killed before the next one begins, when the sidecar is silent', async (t: TestContext) => {
    // A process, because it stands still.
    const cleanup = lastFirst(t);
    const sidecar = await serve(cleanup);
    const { here, turns } = await placeAt(cleanup, sidecar.address);
    const a = here('a', DEAF);
    await a.said('a begins');
    const b = here('b', LISTENS);
    await b.said('standing');
    // When it is told: S376, by a fake clock. Here nobody but keyturn can have told it.
    sidecar.child.kill('SIGSTOP');
    await a.said('a hears');
    await a.said('is lost');
    sidecar.child.kill('SIGCONT');
    await b.said('b begins');
    assert.equal(await turns(), 'a b');
  });

  it('nor what it has started: that is killed with it', async (t: TestContext) => {
    const cleanup = lastFirst(t);
    const sidecar = await longServing(t);
    const { here, turns } = await placeAt(cleanup, sidecar.address);
    const a = here('a', 'NAME="child of $NAME" sh -c "$DEAF" & wait');
    await a.said('child of a begins');
    const b = here('b', LISTENS);
    await b.said('standing');
    a.signal('SIGTERM');
    assert.equal(await a.ended, 143);
    await b.said('b begins');
    assert.ok(a.lines.includes('child of a hears'));
    assert.match(await turns(), /^(child of )?a b$/);
    assert.equal((await sidecar.client.admin.getLeader('g')).predecessor.how, 'handed_over');
  });

  it('is killed when keyturn is', async (t: TestContext) => {
    const { shell, here, turns } = await place(t);
    const a = shell('a', DEAF);
    await a.said('a begins');
    const b = here('b', LISTENS);
    await b.said('standing');
    a.signal('SIGKILL');
    assert.equal(await a.ended, 'SIGKILL');
    assert.ok(a.lines.includes('a hears'));
    assert.ok(!b.lines.includes('b begins'));
    await b.said('b begins');
    assert.equal(await turns(), 'a b');
  });

  it('is killed when its keyturn stood still for longer than the ttl, without another wait', async (t: TestContext) => {
    const { shell, here } = await place(t);
    const a = shell('a', DEAF, '--ttl', '6s', '--kill-after', '3s');
    await a.said('a begins');
    const b = here('b', LISTENS);
    await b.said('standing');
    a.signal('SIGSTOP');
    await b.said('b begins');
    a.signal('SIGCONT');
    const wokenAt = performance.now();
    await a.said('is lost');
    assert.ok(performance.now() - wokenAt < 3_000, 'not a --kill-after later');
  });

  it('is killed when a second signal comes, which ends keyturn at once', async (t: TestContext) => {
    const { shell } = await place(t);
    const a = shell('a', DEAF);
    await a.said('a begins');
    a.signal('SIGINT');
    await a.said('a hears');
    a.signal('SIGINT');
    assert.equal(await a.ended, 130);
  });

  it('loses its term when the hand-over takes too long, and the next one begins after it is killed', async (t: TestContext) => {
    const { here, turns } = await place(t);
    const a = here('a', DEAF, '--hand-over-timeout', '500ms');
    await a.said('a begins');
    const b = here('b', LISTENS);
    await b.said('standing');
    a.signal('SIGTERM');
    assert.equal(await a.ended, 143);
    assert.ok(a.lines.some((line) => line.includes('is lost')));
    await b.said('b begins');
    assert.equal(await turns(), 'a b');
  });

  it('is not suspended: the command would run on without anybody to stop it', async (t: TestContext) => {
    const { shell } = await place(t);
    const a = shell('a', LISTENS);
    await a.said('a begins');
    a.signal('SIGTSTP');
    await a.said('not suspended');
    a.signal('SIGTERM');
    assert.equal(await a.ended, 143);
  });
});
