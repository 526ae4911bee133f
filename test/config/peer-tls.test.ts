/** A certificate between sidecars is shown both ways: one that is for one use alone is refused before the start. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Authority, type Pair, rsaPair, type Use } from '../support/certificates.js';
import { problemsIn } from './yaml-file.js';

async function problemsWith(t: TestContext, pair: Pair, ca: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-peer-tls-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const tls = { cert: file('tls.crt', pair.cert), key: file('tls.key', pair.key), ca: file('ca.crt', ca) };
  return problemsIn(t, `store: redis://r\ncluster: { tls: ${JSON.stringify(tls)} }\n`);
}

const ONE_SIDED: readonly (readonly [Use, RegExp])[] = [
  [
    'server',
    /^cluster\.tls\.cert .*is ".*tls\.crt", must be .* for both uses, server and client; .* lacks clientAuth: /,
  ],
  ['client', /^cluster\.tls\.cert .* lacks serverAuth: sidecars show it to each other as server and as client$/],
];

for (const [use, says] of ONE_SIDED) {
  test(`S415: of sidecars, for the use as ${use} alone, is refused`, async (t) => {
    const authority = await Authority.make('Peers');
    const problems = await problemsWith(t, await authority.issue({ name: 'peer', use }), authority.cert);
    equal(problems.length, 1);
    match(problems.join(), says);
  });
}

test('S415: one of another authority than the sidecars have is refused', async (t) => {
  const [authority, other] = await Promise.all([Authority.make('Peers'), Authority.make('Peers')]);
  const pair = await authority.issue({ name: 'peer', use: 'peer' });
  const problems = await problemsWith(t, pair, other.cert);
  equal(problems.length, 1);
  match(
    problems.join(),
    /^cluster\.tls\.ca .*is ".*ca\.crt", must be a file with the authority of all sidecars .* none in it has issued/,
  );
  deepEqual(
    await problemsWith(t, pair, other.cert + authority.cert),
    [],
    'while the authority is replaced there are two',
  );
  const withAuthority = { ...pair, cert: pair.cert + authority.cert };
  deepEqual(await problemsWith(t, withAuthority, authority.cert), []);
  equal((await problemsWith(t, withAuthority, other.cert)).length, 1);
});

test('S415: one for both uses is taken, and one that bounds its use in no way', async (t) => {
  const authority = await Authority.make('Peers');
  deepEqual(await problemsWith(t, await authority.issue({ name: 'peer', use: 'peer' }), authority.cert), []);
  const unbounded = await rsaPair();
  deepEqual(await problemsWith(t, unbounded, unbounded.cert), []);
});
