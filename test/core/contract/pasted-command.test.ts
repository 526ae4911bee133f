/** S581: what people paste into a shell does what it says, whatever the names in it hold. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { pastedCommand } from '../../../src/core/contract/pasted-command.js';
import { type NeededProgram, needs, pathOf } from '../../support/needed-program.js';

const CASES: readonly (readonly [key: string, pasted: string])[] = [
  ['customer-7', 'keyturn resume -- orders customer-7'],
  ['', "keyturn resume -- orders ''"],
  ['a b', "keyturn resume -- orders 'a b'"],
  ["it's", "keyturn resume -- orders 'it'\\''s'"],
  ['$(reboot)', "keyturn resume -- orders '$(reboot)'"],
  ['`reboot`', "keyturn resume -- orders '`reboot`'"],
  ['!!', "keyturn resume -- orders '!!'"],
  ['~', "keyturn resume -- orders '~'"],
  ['=ls', "keyturn resume -- orders '=ls'"],
  ['a\0b', "keyturn resume -- orders '(it has a NUL, which no shell passes on)'"],
  ['--address=evil', "keyturn resume -- orders '--address=evil'"],
  ['\u001b[2J!', `keyturn resume -- orders "$(printf %b '\\0033\\01332J\\0041')"`],
];

describe('S581: a command to be pasted', () => {
  for (const [key, pasted] of CASES)
    it(JSON.stringify(key), () => assert.equal(pastedCommand(['resume'], ['orders', key]), pasted));
});

const SHELLS: readonly NeededProgram[] = ['sh', 'bash', 'zsh'].map((name) => ({
  name,
  install: `Debian: apt-get install ${name}.`,
}));

const DANGEROUS = [
  '$(exit 3)',
  '`exit 3`',
  '!!',
  "'",
  '"',
  '\\',
  '--',
  '-x',
  '~',
  '=ls',
  '%1',
  '*',
  '\n',
  '\u001b[1m',
  ' ',
  'é',
  '\u202e',
  '$',
  '&',
  ';',
  '|',
  '<',
  '>',
  '#',
  '(',
  '{a,b}',
  '^',
  '?',
  '[a]',
];
const word = fc
  .array(fc.oneof(fc.constantFrom(...DANGEROUS), fc.string({ unit: 'grapheme' })), { maxLength: 6 })
  .map((parts) => parts.join('').replaceAll('\0', ''));

/** What a person's shell does with `!` in a line that is typed. */
const TYPED: Readonly<Record<string, string>> = { bash: 'set -o history -o histexpand\n' };

for (const shell of SHELLS)
  describe(`pasted into a real ${shell.name}`, needs([shell]), () => {
    it('each word arrives as it is, and nothing else runs', () => {
      const commands = fc.sample(fc.tuple(word, word), { numRuns: 300, seed: 581 });
      const script = commands.map(([option, key]) => pastedCommand(['--key', option], [key])).join('\n');
      const print = 'keyturn() { for word in "$@"; do printf "%s\\0" "$word"; done; }\n';
      const input = `${TYPED[shell.name] ?? ''}${print}${script}`;
      const { stdout, stderr, status } = spawnSync(pathOf(shell), ['-s'], { input, encoding: 'utf8' });
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
      const expected = commands.flatMap(([option, key]) => ['--key', option, '--', key]);
      assert.deepEqual(stdout.split('\0').slice(0, -1), expected);
    });
  });
