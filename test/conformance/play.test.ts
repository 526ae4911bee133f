/** A scenario is red when anything is not as it says, and says where. With a real sidecar, and players real and false. */
import { match, ok, strictEqual } from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { languageOf } from '../../clients/conformance/languages.js';
import { play, type Verdict } from '../../clients/conformance/play/play.js';
import { PlayerPool } from '../../clients/conformance/play/player-pool.js';
import { playAll } from '../../clients/conformance/play/suite.js';
import { loadText } from '../../clients/conformance/scenario/load.js';
import type { Scenario } from '../../clients/conformance/scenario/model.js';
import { playerThat } from './players.js';

/** @param steps a line of YAML each */
function scenario(steps: readonly string[], more = ''): Scenario {
  const head = `about: x\nscenarios:\n  - name: one\n    contract: "a sentence"\n${more}    steps:\n`;
  const [found] = loadText('file', `${head}${steps.map((step) => `      - ${step}\n`).join('')}`);
  ok(found !== undefined);
  return found;
}

async function played(t: TestContext, one: Scenario): Promise<Verdict> {
  const { name, player } = languageOf('typescript');
  const pool = new PlayerPool(name, player);
  t.after(async () => strictEqual((await pool.end()).join('\n'), ''));
  return play(one, pool);
}

async function isRed(t: TestContext, steps: readonly string[], why: RegExp, more?: string): Promise<void> {
  const { failure } = await played(t, scenario(steps, more));
  match(failure ?? 'it passed', why);
}

test('a scenario that is as it says passes', async (t) => {
  const steps = ['enqueue: { queue: q, key: k }\n        expect: { decision: accept, turn: { attempt: 0 } }'];
  strictEqual((await played(t, scenario(steps))).failure, undefined);
});

test('an expectation that is wrong is red, with file, line, what was expected and what came', async (t) => {
  const steps = [
    'enqueue: { queue: q, key: k }',
    'enqueue: { queue: q, key: k, wait_ms: 0 }\n        expect: { ahead: 2 }',
  ];
  await isRed(t, steps, /^file\.yaml:7: step 2, enqueue: ahead: 2 was expected, there is 1\n.*"decision":"block"/);
});

test('an error that nobody expected is red, and so is its absence', async (t) => {
  await isRed(t, ['dequeue: { queue: q, key: k, token: 1 }'], /an error came: .*TURN_LOST/);
  await isRed(
    t,
    ['enqueue: { queue: q, key: k }\n        error: { code: X }'],
    /an error was expected .*there is .*accept/,
  );
});

test('an event that does not come, and one that should not have come, are red', async (t) => {
  const work = 'with_turn: { handle: w, queue: q, key: k, work: { does: { value: v } } }';
  const missing = 'event: { event: lost, handle: w }\n        within: 50ms';
  await isRed(t, [work, missing], /step 2, event: not within \d\d ms: the event .*there were .*"started"/);
  await isRed(t, [work, 'no_event: { event: ended }'], /this event was not expected: .*"ended"/);
});

test('an answer that is there already, and one that does not come, are red', async (t) => {
  const begun = ['enqueue: { queue: q, key: k }', 'enqueue: { queue: q, key: k, wait_ms: 60000 }\n        as: w'];
  await isRed(t, [...begun, 'answer: w\n        within: 50ms'], /not within 50 ms: an answer to enqueue/);
  const settled = ['enqueue: { queue: q, key: k }\n        as: w', 'enqueue: { queue: q, key: other }', 'no_answer: w'];
  await isRed(t, settled, /no answer was expected yet/);
});

test('a condition of the sidecar that does not come is red, and shows what is', async (t) => {
  const until =
    'until: { explain_key: { queue: q, key: k } }\n        within: 60ms\n        expect: { state: PROCESS }';
  await isRed(t, [until], /not within 60 ms: state: "PROCESS" was expected, there is "INIT"/);
});

test('something that took too long, or not long enough, is red', async (t) => {
  const taken = 'enqueue: { queue: q, key: k }\n        took: { $greater: 1m }';
  await isRed(t, [taken], /it took \d+ ms: greater than 60000/);
});

test('a sidecar that does not start with its settings is red', async (t) => {
  const more = '    sidecar: { settings: { leese: 1s } }\n';
  await isRed(t, ['enqueue: { queue: q, key: k }'], /the sidecar did not start:[\s\S]*leese/, more);
});

test('an op that a player does not know is red, whatever was expected', async (t) => {
  const player = await playerThat(
    t,
    `if (request.op === 'open' || request.op === 'close') say({ id: request.id, ok: {} });
     else say({ id: request.id, error: { kind: 'unsupported', message: 'not here' } });`,
  );
  const pool = new PlayerPool('go', player);
  t.after(() => pool.end());
  const steps = ['enqueue: { queue: q, key: k }\n        error: { kind: { $any: true } }'];
  match((await play(scenario(steps), pool)).failure ?? 'it passed', /an error came: .*unsupported/);
});

test('a client that does not close at the end is red', async (t) => {
  const player = await playerThat(
    t,
    `if (request.op === 'close') say({ id: request.id, error: { kind: 'call', message: 'I will not' } });
     else say({ id: request.id, ok: {} });`,
  );
  const pool = new PlayerPool('go', player);
  t.after(() => pool.end());
  match(
    (await play(scenario(['enqueue: { queue: q, key: k }\n        expect: {}']), pool)).failure ?? '',
    /at the end: client a cannot be closed/,
  );
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
  const player = await playerThat(t, "say({ id: request.id, ok: {} }); process.stdin.on('end', () => process.exit(7))");
  const one = scenario(['enqueue: { queue: q, key: k }']);
  const verdicts = await playAll([one], [{ name: 'go', player }], { atOnce: 1, onVerdict: () => undefined });
  match(verdicts[0]?.failure ?? 'it passed', /after all scenarios: a player ended with exit code 7/);
});
