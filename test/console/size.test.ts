/** The page weighs little: it comes over connections of people who are woken at night. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { sources } from '../project/repository.js';

const PAGE = fileURLToPath(new URL('../../src/console/page/', import.meta.url));
/** What the bundler put into it. */
const META = fileURLToPath(new URL('../../console.meta.json', import.meta.url));
const KIB = 1_024;
const LICENCES = 'licenses.txt';
const FIRST = ['console.css', 'console.js', 'favicon.svg', 'index.html'];

const weights = new Map(readdirSync(PAGE).map((name) => [name, gzipSync(readFileSync(PAGE + name)).length]));
const sum = (names: readonly string[]): number => names.reduce((all, name) => all + (weights.get(name) ?? 0), 0);

test('the first load is at most 60 KiB, all of it at most 110 KiB', () => {
  deepStrictEqual(
    FIRST.filter((name) => !weights.has(name)),
    [],
  );
  const [first, all] = [sum(FIRST), sum([...weights.keys()])];
  strictEqual(first <= 60 * KIB, true, `${first} bytes`);
  strictEqual(all <= 110 * KIB, true, `${all} bytes`);
});

test('charts are not in the first load', () => {
  strictEqual(
    [...weights.keys()].some((name) => /^plot-.*\.js$/.test(name)),
    true,
  );
});

test('nothing comes from elsewhere', () => {
  for (const name of weights.keys()) {
    // Licences name their authors' addresses; nothing is loaded from there.
    if (name === LICENCES) continue;
    const text = readFileSync(PAGE + name, 'utf8')
      .replaceAll('http://www.w3.org/', '')
      .replaceAll('http://console', '');
    deepStrictEqual([...text.matchAll(/https?:\/\/[a-z.]+/g)].map(String), [], name);
  }
});

test('the licence of every library that is in the page goes with it', () => {
  const { inputs }: { readonly inputs: Readonly<Record<string, unknown>> } = JSON.parse(readFileSync(META, 'utf8'));
  const libraries = new Set(
    Object.keys(inputs).flatMap((path) => path.match(/node_modules\/(@[^/]+\/[^/]+|[^/]+)/)?.[1] ?? []),
  );
  strictEqual(libraries.size >= 5, true, [...libraries].join());
  const parts = readFileSync(PAGE + LICENCES, 'utf8')
    .split(`\n${'-'.repeat(80)}\n\n`)
    .slice(1);
  deepStrictEqual(parts.map((part) => part.slice(0, part.indexOf(' '))).sort(), [...libraries].sort());
  for (const part of parts) strictEqual(/permission is hereby granted/i.test(part), true, part.slice(0, 80));
});

test('the page makes nothing of text but text', () => {
  const bad = /innerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function|document\.write|srcdoc|javascript:/gi;
  const files = sources('console');
  strictEqual(files.length > 20, true);
  deepStrictEqual(
    files.flatMap(({ path, text }) => (text.match(bad) ?? []).map((found) => `${path}: ${found}`)),
    [],
  );
});
