/** S589: the files of access control stand for themselves. */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { AccessSettings } from '../../../src/access/settings.js';
import { AccessControl } from '../../../src/cli/serve/access.js';
import { NO_ACCESS } from '../../../src/config/access-settings.js';
import { temporaryFolder } from '../keyturn-process.js';

const KEYS = JSON.stringify({
  keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })],
});
const TIMES = { quiet: 1, poll: 20 };

const lineOf = (name: string) => `${name}: { sha256: ${createHash('sha256').update(name).digest('hex')} }\n`;

async function stage(t: TestContext) {
  const folder = await temporaryFolder(t);
  const file = (name: string) => join(folder, name);
  const write = (name: string, text: string) => {
    writeFileSync(file(`${name}.new`), text);
    renameSync(file(`${name}.new`), file(name));
  };
  write('tokens', lineOf('ada') + lineOf('bob'));
  write('keys', KEYS);
  const jwt = { issuer: 'https://i', audience: 'a', keys: file('keys'), name: 'sub' };
  const settings: AccessSettings = { ...NO_ACCESS, tokens: file('tokens'), jwt };
  const errors: string[] = [];
  const log = { info() {}, warn() {}, error: (fields: object) => void errors.push(JSON.stringify(fields)) };
  const control = AccessControl.open(settings, log, TIMES) ?? assert.fail();
  let looks = 0;
  control.watch(() => {
    looks += 1;
  });
  t.after(() => control.close());
  const isKnown = async (token: string) => {
    const shown = { authorization: [`Bearer ${token}`], sans: [], isUnix: false, isPrivate: true };
    return (await control.authenticator.identify(shown)).ok;
  };
  /** After two more looks: one may have begun before. */
  const looked = async () => {
    for (const until = looks + 2; looks < until; ) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return { write, errors, isKnown, looked };
}

test('a token that is taken out counts no more, though the other file is broken, and the log says so', async (t) => {
  const { write, errors, isKnown, looked } = await stage(t);
  assert.deepEqual([await isKnown('ada'), await isKnown('bob')], [true, true]);
  write('keys', 'broken');
  write('tokens', lineOf('ada'));
  await looked();
  assert.deepEqual([await isKnown('ada'), await isKnown('bob')], [true, false]);
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? '', /auth\.jwt\.keys .*must be a file with a JWK set/);
});

test('a file that cannot be used keeps what it said alive, with one line in the log for each write', async (t) => {
  const { write, errors, isKnown, looked } = await stage(t);
  for (const times of [1, 2]) {
    write('tokens', 'ada: 5\n');
    await looked();
    assert.equal(errors.length, times);
    assert.match(errors.at(-1) ?? '', /auth\.tokens\.ada/);
  }
  assert.deepEqual([await isKnown('ada'), await isKnown('bob')], [true, true]);
  await looked();
  assert.equal(errors.length, 2, 'not at each look');
});
