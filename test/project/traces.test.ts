/** The check of traces sees what it should, and nothing else. The bad samples are put together here, or this file would be one. */
import { deepStrictEqual, match } from 'node:assert/strict';
import { test } from 'node:test';
import { checkTraces } from './traces.js';

const path = 'docs/a.md';
const slash = (...parts: readonly string[]) => ['', ...parts].join('/');
const dots = (...parts: readonly string[]) => parts.join('.');

const BAD: readonly (readonly [string, string])[] = [
  ['a home', `see ${slash('home', 'ada', 'keyturn')}`],
  ['a home on a Mac', `see ${slash('Users', 'ada', 'keyturn')}`],
  ["root's home", `see ${slash('root', 'keyturn')}`],
  ['a home on Windows', `see ${['C:', 'Users', 'ada'].join('\\')}`],
  ['a place for temporary files', `see ${slash('tmp', 'keyturn')}`],
  ['a working place', `"${slash('work', 'keyturn')}"`],
  ['a registry', `https://${dots('registry', 'npmjs', 'org')}/pino`],
  ['a lock file that says from where', `"${'resolved'}": "https://example.org/pino.tgz"`],
  ['a setting of npm', `${'registry'}=https://example.org`],
  ['the registry of this machine', 'https://packages.example.org/pino'],
];

for (const [what, text] of BAD) {
  test(`a trace: ${what}`, () => {
    match(
      checkTraces([{ path, text: `\n${text}\n` }], 'https://packages.example.org/npm/').join('\n'),
      /^docs\/a\.md:2: /,
    );
  });
}

test('no traces: paths of every machine, loopback, words', () => {
  const text =
    'unix:/run/keyturn/keyturn.sock /var/lib/keyturn https://example.org/home/ada 127.0.0.1 ./work/out homework';
  deepStrictEqual(checkTraces([{ path, text }], 'http://127.0.0.1:4873/'), []);
  deepStrictEqual(checkTraces([{ path, text }], undefined), []);
});
