import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { Authenticator, type Identified, isLoopback } from '../../src/access/authenticator.js';
import { JwtVerifier, parseKeys } from '../../src/access/jwt.js';
import type { Shown } from '../../src/access/principal.js';
import type { AccessSettings, JwtSettings } from '../../src/access/settings.js';
import { hashOf, newToken, Tokens } from '../../src/access/tokens.js';

const NOW = Date.UTC(2026, 10, 23);
const NOTHING: Shown = { authorization: [], sans: [], isUnix: false, isPrivate: true };
const JWT: JwtSettings = { issuer: 'https://issuer', audience: 'keyturn', keys: 'unused', name: 'sub' };
const ANY = { san: undefined, sanUri: undefined, sanDns: undefined };
const SETTINGS: AccessSettings = {
  tokens: 'unused',
  certificates: [
    { ...ANY, sanUri: 'spiffe://prod/orders-*', is: 'orders-worker' },
    { ...ANY, sanDns: 'mail-*', is: 'by-dns' },
    { ...ANY, san: 'orders.internal', is: 'by-name' },
  ],
  jwt: JWT,
  unix: 'local',
  rights: new Map([['ada', [{ queues: ['*'], groups: [], may: ['view'] }]]]),
  perClient: undefined,
};

const ADA = newToken();
const OVER = newToken();

function tokens(): Tokens {
  return new Tokens([
    { name: 'ada', sha256: hashOf(ADA), until: undefined },
    { name: 'bob', sha256: hashOf(OVER), until: NOW },
  ]);
}

function bearing(token: string, shown: Partial<Shown> = {}): Shown {
  return { ...NOTHING, ...shown, authorization: [`Bearer ${token}`] };
}

function outcome(found: Identified): string {
  if (found.ok) return `${found.value.name} by ${found.value.proof.by}`;
  return found.refusal.kind === 'no_credentials' ? found.refusal.description : found.refusal.kind;
}

describe('who a caller is', () => {
  const plain = new Authenticator(SETTINGS, { tokens: tokens(), jwt: undefined }, () => NOW);
  const cases: readonly (readonly [what: string, shown: Shown, expected: string | RegExp])[] = [
    ['a token that is known', bearing(ADA), 'ada by token'],
    ['the word in another case', { ...NOTHING, authorization: [`bearer ${ADA}`] }, 'ada by token'],
    ['S616: a name of the kind of the rule', { ...NOTHING, sans: ['DNS:mail-1'] }, 'by-dns by certificate'],
    [
      'S616: a name of another kind',
      { ...NOTHING, sans: ['email:mail-1', 'URI:mail-1'] },
      /nothing says who is asking/,
    ],
    [
      'S616: a DNS name that looks like a URI',
      { ...NOTHING, sans: ['DNS:spiffe://prod/orders-1'] },
      /nothing says who/,
    ],
    ['a token whose time is over', bearing(OVER), 'the time of this token of bob is over'],
    ['a token that nobody knows', bearing(newToken()), /not known here/],
    ['the hash instead of the token', bearing(hashOf(ADA)), /not known here/],
    ['an empty token', { ...NOTHING, authorization: ['Bearer '] }, /must be "Bearer TOKEN"/],
    ['another scheme', { ...NOTHING, authorization: [`Basic ${ADA}`] }, /must be "Bearer TOKEN"/],
    ['two tokens', { ...NOTHING, authorization: [`Bearer ${ADA}`, `Bearer ${ADA}`] }, /more than once/],
    ['a huge token', bearing('x'.repeat(10_000)), /longer than 8192/],
    [
      'a token that others can read on the way',
      bearing(ADA, { isPrivate: false }),
      /TLS, loopback or a Unix socket only/,
    ],
    [
      'a wrong token beside a good certificate',
      bearing('nonsense', { sans: ['URI:spiffe://prod/orders-1'] }),
      /not known here/,
    ],
    ['a certificate', { ...NOTHING, sans: ['DNS:x', 'URI:spiffe://prod/orders-1'] }, 'orders-worker by certificate'],
    ['a name of DNS', { ...NOTHING, sans: ['DNS:orders.internal'] }, 'by-name by certificate'],
    [
      'a certificate of another name',
      { ...NOTHING, sans: ['URI:spiffe://test/orders-1'] },
      /nothing says who is asking/,
    ],
    ['the socket', { ...NOTHING, isUnix: true }, 'local by unix'],
    ['nothing', NOTHING, /wants a token .*, or a client certificate .*, or a connection by the Unix socket/],
    ['three words with dots, without signed tokens', bearing('a.b.c'), /not known here/],
  ];
  for (const [what, shown, expected] of cases) {
    test(`${what}: ${expected}`, async () => {
      const found = outcome(await plain.identify(shown));
      if (typeof expected === 'string') assert.equal(found, expected);
      else assert.match(found, expected);
    });
  }

  test('a refusal never repeats the token', async () => {
    for (const shown of [bearing('kt_secret'), bearing('kt_secret', { isPrivate: false }), bearing('a.secret.c')])
      assert.doesNotMatch(outcome(await plain.identify(shown)), /secret/);
  });

  test('who is not named by the rights is somebody, and may do nothing', async () => {
    const found = await plain.identify({ ...NOTHING, isUnix: true });
    assert.ok(found.ok);
    assert.equal(found.value.grants.mayQueue('view', 'q'), false);
  });

  test('a token that is taken away, given to another, or whose time comes, holds no more', async () => {
    let now = NOW - 1;
    const authenticator = new Authenticator(SETTINGS, { tokens: tokens(), jwt: undefined }, () => now);
    const [ada, bob] = await Promise.all([authenticator.identify(bearing(ADA)), authenticator.identify(bearing(OVER))]);
    assert.ok(ada.ok && bob.ok);
    assert.deepEqual([authenticator.holds(ada.value), authenticator.holds(bob.value)], [true, true]);
    now = NOW;
    assert.deepEqual([authenticator.holds(ada.value), authenticator.holds(bob.value)], [true, false]);
    authenticator.use({ tokens: new Tokens([{ name: 'eve', sha256: hashOf(ADA), until: undefined }]), jwt: undefined });
    assert.equal(authenticator.holds(ada.value), false);
    authenticator.use({ tokens: new Tokens([]), jwt: undefined });
    assert.equal(authenticator.holds(ada.value), false);
    assert.match(outcome(await authenticator.identify(bearing(ADA))), /not known here/);
  });
});

