/** `keyturn leader`: who leads, for people and for scripts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import type { LeaderCareer, LeadOptions } from '@keyturn/client';
import { registerLeader } from '../../../src/cli/leader.js';
import { deferred } from '../../support/deferred.js';
import { command } from '../in-process.js';
import { startKeyturn } from '../keyturn-process.js';
import { refusalOf } from '../refusal.js';
import { lastFirst } from './lead-shell.js';
import { longServing } from './long-serving.js';

async function place(t: TestContext) {
  const cleanup = lastFirst(t);
  const { address, client } = await longServing(t);
  const env = { KEYTURN_ADDRESS: address };
  const leader = (...words: string[]) => command(['leader', ...words, '--address', address]);
  /** Leads when this has resolved, until it is asked to hand over. */
  const leads = async (options: LeadOptions = {}) => {
    const begun = deferred<void>();
    const career: LeaderCareer = {
      execute: async (_term, signal) => {
        begun.resolve();
        if (!signal.aborted) await once(signal, 'abort');
      },
      handOver: () => 'left',
    };
    const leadership = client.lead('g', career, { candidateId: 'app-7', ...options });
    cleanup.after(() => leadership.stop());
    await begun.promise;
  };
  return { env, leader, leads };
}

describe('keyturn leader', { concurrency: true }, () => {
  it('says that nobody leads, exit code 1', async (t) => {
    const { leader } = await place(t);
    const { exitCode, stdout } = await leader('g');
    assert.deepEqual([exitCode, stdout], [1, 'group g: nobody leads, 0 candidates waiting\n']);
  });

  it('says who leads, in which phase, since when, for how long that holds at least, and who waits', async (t) => {
    const { leader, leads } = await place(t);
    await leads();
    const { exitCode, stdout } = await leader('g');
    assert.equal(exitCode, 0);
    assert.match(
      stdout,
      /^group g: app-7, executing, term \d+, since \S+ ago, known to hold for \S+, 0 candidates waiting\n$/,
    );
  });

  it('prints JSON, the same fields with and without a leader', async (t) => {
    const { leader, leads } = await place(t);
    await leads({ metadata: { version: '7' } });
    const { stdout } = await leader('g', '--json');
    const { term, since, holds_until, ...rest } = JSON.parse(stdout);
    assert.equal(typeof term, 'number');
    assert.ok(Date.parse(since) <= Date.now() && Date.parse(holds_until) > Date.parse(since));
    const fixed = { group: 'g', candidates: 0, phase: 'executing', metadata: { version: '7' } };
    assert.deepEqual(rest, { ...fixed, candidate: 'app-7' });
    const nobody = JSON.parse((await leader('nobody-json', '--json')).stdout);
    assert.deepEqual(nobody, { group: 'nobody-json', candidate: null, term: null, since: null, candidates: 0 });
  });

  it('asks the leader to hand over, and says whom', async (t) => {
    const { leader, leads } = await place(t);
    await leads();
    const { exitCode, stdout } = await leader('g', '--yield');
    assert.equal(exitCode, 0);
    assert.match(stdout, /^asked app-7 to hand over \(term \d+\)\n$/);
  });

  it('has asked also when nobody leads any more a moment later, exit code 0', async (t) => {
    const { leader, leads } = await place(t);
    await leads({ once: true });
    const { exitCode, stdout } = await leader('g', '--yield');
    assert.match(stdout, /^asked app-7 to hand over/);
    assert.equal(exitCode, 0);
  });

  it('asks nobody when nobody leads, exit code 1', async (t) => {
    const { leader } = await place(t);
    const { exitCode, stdout } = await leader('g', '--yield');
    assert.deepEqual([exitCode, stdout], [1, 'group g: nobody leads, 0 candidates waiting\n']);
  });

  it('watches: a line for every change, until Ctrl-C', async (t) => {
    const { env, leads } = await place(t);
    const watching = startKeyturn(['leader', 'g', '--watch', '--json'], { env });
    assert.ok(watching.child.stdout);
    const lines = createInterface({ input: watching.child.stdout })[Symbol.asyncIterator]();
    const next = async () => JSON.parse(String((await lines.next()).value));
    assert.equal((await next()).candidate, null);
    await leads();
    let seen = await next();
    while (seen.phase !== 'executing') seen = await next();
    assert.equal(seen.candidate, 'app-7');
    watching.child.kill('SIGINT');
    assert.equal((await watching.ended).exitCode, 130);
  });

  it('is refused when it is to watch and to yield', async () => {
    const { exitCode, message } = await refusalOf(registerLeader, ['leader', 'g', '--watch', '--yield']);
    assert.equal(exitCode, 2);
    assert.match(message, /'--yield' cannot be used with option '--watch'/);
  });

  it('shows foreign text harmlessly: an id and metadata are what their owner wants', async (t) => {
    const { leader, leads } = await place(t);
    const evil = '\u001b[2Jgroup g: nobody leads\n\u202e';
    await leads({ candidateId: evil, metadata: { [evil]: evil } });
    for (const words of [['g'], ['g', '--json'], ['g', '--yield']]) {
      const { stdout } = await leader(...words);
      assert.equal(stdout.split('\n').length, 2, stdout);
      assert.doesNotMatch(stdout.trimEnd(), /[\p{C}]/u);
      if (words.includes('--json')) assert.equal(JSON.parse(stdout).metadata[evil], evil);
    }
  });
});
