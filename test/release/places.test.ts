/** One version for the sidecar and all clients: who asks which client fits which sidecar is told one number. */
import { deepStrictEqual, match, ok, strictEqual, throws } from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { PLACES, setVersion, versionsAt, WrongVersion } from '../../deploy/release/places.js';
import { ROOT, read, tracked } from '../project/repository.js';

const version: string = JSON.parse(read('package.json').text).version;

for (const place of PLACES) {
  test(`${place.path} has the version of the sidecar`, () => {
    const told = versionsAt(read(place.path).text, place);
    ok(told.length > 0, 'no version is found there');
    deepStrictEqual(
      told,
      told.map(() => version),
    );
  });
}

/** Of another kind: what is generated from a place, and what only looks like the version. */
const NO_PLACES: readonly RegExp[] = [
  /^package-lock\.json$/,
  /^CHANGELOG\.md$/,
  /^test\//,
  /^docs\/pictures\//,
  /\.lock$/,
  /go\.sum$/,
];

test('no other file says it', () => {
  const places = new Set(PLACES.map(({ path }) => path));
  const others = tracked().filter(
    ({ path, text }) => text.includes(version) && !places.has(path) && NO_PLACES.every((one) => !one.test(path)),
  );
  deepStrictEqual(
    others.map(({ path }) => path),
    [],
  );
});

test('the client of every language is looked at', () => {
  const clients = new Set(PLACES.flatMap(({ path }) => /^clients\/(\w+)\//.exec(path)?.[1] ?? []));
  deepStrictEqual([...clients].sort(), ['go', 'java', 'python', 'typescript']);
});

test('the version has a place in the change log', () => {
  match(version, /^\d+\.\d+\.\d+$/);
  ok(read('CHANGELOG.md').text.includes(`\n## [${version}]`));
});

/** @returns a copy of all that says the version */
function copy(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-places-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of [...PLACES.map((place) => place.path), 'package-lock.json']) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path));
  }
  return folder;
}

test('another version is written into all of them, and nothing else is changed', (t) => {
  const folder = copy(t);
  const changed = setVersion(folder, '12.34.56-rc.7');
  deepStrictEqual([...changed].sort(), [...PLACES.map(({ path }) => path), 'package-lock.json'].sort());
  for (const path of changed) {
    const after = readFileSync(join(folder, path), 'utf8');
    const back = path === 'package-lock.json' ? undefined : after.replaceAll('12.34.56-rc.7', version);
    if (back !== undefined) strictEqual(back, read(path).text, path);
  }
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const own = [lock.version, lock.packages[''].version, lock.packages['clients/typescript'].version];
  deepStrictEqual(
    [...own, lock.packages[''].dependencies['@keyturn/client']],
    own.concat(own[0]).map(() => '12.34.56-rc.7'),
  );
  setVersion(folder, version);
  strictEqual(readFileSync(join(folder, 'package-lock.json'), 'utf8'), read('package-lock.json').text);
});

for (const wrong of ['', '1', '1.2', 'v1.2.3', '01.2.3', '1.2.3-beta', '1.2.3-rc.0', '1.2.3+4', '1.2.3\n']) {
  test(`${JSON.stringify(wrong)} is no version, and changes nothing`, (t) => {
    const folder = copy(t);
    throws(() => setVersion(folder, wrong), WrongVersion);
    strictEqual(readFileSync(join(folder, 'package.json'), 'utf8'), read('package.json').text);
  });
}
