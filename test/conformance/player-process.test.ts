/** A player is held to its protocol: whatever is not of it breaks it, and everybody who waits is told. */
import { deepStrictEqual, match, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Fields } from '../../clients/conformance/fields.js';
import { LineSplitter } from '../../clients/conformance/process/line-splitter.js';
import { PlayerBroken, PlayerProcess } from '../../clients/conformance/process/player-process.js';
import { playerThat } from './players.js';

async function player(t: TestContext, answers: string): Promise<PlayerProcess> {
  const process = new PlayerProcess(await playerThat(t, answers));
  t.after(async () => {
    process.kill();
    await process.exited;
  });
  return process;
}

test('answers come to their requests in any order, events to those who listen', async (t) => {
  const answers = `
    if (request.op === 'first') globalThis.first = request.id;
    else { say({ event: 'started', handle: 'w' }); say({ id: request.id, ok: { n: 2 } }); say({ id: first, error: { kind: 'call' } }); }`;
  const process = await player(t, answers);
  const events: Fields[] = [];
  process.listen((event) => events.push(event));
  const first = process.request('first', {});
  const second = await process.request('second', {}).answer;
  ok('ok' in second);
  deepStrictEqual(second.ok, { n: 2 });
  const answer = await first.answer;
  ok('error' in answer);
  deepStrictEqual(answer.error, { kind: 'call' });
  deepStrictEqual(events, [{ event: 'started', handle: 'w' }]);
});

const BREAKS: readonly (readonly [string, string, RegExp])[] = [
  ['a line that is no JSON', "process.stdout.write('hello\\n')", /no line of the protocol: hello/],
  ['an answer that nobody waits for', 'say({ id: 99, ok: {} })', /nobody waits for this answer/],
  ['an answer that comes twice', 'say({ id: request.id, ok: {} }); say({ id: request.id, ok: {} })', /nobody waits/],
  ['an answer that is neither', 'say({ id: request.id })', /an answer has either ok or error/],
  ['an answer that is both', 'say({ id: request.id, ok: {}, error: {} })', /an answer has either ok or error/],
  ['an end', 'process.exit(3)', /it ended \(exit code 3\)/],
];

for (const [what, answers, why] of BREAKS) {
  test(`a player is broken by ${what}`, async (t) => {
    const process = await player(t, answers);
    await process.request('a', {}).answer.catch(() => undefined);
    // It never answers, so that only the break can end it.
    await rejects(process.request('b', {}).answer, (error: unknown) => {
      ok(error instanceof PlayerBroken);
      match(error.message, why);
      return true;
    });
  });
}

test('a player that is not there is told by its path', () => {
  throws(() => new PlayerProcess('/nowhere/player'), /there is no player: \/nowhere\/player/);
});

test('a line longer than allowed is given up, however it is cut', () => {
  const lines: string[] = [];
  let tooLong = 0;
  const splitter = new LineSplitter(
    (line) => lines.push(line),
    () => {
      tooLong += 1;
    },
    5,
  );
  for (const part of ['ab', 'c\nde', '\n', '\n12345\n']) splitter.take(part);
  deepStrictEqual(lines, ['abc', 'de', '', '12345']);
  for (const part of ['123', '456']) splitter.take(part);
  strictEqual(tooLong, 1);
});
