/** Who shows a certificate, over real TLS: only names that it has are names, and each as a whole. */
import assert from 'node:assert/strict';
import { before, describe, type TestContext, test } from 'node:test';
import { connect, type KeyturnError, type TlsOptions } from '@keyturn/client';
import { Authenticator } from '../../../src/access/authenticator.js';
import type { Right } from '../../../src/access/settings.js';
import { hashOf, Tokens } from '../../../src/access/tokens.js';
import { namesIn } from '../../../src/grpc/call/names-in.js';
import { type AlternativeName, Authority, type LeafOptions } from '../../support/certificates.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { type Sidecar, startSidecar } from '../../support/sidecar.js';

const may: Right = { queues: ['*'], groups: [], may: ['consume'] };
const ANY = { san: undefined, sanUri: undefined, sanDns: undefined };
const SETTINGS = {
  tokens: 'unused',
  certificates: [
    { ...ANY, sanUri: 'spiffe://prod/ns/*/sa/orders', is: 'orders' },
    { ...ANY, sanDns: 'ops.internal', is: 'ops' },
    { ...ANY, san: 'mail@example.org', is: 'mail' },
  ],
  jwt: undefined,
  unix: undefined,
  rights: new Map(['orders', 'ops', 'mail', 'ada'].map((name) => [name, [may]])),
  perClient: undefined,
};

let ours: Authority;
let strangers: Authority;

before(async () => {
  [ours, strangers] = await Promise.all([Authority.make('ours'), Authority.make('strangers')]);
});

async function sidecar(t: TestContext): Promise<Sidecar> {
  const { cert, key } = await ours.issue({ name: 'server', use: 'server' });
  const server = { cert: Buffer.from(cert), key: Buffer.from(key), clientCa: Buffer.from(ours.cert) };
  const tokens = new Tokens([{ name: 'ada', sha256: hashOf('token-of-ada'), until: undefined }]);
  const authenticator = new Authenticator(SETTINGS, { tokens, jwt: undefined });
  const tls = { server, client: await showing({ name: 'unused', use: 'client' }) };
  return startSidecar(t, localCoordinator(t), { tls, access: { authenticator, refused: () => {} } });
}

async function showing(leaf: LeafOptions, of: Authority = ours): Promise<TlsOptions> {
  const { cert, key } = await of.issue(leaf);
  return { ca: Buffer.from(ours.cert), cert: Buffer.from(cert), key: Buffer.from(key) };
}

/** Who it is taken for: named in the refusal of what nobody here may do; or why it is not let in. */
async function takenFor(t: TestContext, { address }: Sidecar, tls: TlsOptions, token?: string): Promise<string> {
  const client = connect(address, { transport: 'unary', tls, token });
  t.after(() => client.close({ timeout: 0 }));
  return client.admin.pauseQueue('q').then(
    () => assert.fail('nobody here may pause a queue'),
    (error: KeyturnError) =>
      error.reason === 'NOT_ALLOWED'
        ? (/^"(\w+)" may not /.exec(error.message)?.[1] ?? '')
        : error.reason || error.name,
  );
}

const url = (value: string): AlternativeName => ({ type: 'url', value });
const dns = (value: string): AlternativeName => ({ type: 'dns', value });

const CASES: readonly (readonly [what: string, names: readonly AlternativeName[], expected: string])[] = [
  ['a SPIFFE id', [url('spiffe://prod/ns/shop/sa/orders')], 'orders'],
  ['a host name', [dns('ops.internal')], 'ops'],
  ['an address of mail', [{ type: 'email', value: 'mail@example.org' }], 'mail'],
  [
    'several names: the first rule that fits counts',
    [dns('ops.internal'), url('spiffe://prod/ns/a/sa/orders')],
    'orders',
  ],
  ['none', [], 'NO_CREDENTIALS'],
  ['a SPIFFE id of another account', [url('spiffe://prod/ns/shop/sa/orders2')], 'NO_CREDENTIALS'],
  ['a SPIFFE id of another domain', [url('spiffe://test/ns/shop/sa/orders')], 'NO_CREDENTIALS'],
  ['the pattern itself, with another end', [url('spiffe://prod/ns/*/sa/*')], 'NO_CREDENTIALS'],
  ['a wildcard of DNS', [dns('*.internal')], 'NO_CREDENTIALS'],
  ['a name that has another one in it', [dns('a, DNS:ops.internal')], 'NO_CREDENTIALS'],
  ['a name that has one in quotes in it', [dns('a", DNS:ops.internal, DNS:"b')], 'NO_CREDENTIALS'],
  ['a name with another one behind a zero', [url('spiffe://x\u0000, DNS:ops.internal')], 'NO_CREDENTIALS'],
  ['a name that begins as one that is known', [dns('ops.internal.example.org')], 'NO_CREDENTIALS'],
];

describe('over TLS', () => {
  for (const [what, names, expected] of CASES)
    test(`who shows ${what}, is ${expected}`, async (t) => {
      const tls = await showing({ name: 'ops.internal', use: 'client', names });
      assert.equal(await takenFor(t, await sidecar(t), tls), expected);
    });

  test('a token counts before a certificate, and one that does not hold is not passed over', async (t) => {
    const running = await sidecar(t);
    const tls = await showing({ name: 'x', use: 'client', names: [dns('ops.internal')] });
    assert.equal(await takenFor(t, running, tls, 'token-of-ada'), 'ada');
    assert.equal(await takenFor(t, running, tls, 'token-of-nobody'), 'NO_CREDENTIALS');
  });

  test('a certificate of another authority, or one that is over, reaches nothing', async (t) => {
    const running = await sidecar(t);
    const leaf = { name: 'x', use: 'client', names: [dns('ops.internal')] } as const;
    for (const tls of [await showing(leaf, strangers), await showing({ ...leaf, endsIn: -60_000 })])
      assert.equal(await takenFor(t, running, tls), 'TlsError');
  });
});

test('names are taken out of the text as a whole, whatever they are', () => {
  const cases: readonly (readonly [text: string, names: readonly string[]])[] = [
    ['', []],
    ['DNS:a, URI:spiffe://b/c', ['DNS:a', 'URI:spiffe://b/c']],
    ['DNS:"a, DNS:b", email:c', ['DNS:a, DNS:b', 'email:c']],
    ['DNS:"a\\", DNS:\\"b"', ['DNS:a", DNS:"b']],
    ['IP Address:127.0.0.1', ['IP Address:127.0.0.1']],
  ];
  for (const [text, names] of cases) assert.deepEqual(namesIn(text), names);
});
