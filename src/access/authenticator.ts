/** From what a caller shows to who it is. One proof decides: one that does not hold is not passed over for another. */
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Refusal } from '../coordinator.js';
import { Allowance } from './allowance.js';
import { Grants } from './grants.js';
import type { JwtVerifier } from './jwt.js';
import { matches } from './pattern.js';
import type { Principal, Proof, Shown } from './principal.js';
import type { AccessSettings, CertificateRule } from './settings.js';
import { hashOf, type Tokens } from './tokens.js';

/** A signature takes longer to verify than most calls to answer. */
const VERIFIED = 10_000;
/** Of a token as it is sent; a longer one is none of ours, and costs nothing. */
const LONGEST_TOKEN = 8_192;
const BEARER = /^Bearer +(\S+)$/i;

export type Identified =
  | { readonly ok: true; readonly value: Principal }
  | { readonly ok: false; readonly refusal: Refusal };

/** What is read from files, and read again when they change. */
export interface Secrets {
  readonly tokens: Tokens;
  /** Unset: signed tokens are not accepted. */
  readonly jwt: JwtVerifier | undefined;
}

export class Authenticator {
  readonly #named = new Map<string, Pick<Principal, 'grants' | 'allowance'>>();
  readonly #verified = new LRUCache<string, Principal>({ max: VERIFIED });
  /** Of all whom the rights do not name. */
  readonly #others: Pick<Principal, 'grants' | 'allowance'>;

  constructor(
    private readonly settings: AccessSettings,
    private secrets: Secrets,
    /** ms since the Unix epoch */
    private readonly clock: () => number = Date.now,
    /** Monotonic, ms. */
    now: () => number = () => performance.now(),
  ) {
    const { perClient, rights } = settings;
    const allowance = (whose: string) => perClient && new Allowance(perClient, whose, now);
    for (const [name, its] of rights) this.#named.set(name, { grants: new Grants(its), allowance: allowance(name) });
    this.#others = { grants: new Grants([]), allowance: allowance('all whom auth.rights does not name') };
  }

  /** From now on these count. What was verified with keys that are gone is forgotten. */
  use(secrets: Secrets): void {
    this.secrets = secrets;
    this.#verified.clear();
  }

  identify(shown: Shown): Identified | Promise<Identified> {
    const [value, ...more] = shown.authorization;
    if (more.length > 0) return noCredentials('authorization came more than once');
    if (value !== undefined) return this.#byToken(value, shown);
    for (const rule of this.settings.certificates) {
      const found = shown.sans.find((name) => fits(rule, name));
      if (found !== undefined) return this.#known(rule.is, { by: 'certificate', san: found });
    }
    const { unix } = this.settings;
    if (shown.isUnix && unix !== undefined) return this.#known(unix, { by: 'unix' });
    return noCredentials(this.#missing(shown));
  }

  /** What was opened with this proof may go on. */
  holds({ proof, name }: Principal): boolean {
    const now = this.clock();
    switch (proof.by) {
      case 'token': {
        const token = this.secrets.tokens.find(proof.sha256);
        return token?.name === name && (token.until ?? Number.POSITIVE_INFINITY) > now;
      }
      case 'jwt':
        // A key that was taken out of the set because it was stolen may have signed until any year.
        return proof.until > now && this.secrets.jwt?.has(proof.key) === true;
      case 'certificate':
      case 'unix':
        return true;
    }
  }

  #byToken(value: string, { isPrivate }: Shown): Identified | Promise<Identified> {
    // Said before it is looked at: who listens along has it already.
    if (!isPrivate)
      return noCredentials(
        'a token travels over TLS, loopback or a Unix socket only; this one was readable for others, replace it',
      );
    const token = BEARER.exec(value)?.[1];
    if (token === undefined) return noCredentials('authorization must be "Bearer TOKEN"');
    if (token.length > LONGEST_TOKEN) return noCredentials(`the token is longer than ${LONGEST_TOKEN} characters`);
    const sha256 = hashOf(token);
    const known = this.secrets.tokens.find(sha256);
    if (known !== undefined) {
      if ((known.until ?? Number.POSITIVE_INFINITY) <= this.clock())
        return noCredentials(`the time of this token of ${known.name} is over`);
      return this.#known(known.name, { by: 'token', sha256 });
    }
    if (this.secrets.jwt === undefined || token.split('.').length !== 3)
      return noCredentials('this token is not known here, or not any more');
    const verified = this.#verified.get(sha256);
    if (verified !== undefined && this.holds(verified)) return { ok: true, value: verified };
    return this.#byJwt(this.secrets.jwt, token, sha256);
  }

  async #byJwt(verifier: JwtVerifier, token: string, sha256: string): Promise<Identified> {
    const verified = await verifier.verify(token, this.clock());
    if (!verified.ok) return noCredentials(`the signed token does not hold: ${verified.why}`);
    const { name, until, key } = verified;
    const known = this.#known(name, { by: 'jwt', until, key });
    // The keys may have been replaced meanwhile.
    if (verifier === this.secrets.jwt && known.ok) this.#verified.set(sha256, known.value);
    return known;
  }

  #known(name: string, proof: Proof): Identified {
    return { ok: true, value: { name, proof, ...(this.#named.get(name) ?? this.#others) } };
  }

  #missing({ isUnix }: Shown): string {
    const { certificates, jwt, tokens, unix } = this.settings;
    const ways = [
      ...(tokens === undefined && jwt === undefined
        ? []
        : ['a token (authorization: Bearer TOKEN; --token-file, KEYTURN_TOKEN_FILE)']),
      ...(certificates.length === 0 ? [] : ['a client certificate with one of the names of auth.certificates']),
      ...(unix === undefined || isUnix ? [] : ['a connection by the Unix socket']),
    ];
    return `nothing says who is asking; this sidecar wants ${ways.join(', or ') || 'credentials, and its settings name no way to show any'}`;
  }
}

/** @param name as `URI:spiffe://prod/orders` */
function fits({ san, sanUri, sanDns }: CertificateRule, name: string): boolean {
  const at = name.indexOf(':');
  const [kind, value] = [name.slice(0, at), name.slice(at + 1)];
  const pattern = san ?? (kind === 'URI' ? sanUri : kind === 'DNS' ? sanDns : undefined);
  return pattern !== undefined && matches(pattern, value);
}

function noCredentials(description: string): Identified {
  return { ok: false, refusal: { kind: 'no_credentials', description } };
}

/** Of an address of IP; of another form it is not known. */
export function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  return isIP(plain) === 4 ? plain.startsWith('127.') : plain === '::1';
}
