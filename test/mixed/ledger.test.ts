/** The check of the mixed test fails when it should: a ledger that breaks each rule, and ones that look odd and are fine. */
import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import { type Account, checkLedger, type Facts, RULES, type Rule } from './ledger-check.js';
import { type LedgerLine, readLedger, writeLine } from './ledger-line.js';

const [GO, JAVA] = [
  { name: 'go 1', language: 'go' },
  { name: 'java 1', language: 'java' },
];

/** Tokens below 100 are turns of the process of Go, those from 900 on of one that was killed before it could tell. */
const FACTS: Facts = {
  submitted: new Map([['orders', new Map([['ada', ['a', 'b', 'c']]])]]),
  finishedTurns: new Map(),
  languages: ['go', 'java'],
  processOf: (_queue, token) => (token < 100 ? GO : token < 900 ? JAVA : undefined),
};

/** `start 1 a,b`: key ada of orders. `kill go 1` as it stands. `crash 50`: turns from token 50 on are of the next run. */
function ledger(...lines: readonly string[]): readonly LedgerLine[] {
  const full = lines.map((line) => {
    const [kind = '', ...rest] = line.split(' ');
    if (kind === 'crash') return `${kind}\t${rest[0]}`;
    if (kind === 'kill') return `kill\t${rest.join(' ')}`;
    return [kind, 'orders', 'ada', rest[0], 'player', rest[1] ?? ''].join('\t');
  });
  return readLedger(full.map((line) => `${line}\n`).join(''));
}

function check(facts: Partial<Facts>, ...lines: readonly string[]): Account {
  return checkLedger(ledger(...lines), { ...FACTS, ...facts });
}

const GOOD = ['start 1 a', 'end 1 a', 'start 100 b', 'end 100 b', 'start 101 c', 'end 101 c'];
const REST = ['start 101 b,c', 'end 101 b,c'];

test('a ledger without a fault has no problem, and is summed up', () => {
  deepStrictEqual(check({}, ...GOOD), {
    problems: [],
    ended: new Map([
      ['go', 1],
      ['java', 2],
    ]),
    turns: 3,
    lost: 0,
    toldLate: 0,
    died: 0,
    again: 0,
  });
});

const FORGED: readonly (readonly [string, Rule, Partial<Facts>, readonly string[]])[] = [
  [
    'two at work on one key',
    'one at a time',
    {},
    ['start 1 a', 'start 100 b', 'end 1 a', 'end 100 b', 'start 101 c', 'end 101 c'],
  ],
  [
    'another process was killed',
    'one at a time',
    {},
    ['start 1 a', 'kill java 1', 'start 100 b', 'end 1 a', 'end 100 b', 'start 101 c', 'end 101 c'],
  ],
  [
    'killed, but only after the next had begun',
    'one at a time',
    {},
    ['start 1 a', 'start 100 a', 'kill go 1', 'end 100 a', 'start 101 b,c', 'end 101 b,c', 'start 2 c'],
  ],
  ['a smaller token after a larger one', 'tokens', {}, ['start 100 a', 'end 100 a', 'start 1 b,c', 'end 1 b,c']],
  ['a token twice', 'tokens', {}, ['start 1 a', 'end 1 a', 'start 1 b', 'end 1 b', 'start 100 c', 'end 100 c']],
  ['the second item before the first', 'order', {}, ['start 1 b', 'end 1 b', 'start 100 a,c', 'end 100 a,c']],
  ['an item left out', 'order', {}, ['start 1 a', 'end 1 a', 'start 100 c', 'end 100 c', 'start 101 b', 'end 101 b']],
  ['the wrong order within a turn', 'order', {}, ['start 1 b,a', 'end 1 b,a', 'start 100 c', 'end 100 c']],
  [
    'done and done again',
    'again',
    {},
    [...GOOD.slice(0, 2), 'start 100 a', 'end 100 a', 'start 101 b,c', 'end 101 b,c'],
  ],
  ['acknowledged long before its process was killed', 'again', {}, [...GOOD, 'kill go 1', 'start 102 a', 'end 102 a']],
  ['acknowledged long before the sidecar crashed', 'again', {}, [...GOOD, 'crash 102', 'start 102 a', 'end 102 a']],
  [
    'done and done again, and only then the sidecar crashed',
    'again',
    {},
    ['start 1 a', 'end 1 a', 'crash 101', 'start 100 a', 'end 100 a', ...REST],
  ],
  [
    'done and done again after the crash',
    'again',
    {},
    ['crash 1', 'start 1 a', 'end 1 a', 'start 100 a', 'end 100 a', ...REST],
  ],
  ['an item that nobody began', 'lost', {}, ['start 1 a', 'end 1 a', 'start 100 b', 'end 100 b']],
  ['an item whose worker died, and nobody came', 'lost', {}, [...GOOD.slice(0, 4), 'start 900 c', 'kill go 2']],
  ['an item whose turn was lost, and nobody came', 'lost', {}, [...GOOD.slice(0, 4), 'start 101 c', 'lost 101 c']],
  ['a worker that lives and never ended', 'lost', {}, [...GOOD, 'start 102']],
  ['a turn told as done that did not end', 'lost', { finishedTurns: new Map([['orders', 4]]) }, GOOD],
  ['a language that did nothing', 'languages', { languages: ['go', 'java', 'python'] }, GOOD],
  ['an item from nowhere', 'written', {}, ['start 1 a,x', 'end 1 a,x', 'start 100 b,c', 'end 100 b,c']],
  ['an end without a start', 'written', {}, [...GOOD, 'end 102']],
  ['two ends', 'written', {}, [...GOOD, 'end 101 c']],
];

