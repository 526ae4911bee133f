/** Whoever reads the list of libraries finds what each production dependency is for, and what was not taken. */
import { deepStrictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { read } from './repository.js';

const OWN = '@keyturn/client';

test('docs/adr/006 has a reason for every production dependency', () => {
  const { dependencies } = JSON.parse(read('package.json').text);
  const rows = read('docs/adr/006-libraries-outside-the-core.md')
    .text.split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split(' | ')[1] ?? '');
  const chosen = new Set(rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name)));
  deepStrictEqual(
    Object.keys(dependencies).filter((name) => name !== OWN && !chosen.has(name)),
    [],
  );
});
