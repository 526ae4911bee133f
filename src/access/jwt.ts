/** Signed tokens that somebody else gives out, as Kubernetes to its pods. */
import { createPublicKey, KeyObject } from 'node:crypto';
import type { JSONWebKeySet, JWK, JWTPayload } from 'jose';
import { isName } from './principal.js';
import type { JwtSettings } from './settings.js';

/** Signatures that who verifies them cannot make: `none` and secrets that both sides have are none. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Between the clocks of who gives them out and of this machine, s. */
const CLOCK_TOLERANCE_S = 5;

/** A JWK set whose keys can verify. @throws Error saying what is wrong with it */
export function parseKeys(text: string): JSONWebKeySet {
  const set: unknown = JSON.parse(text);
  if (!isKeySet(set)) throw new Error('it is no JWK set: {"keys": [...]}, each key with its "kty"');
  const secret = set.keys.findIndex(({ kty }) => kty === 'oct');
  if (secret >= 0) throw new Error(`key ${secret + 1} in it is a secret ("kty": "oct"): who verifies could sign, too`);
  const open = set.keys.findIndex((key) => 'd' in key);
  if (open >= 0) throw new Error(`key ${open + 1} in it is a private key: only the public ones belong here`);
  if (set.keys.length === 0) throw new Error('there is no key in it');
  return set;
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  if (typeof value !== 'object' || value === null || !('keys' in value) || !Array.isArray(value.keys)) return false;
  return value.keys.every((key: unknown) => typeof key === 'object' && key !== null && 'kty' in key);
}

type Verified =
  | { readonly ok: true; readonly name: string; readonly until: number; readonly key: string }
  | { readonly ok: false; readonly why: string };

export class JwtVerifier {
  /** Only who is to verify loads what verifies. */
  readonly #ready: ReturnType<typeof prepare>;
  readonly #keys: ReadonlySet<string>;

  constructor(
    private readonly settings: JwtSettings,
    keys: JSONWebKeySet,
  ) {
    this.#ready = prepare(keys);
    this.#keys = new Set(keys.keys.map(fingerprintIn).filter((key) => key !== undefined));
  }

  /** @param key the fingerprint of one that verified a token, in this set or in the one before it */
  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** @param now ms since the Unix epoch */
  async verify(token: string, now: number): Promise<Verified> {
    const { issuer, audience, name } = this.settings;
    const { jose, keySet } = await this.#ready;
    try {
      const { payload, key } = await jose.jwtVerify(token, keySet, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        currentDate: new Date(now),
        requiredClaims: ['exp', name],
      });
      return verified(payload, name, key instanceof Uint8Array ? '' : fingerprintOf(KeyObject.from(key)));
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) return { ok: false, why: error.message };
      throw error;
    }
  }
}

async function prepare(keys: JSONWebKeySet) {
  const jose = await import('jose');
  return { jose, keySet: jose.createLocalJWKSet(keys) };
}

/** Unset: Node cannot read it, so it verifies nothing. */
function fingerprintIn(key: JWK): string | undefined {
  try {
    return fingerprintOf(createPublicKey({ key, format: 'jwk' }));
  } catch {
    return undefined;
  }
}

function fingerprintOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64');
}

function verified(payload: JWTPayload, claim: string, key: string): Verified {
  const name = payload[claim];
  if (typeof name !== 'string' || !isName(name))
    return { ok: false, why: `its claim "${claim}" is no name of 1 to 255 bytes without control characters` };
  return { ok: true, name, until: ((payload.exp ?? 0) + CLOCK_TOLERANCE_S) * 1_000, key };
}
