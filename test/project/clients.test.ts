/** Every client has what the suite, the mixed test and `npm run test:clients` start. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LANGUAGES as PLAYED } from '../../clients/conformance/languages.js';
import { LANGUAGES } from '../clients/toolchains.js';
import { ROOT, read, trackedPaths } from './repository.js';

test('the suite plays the languages whose toolchains are looked for', () => {
  deepStrictEqual([...PLAYED].sort(), [...LANGUAGES].sort());
});

test('no client is forgotten', () => {
  const folders = new Set(trackedPaths().flatMap((path) => /^clients\/(\w+)\//.exec(path)?.[1] ?? []));
  folders.delete('conformance');
  deepStrictEqual([...folders].sort(), [...LANGUAGES].sort());
});

for (const language of LANGUAGES) {
  for (const program of ['prepare', 'check', 'conformance/player']) {
    test(`clients/${language}/${program} can be started`, () => {
      accessSync(join(ROOT, 'clients', language, program), constants.X_OK);
    });
  }

  // Otherwise who kills it kills a shell, and the client lives on.
  test(`the player of ${language} is the process that was started`, () => {
    const { text } = read(`clients/${language}/conformance/player`);
    match(text, /^#!\/(usr\/bin\/env (ba)?sh|bin\/(ba)?sh)\n/);
    const last = text.replace(/\\\n/g, ' ').trimEnd().split('\n').at(-1);
    match(last ?? '', /^(?:\w+=\S+ )?exec /);
  });
}

test('npm test needs nothing but Node: what it builds with runs no other toolchain', () => {
  const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(read('package.json').text);
  const reached = reachedFrom('pretest', scripts);
  strictEqual(reached.has('generate:node'), true);
  deepStrictEqual(
    [...reached].filter((name) => ['generate', 'generate:go', 'test:clients'].includes(name)),
    [],
  );
});

/** The scripts that a script runs, and those that these run. */
function reachedFrom(
  name: string,
  scripts: Readonly<Record<string, string>>,
  found = new Set<string>(),
): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, next = ''] of (scripts[name] ?? '').matchAll(/npm run (?:--silent )?([\w:]+)/g)) {
    for (const one of [`pre${next}`, next]) if (scripts[one] !== undefined) reachedFrom(one, scripts, found);
  }
  return found;
}
