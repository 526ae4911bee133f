/** `keyturn leader`: who leads, for people and for scripts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { LeaderCareer, LeadOptions } from '@keyturn/client';
import { deferred } from '../../support/deferred.js';
import { keyturn, type Serving, serve, startKeyturn } from '../keyturn-process.js';

describe('keyturn leader', { concurrency: true }, () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let sidecar: Serving;
  let env: NodeJS.ProcessEnv;
  before(async () => {
    sidecar = await serve({ after: (task) => void tasks.unshift(task) });
    env = { KEYTURN_ADDRESS: sidecar.address };
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  /** Leads when this has resolved, until it is asked to hand over. */
  async function leads(t: TestContext, group: string, options: LeadOptions = {}): Promise<void> {
    const begun = deferred<void>();
    const career: LeaderCareer = {
      execute: async (_term, signal) => {
        begun.resolve();
        if (!signal.aborted) await once(signal, 'abort');
      },
      handOver: () => 'left',
    };
    const leadership = sidecar.client.lead(group, career, { candidateId: 'app-7', ...options });
    t.after(() => leadership.stop());
    await begun.promise;
  }

  const leader = (...words: string[]) => keyturn(['leader', ...words], { env });

  it('says that nobody leads, exit code 1', async () => {
    const { exitCode, stdout } = await leader('nobody');
    assert.deepEqual([exitCode, stdout], [1, 'group nobody: nobody leads, 0 candidates waiting\n']);
  });

  it('says who leads, in which phase, since when, for how long that holds at least, and who waits', async (t) => {
    await leads(t, 'backup');
    const { exitCode, stdout } = await leader('backup');
    assert.equal(exitCode, 0);
    assert.match(
      stdout,
      /^group backup: app-7, executing, term \d+, since \S+ ago, known to hold for \S+, 0 candidates waiting\n$/,
    );
  });

  it('prints JSON, the same fields with and without a leader', async (t) => {
    await leads(t, 'json', { metadata: { version: '7' } });
    const { stdout } = await leader('json', '--json');
    const { term, since, holds_until, ...rest } = JSON.parse(stdout);
    assert.equal(typeof term, 'number');
    assert.ok(Date.parse(since) <= Date.now() && Date.parse(holds_until) > Date.parse(since));
    const fixed = { group: 'json', candidates: 0, phase: 'executing', metadata: { version: '7' } };
    assert.deepEqual(rest, { ...fixed, candidate: 'app-7' });
    const nobody = JSON.parse((await leader('nobody-json', '--json')).stdout);
    assert.deepEqual(nobody, { group: 'nobody-json', candidate: null, term: null, since: null, candidates: 0 });
  });

  it('asks the leader to hand over, and says whom', async (t) => {
    await leads(t, 'yielding');
    const { exitCode, stdout } = await leader('yielding', '--yield');
    assert.equal(exitCode, 0);
    assert.match(stdout, /^asked app-7 to hand over \(term \d+\)\n$/);
  });

  it('has asked also when nobody leads any more a moment later, exit code 0', async (t) => {
    await leads(t, 'last', { once: true });
    const { exitCode, stdout } = await leader('last', '--yield');
    assert.match(stdout, /^asked app-7 to hand over/);
    assert.equal(exitCode, 0);
  });

  it('asks nobody when nobody leads, exit code 1', async () => {
    const { exitCode, stdout } = await leader('deserted', '--yield');
    assert.deepEqual([exitCode, stdout], [1, 'group deserted: nobody leads, 0 candidates waiting\n']);
  });

  it('watches: a line for every change, until Ctrl-C', async (t) => {
    const watching = startKeyturn(['leader', 'watched', '--watch', '--json'], { env });
    assert.ok(watching.child.stdout);
    const lines = createInterface({ input: watching.child.stdout })[Symbol.asyncIterator]();
    const next = async () => JSON.parse(String((await lines.next()).value));
    assert.equal((await next()).candidate, null);
    await leads(t, 'watched');
    let seen = await next();
    while (seen.phase !== 'executing') seen = await next();
    assert.equal(seen.candidate, 'app-7');
    watching.child.kill('SIGINT');
    assert.equal((await watching.ended).exitCode, 130);
  });

  it('is refused when it is to watch and to yield', async () => {
    const { exitCode, stderr } = await leader('g', '--watch', '--yield');
    assert.equal(exitCode, 2);
    assert.match(stderr, /'--yield' cannot be used with option '--watch'/);
  });

  it('shows foreign text harmlessly: an id and metadata are what their owner wants', async (t) => {
    const evil = '\u001b[2Jgroup evil: nobody leads\n\u202e';
    await leads(t, 'evil', { candidateId: evil, metadata: { [evil]: evil } });
    for (const words of [['evil'], ['evil', '--json'], ['evil', '--yield']]) {
      const { stdout } = await leader(...words);
      assert.equal(stdout.split('\n').length, 2, stdout);
      assert.doesNotMatch(stdout.trimEnd(), /[\p{C}]/u);
    }
    assert.equal(JSON.parse((await leader('evil', '--json')).stdout).metadata[evil], evil);
  });
});