for (const [what, rule, facts, lines] of FORGED) {
  test(`refused: ${what}`, () => {
    const found = check(facts, ...lines).problems.map((problem) => problem.rule);
    strictEqual(found.includes(rule), true, `${rule} is not among ${found.join(', ')}`);
  });
}

test('every rule has a ledger that breaks it, and one that breaks it alone', () => {
  for (const rule of RULES) {
    const alone = FORGED.filter(([, broken, facts, lines]) =>
      check(facts, ...lines).problems.every((problem) => problem.rule === broken && broken === rule),
    );
    strictEqual(alone.length > 0, true, rule);
  }
});

const FINE: readonly (readonly [string, readonly string[]])[] = [
  ['its worker was killed, another one begins again', ['start 1 a', 'kill go 1', 'start 100 a', 'end 100 a', ...REST]],
  ['began another turn before the signal came', ['kill go 1', 'start 1 a', 'start 100 a', 'end 100 a', ...REST]],
  ['killed before it could tell', ['start 1 a', 'end 1 a', 'start 900 b', 'kill go 2', 'start 901 b,c', 'end 901 b,c']],
  [
    'done, but killed before its Ack came through',
    ['start 1 a', 'end 1 a', 'kill go 1', 'start 100 a', 'end 100 a', ...REST],
  ],
  [
    'done, but the sidecar crashed before its Ack came through',
    ['start 1 a', 'end 1 a', 'crash 100', 'start 100 a', 'end 100 a', ...REST],
  ],
  [
    'given before the crash, begun after it',
    ['crash 100', 'start 1 a', 'end 1 a', 'start 100 a', 'end 100 a', ...REST],
  ],
  ['told that it is lost, then somebody else', ['start 1 a', 'lost 1 a', 'start 100 a', 'end 100 a', ...REST]],
  ['told late, because it was stopped', ['start 1 a', 'start 100 a', 'lost 1 a', 'end 100 a', ...REST]],
];

for (const [what, lines] of FINE) {
  test(`fine: ${what}`, () => deepStrictEqual(check({ languages: [] }, ...lines).problems, []));
}

test('what was lost, told late, died and was begun again is counted', () => {
  const lines = ['start 1 a', 'start 100 a', 'lost 1 a', 'kill java 1', 'start 101 a,b,c', 'end 101 a,b,c'];
  const { turns, lost, toldLate, died, again } = check({ languages: [] }, ...lines);
  deepStrictEqual({ turns, lost, toldLate, died, again }, { turns: 3, lost: 1, toldLate: 1, died: 1, again: 2 });
});

test('a line is read as it was written, and what is none is refused with its number', () => {
  const lines = ledger('start 1 a,b', 'lost 1 a,b', 'kill go 1', 'crash 9', 'end 2');
  deepStrictEqual(readLedger(lines.map(writeLine).join('')), lines);
  deepStrictEqual(readLedger('start\tq\tk\t7\tplayer\n'), [
    { kind: 'start', queue: 'q', key: 'k', token: 7, player: 'player', items: [] },
  ]);
  throws(() => readLedger('crash\n'), /line 1 of the ledger is none/);
  throws(() => readLedger('crash\t1\nstart\tq\tk\tx\tp\t\n'), /line 2 of the ledger is none/);
  throws(() => readLedger('crash\t1\nstart\tq\tk\t1\tp\ta\tb\n'), /line 2/);
  throws(() => readLedger('crash\t1\nstart\tq'), /the last line of the ledger does not end/);
});
