/** One version for the sidecar and all clients: who asks which client fits which sidecar is told one number. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { read, trackedPaths } from './repository.js';

const version = manifest('package.json').version;

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** Our own files, written as npm wants them. */
function manifest(path: string): Manifest {
  return JSON.parse(read(path).text);
}

/** Each place that says a version, with what stands before it and after it. */
const PLACES: readonly (readonly [string, RegExp])[] = [
  ['clients/typescript/package.json', /^ {2}"version": "(.+)",$/m],
  ['clients/typescript/src/words/version.ts', /'(\d[^']*)'/],
  ['clients/python/pyproject.toml', /^\[project\]\n(?:(?!\[).*\n)*?version = "(.+)"$/m],
  ['clients/go/version.go', /^const Version = "(.+)"$/m],
  ...trackedPaths()
    .filter((path) => /^clients\/java\/(.+\/)?pom\.xml$/.test(path))
    .map((path) => [path, /<artifactId>keyturn[\w-]*<\/artifactId>\s*<version>(.+)<\/version>/] as const),
];

for (const [path, pattern] of PLACES) {
  test(`${path} has the version of the sidecar`, () => {
    const [, told] = pattern.exec(read(path).text) ?? [];
    strictEqual(told, version);
  });
}

test('the sidecar depends on the client of its version', () => {
  strictEqual(manifest('package.json').dependencies['@keyturn/client'], version);
});

test('the client of every language is looked at', () => {
  const clients = new Set(PLACES.map(([path]) => path.split('/')[1]));
  deepStrictEqual([...clients].sort(), ['go', 'java', 'python', 'typescript']);
});

test('the version has a place in the change log', () => {
  match(version, /^\d+\.\d+\.\d+$/);
  strictEqual(read('CHANGELOG.md').text.includes(`\n## [${version}]`), true);
});
