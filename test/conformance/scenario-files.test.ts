/** Scenario files are read strictly: a word that is not known would be a check that is not made. */
import { match, ok, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import { SCENARIOS } from '../../clients/conformance/languages.js';
import { loadFolder, loadText, WrongScenarios } from '../../clients/conformance/scenario/load.js';

/** A file with one scenario of these steps. */
function file(...steps: readonly string[]): string {
  const head = ['about: x', 'scenarios:', '  - name: one', '    contract: "a sentence"', '    steps:'];
  return [...head, ...steps.map((step) => `      - ${step}`)].join('\n');
}

function refused(text: string, why: RegExp): void {
  throws(
    () => loadText('file', text),
    (error: unknown) => {
      ok(error instanceof WrongScenarios, String(error));
      match(error.message, why);
      return true;
    },
  );
}

test('all scenario files are valid, and each scenario has a name of its own and a sentence of the contract', () => {
  const scenarios = loadFolder(SCENARIOS);
  ok(scenarios.length >= 60, `${scenarios.length} scenarios`);
  strictEqual(new Set(scenarios.map(({ id }) => id)).size, scenarios.length);
  for (const { id, contract, steps } of scenarios) {
    ok(contract.length > 20, `${id} names no sentence of the contract`);
    ok(steps.length > 0, `${id} does nothing`);
  }
});

/** A request whose answer nobody looks at may fail unseen, and one that expects nothing checks only that there is no error. */
test('every scenario expects something', () => {
  for (const { id, steps } of loadFolder(SCENARIOS)) {
    const text = JSON.stringify(steps);
    ok(/"(expect|error)":|"verb":"(event|sidecar_exits)"/.test(text), `${id} expects nothing`);
  }
});

const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  [
    'a word of a request',
    file('enqueue: { queue: q, kee: k }'),
    /file\.yaml:6: .*kee is not known; allowed are client, queue, key/,
  ],
  ['a field that is missing', file('enqueue: { queue: q }'), /file\.yaml:6: .*key is missing/],
  [
    'a field of the answer',
    file('enqueue: { queue: q, key: k }', '  expect: { desicion: accept }').replace('\n      -   ', '\n        '),
    /desicion is not known; allowed are decision/,
  ],
  [
    'a field of an error',
    file('enqueue: { queue: q, key: k }\n        error: { cod: X }'),
    /file\.yaml:7: .*cod is not known; allowed are kind, code/,
  ],
  [
    'a matcher',
    file('enqueue: { queue: q, key: k }\n        expect: { ahead: { $larger: 1 } }'),
    /\$larger is no matcher; there are \$any/,
  ],
  [
    'a generator',
    file('enqueue: { queue: q, key: { $many: [1, 2] } }'),
    /\$many is no generator; allowed is one of \$repeat, \$times/,
  ],
  ['a step', file('enqeue: { queue: q, key: k }'), /a step does one thing; it may be one of hello, open/],
  ['two steps in one', file('mark: a\n        kill: main'), /mark, kill: a step does one thing/],
  ['a duration', file('mark: a\n        within: 10'), /within: 10 is not allowed; a duration \(250ms, 2s, 1m\) is/],
  [
    'a fault',
    file('fault: explode'),
    /"explode" is not allowed; cut, heal, refuse, drop_answers, hold_answers, silence is/,
  ],
  ['an event', file('event: { event: begun }'), /"begun" is not allowed; started, lost/],
  ['a question', file('ask: { explain: { queue: q } }'), /explain is not known; allowed are explain_key/],
  [
    'both an answer and an error',
    file('enqueue: { queue: q, key: k }\n        expect: {}\n        error: {}'),
    /either what is expected or an error/,
  ],
  [
    'a step inside a repetition',
    file('repeat: { times: 2, steps: [{ enqueue: { queue: q, key: k, wait: 1 } }] }'),
    /wait is not known/,
  ],
  ['a number for a text', file('enqueue: { queue: 7, key: k }'), /7 is not allowed; a text is/],
  ['a scenario without a contract', 'about: x\nscenarios:\n  - name: one\n    steps: []', /contract is missing/],
  [
    'a name that is there twice',
    file().replace('    steps:', '    steps: []\n  - name: one\n    contract: c\n    steps: []'),
    /one is there twice/,
  ],
  ['YAML that is none', 'about: [', /file\.yaml: /],
  ['a key that is there twice', 'about: x\nabout: y\nscenarios: []', /unique/i],
];

for (const [what, text, why] of REFUSED)
  test(`refused, with place and what is allowed: ${what}`, () => refused(text, why));
