import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findProblems } from '../../../src/cli/replay/summary.js';
import { Tally } from '../../../src/cli/replay/tally.js';

/** Lets a worker see a line from its turn to its end. */
function work(tally: Tally, key: string, sequence: number, waited = 1): void {
  tally.accept(waited);
  tally.ledger.start(key, sequence);
  tally.ledger.end(key);
}

describe('the summary of a replay', () => {
  it('of nothing is all zeros, and no problem', () => {
    const tally = new Tally();
    const summary = tally.summarize(8, 0);
    assert.deepEqual(summary, {
      lines: 0,
      accepted: 0,
      waited: 0,
      declined: 0,
      saved: 0,
      wait_p50_ms: 0,
      wait_p99_ms: 0,
      max_at_once: 0,
      order_violations: 0,
      class: 'none',
      seconds: 0,
    });
    assert.deepEqual(findProblems(summary, tally), []);
  });

  it('counts lines by their ends; what was given up is no line', () => {
    const tally = new Tally();
    for (const key of ['a', 'a', 'a', 'b', 'b']) tally.arrive(key);
    tally.wait();
    work(tally, 'a', 1);
    work(tally, 'a', 2);
    tally.decline();
    work(tally, 'b', 4);
    tally.giveUp();
    const summary = tally.summarize(2, 1.23456);
    const { lines, accepted, waited, declined, saved, seconds } = summary;
    assert.deepEqual(
      { lines, accepted, waited, declined, saved, seconds },
      { lines: 4, accepted: 3, waited: 1, declined: 1, saved: 0.25, seconds: 1.235 },
    );
    assert.equal(summary.class, 'high');
    assert.deepEqual(findProblems(summary, tally), []);
  });

  it('tells the median and the 99th percentile of the waits, to three digits', () => {
    const tally = new Tally();
    for (let n = 1; n <= 1_000; n++) {
      tally.arrive(`key-${n}`);
      work(tally, `key-${n}`, n, n / 10);
    }
    const { wait_p50_ms, wait_p99_ms } = tally.summarize(8, 1);
    assert.ok(Math.abs(wait_p50_ms - 50) <= 0.1, `p50 ${wait_p50_ms}`);
    assert.ok(Math.abs(wait_p99_ms - 99) <= 0.1, `p99 ${wait_p99_ms}`);
  });

  it('bears waits that are absurd', () => {
    const tally = new Tally();
    tally.accept(-1);
    tally.accept(1e12);
    assert.ok(tally.summarize(8, 1).wait_p99_ms >= 86_000_000);
  });
});

describe('a replay fails', () => {
  interface Case {
    readonly title: string;
    readonly happens: (tally: Tally) => void;
    readonly problem: RegExp;
  }
  const cases: readonly Case[] = [
    {
      title: 'when two workers were on one key at once',
      happens: (tally) => {
        for (const sequence of [1, 2]) {
          tally.accept(1);
          tally.ledger.start('a', sequence);
        }
        tally.ledger.end('a');
        tally.ledger.end('a');
      },
      problem: /^2 workers were at once on one key$/,
    },
    {
      title: 'when a line started after a later one of its key',
      happens: (tally) => {
        work(tally, 'a', 2);
        work(tally, 'a', 1);
      },
      problem: /^1 line started after a later line of the same key$/,
    },
    {
      title: 'when a line had no end',
      happens: (tally) => work(tally, 'a', 1),
      problem: /^accepted 1 \+ declined 0 is not lines 2$/,
    },
    {
      title: 'when a line had two ends',
      happens: (tally) => {
        work(tally, 'a', 1);
        work(tally, 'a', 2);
        tally.decline();
      },
      problem: /^accepted 2 \+ declined 1 is not lines 2$/,
    },
    {
      title: 'when a line was accepted that no worker began',
      happens: (tally) => {
        work(tally, 'a', 1);
        tally.accept(1);
      },
      problem: /^the workers began 1 line, but 2 were accepted$/,
    },
    {
      title: 'when a line was processed again without a reason',
      happens: (tally) => {
        work(tally, 'a', 1);
        work(tally, 'a', 2);
        tally.ledger.start('a', 2);
        tally.ledger.end('a');
      },
      problem: /^1 line began again, but 0 turns got lost$/,
    },
    {
      title: 'when a turn was lost at work',
      happens: (tally) => {
        work(tally, 'a', 1);
        work(tally, 'a', 2);
        tally.lose();
        tally.ledger.start('a', 2);
        tally.ledger.end('a');
      },
      problem: /^1 turn got lost while the worker was at work$/,
    },
    {
      title: 'when a worker never left its key',
      happens: (tally) => {
        work(tally, 'a', 1);
        tally.accept(1);
        tally.ledger.start('a', 2);
      },
      problem: /^workers never left 1 key$/,
    },
  ];
  for (const { title, happens, problem } of cases) {
    it(title, () => {
      const tally = new Tally();
      tally.arrive('a');
      tally.arrive('a');
      happens(tally);
      const found = findProblems(tally.summarize(8, 1), tally);
      assert.equal(found.length, 1, found.join('\n'));
      assert.match(found[0] ?? '', problem);
    });
  }
});