describe('signed tokens', () => {
  let pair: Awaited<ReturnType<typeof generateKeyPair>>;
  let other: Awaited<ReturnType<typeof generateKeyPair>>;
  let verifier: JwtVerifier;

  before(async () => {
    pair = await generateKeyPair('ES256', { extractable: true });
    other = await generateKeyPair('ES256', { extractable: true });
    const key = { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256' };
    verifier = new JwtVerifier(JWT, parseKeys(JSON.stringify({ keys: [key] })));
  });

  const CLAIMS = { sub: 'ada', iss: 'https://issuer', aud: 'keyturn', exp: NOW / 1_000 + 60 };

  function sign(claims: JWTPayload, key = pair.privateKey, header: Record<string, unknown> = {}): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header }).sign(key);
  }

  function without(claim: keyof typeof CLAIMS): JWTPayload {
    return Object.fromEntries(Object.entries(CLAIMS).filter(([name]) => name !== claim));
  }

  async function ask(token: string, at = NOW): Promise<string> {
    const authenticator = new Authenticator(SETTINGS, { tokens: tokens(), jwt: verifier }, () => at);
    return outcome(await authenticator.identify(bearing(token)));
  }

  test('one of the issuer, for us, in its time, says who it is', async () => {
    assert.equal(await ask(await sign(CLAIMS)), 'ada by jwt');
  });

  const wrong: readonly (readonly [what: string, token: () => Promise<string>, expected: RegExp])[] = [
    ['of another audience', () => sign({ ...CLAIMS, aud: 'somebody-else' }), /"aud"/],
    ['of another issuer', () => sign({ ...CLAIMS, iss: 'https://evil' }), /"iss"/],
    ['without an audience', () => sign(without('aud')), /"aud"/],
    ['without an end', () => sign(without('exp')), /"exp"/],
    ['whose time is over', () => sign({ ...CLAIMS, exp: NOW / 1_000 - 6 }), /"exp"/],
    ['that is not valid yet', () => sign({ ...CLAIMS, nbf: NOW / 1_000 + 60 }), /"nbf"/],
    ['without a name', () => sign(without('sub')), /"sub"/],
    ['with a name that others could not read', () => sign({ ...CLAIMS, sub: 'ada\u001fx' }), /claim "sub" is no name/],
    ['with a name that is too long', () => sign({ ...CLAIMS, sub: 'x'.repeat(256) }), /claim "sub" is no name/],
    ['signed with another key', () => sign(CLAIMS, other.privateKey), /signature verification failed/],
    ['of a key that is not in the set', () => sign(CLAIMS, pair.privateKey, { kid: 'two' }), /no applicable key/],
    [
      'that nobody signed ("none")',
      async () => `${encoded({ alg: 'none' })}.${encoded(CLAIMS)}.`,
      /not known here|does not hold/,
    ],
    [
      'signed with the public key as a secret',
      async () =>
        new SignJWT(CLAIMS)
          .setProtectedHeader({ alg: 'HS256', kid: 'one' })
          .sign(new TextEncoder().encode(JSON.stringify(await exportJWK(pair.publicKey)))),
      /alg/,
    ],
    ['whose claims were changed', async () => changed(await sign(CLAIMS)), /signature verification failed/],
    ['that is nonsense', async () => 'a.b.c', /does not hold/],
  ];
  for (const [what, token, expected] of wrong) {
    test(`one ${what} is refused`, async () => assert.match(await ask(await token()), expected));
  }

  test('S617: one holds until 5 s after its end, also where it was verified before', async () => {
    let now = NOW;
    const authenticator = new Authenticator(SETTINGS, { tokens: tokens(), jwt: verifier }, () => now);
    const token = await sign(CLAIMS);
    const first = await authenticator.identify(bearing(token));
    assert.ok(first.ok);
    assert.ok(!(authenticator.identify(bearing(token)) instanceof Promise), 'it is not verified again');
    now = NOW + 64_999;
    assert.equal(authenticator.holds(first.value), true);
    now = NOW + 65_000;
    assert.equal(authenticator.holds(first.value), false);
    assert.match(outcome(await authenticator.identify(bearing(token))), /"exp"/);
  });

  test('with other keys what was verified before is verified anew', async () => {
    const authenticator = new Authenticator(SETTINGS, { tokens: tokens(), jwt: verifier }, () => NOW);
    const token = await sign(CLAIMS);
    assert.equal(outcome(await authenticator.identify(bearing(token))), 'ada by jwt');
    const key = { ...(await exportJWK(other.publicKey)), kid: 'one', alg: 'ES256' };
    authenticator.use({ tokens: tokens(), jwt: new JwtVerifier(JWT, parseKeys(JSON.stringify({ keys: [key] }))) });
    assert.match(outcome(await authenticator.identify(bearing(token))), /signature verification failed/);
  });

  test('S426: one whose key was taken out of the set holds no more, whatever its end; of other keys the others hold on', async () => {
    const authenticator = new Authenticator(SETTINGS, { tokens: tokens(), jwt: verifier }, () => NOW);
    const found = await authenticator.identify(bearing(await sign({ ...CLAIMS, exp: NOW / 1_000 + 1e9 })));
    assert.ok(found.ok);
    const own = await exportJWK(pair.publicKey);
    const next = { ...(await exportJWK(other.publicKey)), kid: 'two', alg: 'ES256' };
    const using = (...keys: object[]) => {
      authenticator.use({ tokens: tokens(), jwt: new JwtVerifier(JWT, parseKeys(JSON.stringify({ keys }))) });
      return authenticator.holds(found.value);
    };
    const held = [
      using({ ...own, kid: 'one', alg: 'ES256' }, next),
      using(next, { ...own, kid: 'another name', use: 'sig' }),
      using({ kty: 'AKP', alg: 'ML-DSA-44', pub: 'nothing that Node could read' }, own),
      using(next),
    ];
    assert.deepEqual(held, [true, true, true, false]);
  });

  test('a set of keys with a secret, a private key, or no key is refused', async () => {
    const open = JSON.stringify({ keys: [await exportJWK(pair.privateKey)] });
    const cases: readonly (readonly [string, RegExp])[] = [
      ['{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', /key 1 in it is a secret/],
      [open, /key 1 in it is a private key/],
      ['{"keys":[]}', /no key in it/],
      ['[]', /no JWK set/],
      ['{', /JSON/],
    ];
    for (const [text, expected] of cases) assert.throws(() => parseKeys(text), expected);
  });
});

test('which addresses are of this machine alone', () => {
  const all = ['127.0.0.1', '127.255.0.3', '::1', '::ffff:127.0.0.1', '10.0.0.1', '128.0.0.1', '::2', 'localhost', ''];
  assert.deepEqual(all.map(isLoopback), [true, true, true, true, false, false, false, false, false]);
});

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function changed(token: string): string {
  const [head, claims = '', signature] = token.split('.');
  const said: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString());
  return [head, encoded({ ...Object(said), sub: 'root' }), signature].join('.');
}
