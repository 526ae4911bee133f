/** A client with more than one face is played with each. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { LANGUAGES, languageOf, PLAYED } from '../../clients/conformance/languages.js';
import { optionsOf } from '../../clients/conformance/options.js';
import { playAll } from '../../clients/conformance/play/suite.js';
import { loadText } from '../../clients/conformance/scenario/load.js';
import { playerThat } from './players.js';

test('python means both faces, and one may be named alone', () => {
  deepStrictEqual(optionsOf(['--language', 'python,go']).languages, ['python', 'python-sync', 'go']);
  deepStrictEqual(optionsOf(['--language', 'python-sync']).languages, ['python-sync']);
  deepStrictEqual(optionsOf(['--language', 'python-sync,python']).languages, ['python-sync', 'python']);
  deepStrictEqual(optionsOf([]).languages, PLAYED);
  strictEqual(PLAYED.length, LANGUAGES.length + 1);
});

test('the other face is the same player with an argument', () => {
  strictEqual(languageOf('python-sync').player, languageOf('python').player);
  deepStrictEqual(languageOf('python-sync').args, ['--sync']);
});

test('the player is started with its arguments', async (t) => {
  const player = await playerThat(t, 'say({ id: request.id, ok: { count: 1, what: process.argv.slice(2) } });');
  const text = '  - { name: a, contract: x, steps: [{ leftovers: {}, expect: { what: [--loud] } }] }';
  const scenarios = loadText('file', `about: x\nscenarios:\n${text}`);
  const language = { name: 'go', player, args: ['--loud'] };
  const verdicts = await playAll(scenarios, [language], { atOnce: 1, onVerdict: () => undefined });
  deepStrictEqual(
    verdicts.map(({ scenario, failure }) => [scenario.name, failure]),
    [['a', undefined]],
  );
});
