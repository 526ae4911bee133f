/** S594: what scripts and requests ask of a Redis is asked for at the start, and stands in the page of rights. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { read, sources } from '../project/repository.js';

/** Commands that are asked before rights are, or need no key. */
const ALWAYS = [
  'PING',
  'INFO',
  'SELECT',
  'AUTH',
  'CLUSTER',
  'READONLY',
  'ROLE',
  'SENTINEL',
  'SUBSCRIBE',
  'SCRIPT',
  'CONFIG',
  'HELLO',
];

function named(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name.toUpperCase());
}

it('every command of a script and of a request is probed, and has its right in the docs', () => {
  const files = sources('src/cluster').filter(({ path }) => /\/redis\//.test(path));
  const asked = new Set(
    files
      .filter(({ path }) => !path.endsWith('/rights.ts'))
      .flatMap(({ text }) => [...named(text, /redis\.call\('([A-Z]+)'/g), ...named(text, /\[\s*'([A-Z]{3,})',/g)]),
  );
  for (const name of ALWAYS) asked.delete(name);
  const probed = new Set(named(read('src/cluster/redis/rights.ts').text, /^ {2}([A-Z]+): \(/gm));
  assert.ok(asked.size > 10, 'there are some');
  assert.deepEqual([...asked].filter((name) => !probed.has(name)).sort(), []);
  const [, list = ''] = /ACL SETUSER keyturn on (.*)/.exec(read('docs/CLUSTER.md').text) ?? [];
  const told = new Set(named(list, /\+([a-z]+)/g));
  assert.deepEqual([...probed].filter((name) => !told.has(name)).sort(), []);
});
