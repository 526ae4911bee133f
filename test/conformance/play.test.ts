/** A scenario is red when anything is not as it says, and says where. With a real sidecar, and players real and false. */
import { match, ok, strictEqual } from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { languageOf } from '../../clients/conformance/languages.js';
import { play, type Verdict } from '../../clients/conformance/play/play.js';
import { PlayerPool } from '../../clients/conformance/play/player-pool.js';
import { SharedSidecar } from '../../clients/conformance/play/shared-sidecar.js';
import { playAll } from '../../clients/conformance/play/suite.js';
import { loadText } from '../../clients/conformance/scenario/load.js';
import type { Scenario } from '../../clients/conformance/scenario/model.js';
import { playerThat } from './players.js';

/** Scenarios of this file have one sidecar: only what they expect differs. */
const known: Scenario[] = [];
let shared: SharedSidecar | undefined;
const { name: typescript, player: ownPlayer } = languageOf('typescript');
const pool = new PlayerPool(typescript, ownPlayer);

/** @param steps a line of YAML each */
function scenario(steps: readonly string[], more = ''): Scenario {
  const head = `about: x\nscenarios:\n  - name: one\n    contract: "a sentence"\n${more}    steps:\n`;
  const [found] = loadText('file', `${head}${steps.map((step) => `      - ${step}\n`).join('')}`);
  ok(found !== undefined);
  known.push(found);
  return found;
}

/** A test whose scenarios are red. */
function redTest(name: string, ...cases: readonly (readonly [readonly string[], RegExp, string?])[]): void {
  const scenarios = cases.map(([steps, why, more]) => ({ one: scenario(steps, more), why }));
  test(name, async () => {
    for (const { one, why } of scenarios) match((await play(one, pool, { shared })).failure ?? 'it passed', why);
  });
}

/** Everything that is played is known before the first test begins. */
describe('a scenario that is played', () => {
  before(async () => {
    shared = await SharedSidecar.start(known, typescript);
    ok(shared !== undefined);
  });

  after(async () => {
    const wrong = await pool.end();
    await shared?.close();
    strictEqual(wrong.join('\n'), '');
  });

  const right = scenario(['enqueue: { queue: q, key: k }\n        expect: { decision: accept, turn: { attempt: 0 } }']);
  test('a scenario that is as it says passes', async () => {
    strictEqual((await play(right, pool, { shared })).failure, undefined);
  });

  redTest('an expectation that is wrong is red, with file, line, what was expected and what came', [
    ['enqueue: { queue: q, key: k }', 'enqueue: { queue: q, key: k, wait_ms: 0 }\n        expect: { ahead: 2 }'],
    /^file\.yaml:7: step 2, enqueue: ahead: 2 was expected, there is 1\n.*"decision":"block"/,
  ]);

  redTest(
    'an error that nobody expected is red, and so is its absence',
    [['dequeue: { queue: q, key: k, token: 1 }'], /an error came: .*TURN_LOST/],
    [['enqueue: { queue: q, key: k }\n        error: { code: X }'], /an error was expected .*there is .*accept/],
  );

  const WORK = 'with_turn: { handle: w, queue: q, key: k, work: { does: { value: v } } }';
  const MISSING = 'event: { event: lost, handle: w }\n        within: 50ms';
  redTest(
    'an event that does not come, and one that should not have come, are red',
    [[WORK, MISSING], /step 2, event: not within \d\d ms: the event .*there were .*"started"/],
    [[WORK, 'no_event: { event: ended }'], /this event was not expected: .*"ended"/],
  );

  const BEGUN = ['enqueue: { queue: q, key: k }', 'enqueue: { queue: q, key: k, wait_ms: 60000 }\n        as: w'];
  const SETTLED = ['enqueue: { queue: q, key: k }\n        as: w', 'enqueue: { queue: q, key: other }', 'no_answer: w'];
  redTest(
    'an answer that is there already, and one that does not come, are red',
    [[...BEGUN, 'answer: w\n        within: 50ms'], /not within 50 ms: an answer to enqueue/],
    [SETTLED, /no answer was expected yet/],
  );

  redTest('a condition of the sidecar that does not come is red, and shows what is', [
    ['until: { explain_key: { queue: q, key: k } }\n        within: 60ms\n        expect: { state: PROCESS }'],
    /not within 60 ms: state: "PROCESS" was expected, there is "INIT"/,
  ]);

  redTest('something that took too long, or not long enough, is red', [
    ['enqueue: { queue: q, key: k }\n        took: { $greater: 1m }'],
    /it took \d+ ms: greater than 60000/,
  ]);

  redTest('a sidecar that does not start with its settings is red', [
    ['enqueue: { queue: q, key: k }'],
    /the sidecar did not start:[\s\S]*leese/,
    '    sidecar: { settings: { leese: 1s } }\n',
  ]);

  const unsupported = scenario(['enqueue: { queue: q, key: k }\n        error: { kind: { $any: true } }']);
  test('an op that a player does not know is red, whatever was expected', async (t) => {
    const player = await playerThat(
      t,
      `if (request.op === 'open' || request.op === 'close') say({ id: request.id, ok: {} });
     else say({ id: request.id, error: { kind: 'unsupported', message: 'not here' } });`,
    );
    const pool = new PlayerPool('go', player);
    t.after(() => pool.end());
    match((await play(unsupported, pool, { shared })).failure ?? 'it passed', /an error came: .*unsupported/);
  });

  const closing = scenario(['enqueue: { queue: q, key: k }\n        expect: {}']);
  test('a client that does not close at the end is red', async (t) => {
    const player = await playerThat(
      t,
      `if (request.op === 'close') say({ id: request.id, error: { kind: 'call', message: 'I will not' } });
     else say({ id: request.id, ok: {} });`,
    );
    const pool = new PlayerPool('go', player);
    t.after(() => pool.end());
    match((await play(closing, pool, { shared })).failure ?? '', /at the end: client a cannot be closed/);
  });

  test('a player that is missing, or is of another language, fails every scenario', async (t) => {
    const two = [scenario(['mark: a']), scenario(['mark: b'])];
    const told: string[] = [];
    const onVerdict = ({ failure }: Verdict): void => void told.push(failure ?? 'it passed');
    await playAll(two, [{ name: 'go', player: '/nowhere/player' }], { atOnce: 2, onVerdict });
    const other = await playerThat(t, '');
    await playAll(two, [{ name: 'java', player: other }], { atOnce: 2, onVerdict });
    strictEqual(told.length, 4);
    for (const failure of told.slice(0, 2)) match(failure, /there is no player: \/nowhere\/player/);
    for (const failure of told.slice(2)) match(failure, /the player says that it is go, not java/);
  });

  test('a player that does not end with its stdin makes the suite red', async (t) => {
    const player = await playerThat(
      t,
      "say({ id: request.id, ok: {} }); process.stdin.on('end', () => process.exit(7))",
    );
    const one = scenario(['enqueue: { queue: q, key: k }']);
    const verdicts = await playAll([one], [{ name: 'go', player }], { atOnce: 1, onVerdict: () => undefined });
    match(verdicts[0]?.failure ?? 'it passed', /after all scenarios: a player ended with exit code 7/);
  });
});
