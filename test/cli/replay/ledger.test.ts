import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ledger } from '../../../src/cli/replay/ledger.js';

/** `+a1`: a worker begins line 1 of key a; `-a`: a worker ends with a line of key a. */
function write(history: string, limit?: number): Ledger {
  const ledger = new Ledger(limit);
  for (const step of history.split(' ')) {
    const key = step.charAt(1);
    if (step.startsWith('+')) ledger.start(key, Number(step.slice(2)));
    else ledger.end(key);
  }
  return ledger;
}

describe('the ledger of a replay', () => {
  interface Case {
    readonly title: string;
    readonly history: string;
    readonly sees: { maxAtOnce: number; orderViolations: number; repeats: number; lines: number };
  }
  const cases: readonly Case[] = [
    {
      title: 'one after the other is right',
      history: '+a1 -a +a2 -a',
      sees: { maxAtOnce: 1, orderViolations: 0, repeats: 0, lines: 2 },
    },
    {
      title: 'different keys may overlap, and have no order between them',
      history: '+b9 +a1 -b -a +a2 +b10 -a -b',
      sees: { maxAtOnce: 1, orderViolations: 0, repeats: 0, lines: 4 },
    },
    {
      title: 'two at once on one key are seen',
      history: '+a1 +a2 -a -a',
      sees: { maxAtOnce: 2, orderViolations: 0, repeats: 0, lines: 2 },
    },
    {
      title: 'three at once are seen even after they have ended',
      history: '+a1 +a2 +a3 -a -a -a +a4 -a',
      sees: { maxAtOnce: 3, orderViolations: 0, repeats: 0, lines: 4 },
    },
    {
      title: 'a line that starts before an earlier one of its key is seen',
      history: '+a2 -a +a1 -a +a3 -a',
      sees: { maxAtOnce: 1, orderViolations: 1, repeats: 0, lines: 3 },
    },
    {
      title: 'each late line is a violation of its own',
      history: '+a3 -a +a1 -a +a2 -a',
      sees: { maxAtOnce: 1, orderViolations: 2, repeats: 0, lines: 3 },
    },
    {
      title: 'lines may be missing: they were declined',
      history: '+a1 -a +a7 -a',
      sees: { maxAtOnce: 1, orderViolations: 0, repeats: 0, lines: 2 },
    },
    {
      title: 'a line that starts again right after itself is a retry, and one line',
      history: '+a1 -a +a1 -a +a2 -a',
      sees: { maxAtOnce: 1, orderViolations: 0, repeats: 1, lines: 2 },
    },
    {
      title: 'a line that starts again after a later one is out of order',
      history: '+a1 -a +a2 -a +a1 -a',
      sees: { maxAtOnce: 1, orderViolations: 1, repeats: 0, lines: 3 },
    },
    {
      title: 'the same line with two workers at once is both',
      history: '+a1 +a1 -a -a',
      sees: { maxAtOnce: 2, orderViolations: 0, repeats: 1, lines: 1 },
    },
  ];
  for (const { title, history, sees } of cases) {
    it(title, () => {
      const { maxAtOnce, orderViolations, repeats, lines } = write(history);
      assert.deepEqual({ maxAtOnce, orderViolations, repeats, lines }, sees);
    });
  }

  it('says at once what is wrong with a start', () => {
    const ledger = new Ledger();
    assert.deepEqual(ledger.start('a', 2), []);
    assert.deepEqual(ledger.start('a', 1), ['two_at_once', 'out_of_order']);
    assert.deepEqual(ledger.start('a', 2), ['two_at_once', 'again']);
  });

  it('counts the keys in work', () => {
    assert.equal(write('+a1 +b1 -a').open, 1);
    assert.equal(write('+a1 -a').open, 0);
  });

  it('refuses an end without a beginning: that would hide an overlap', () => {
    assert.throws(() => write('-a'), /key "a" that nobody began/);
    assert.throws(() => write('+a1 -a -a'), /key "a" that nobody began/);
  });

  it('remembers the last start of a bounded number of keys, and who is at work however many there are', () => {
    assert.equal(write('+a2 +b1 +c1 +a1', 2).maxAtOnce, 2);
    assert.equal(write('+a2 -a +b1 -b +c1 -c +a1', 2).orderViolations, 0);
    assert.equal(write('+a2 -a +b1 -b +a1', 2).orderViolations, 1);
  });
});
