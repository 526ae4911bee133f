import type { Allowance } from './allowance.js';
import type { Grants } from './grants.js';

/** Of a name, bytes of UTF-8: with what stands behind it before an id (see own-ids.ts) 256, which a link between sidecars takes. */
const LONGEST_NAME = 255;

/** By what it is known who somebody is: what can be taken away, or ends, ends what was opened with it. */
export type Proof =
  | { readonly by: 'token'; readonly sha256: string }
  /** `until`: ms since the Unix epoch. `key`: the fingerprint of the one that it was verified with. */
  | { readonly by: 'jwt'; readonly until: number; readonly key: string }
  | { readonly by: 'certificate'; readonly san: string }
  | { readonly by: 'unix' };

/** One who may ask, or several processes of that name. */
export interface Principal {
  readonly name: string;
  readonly grants: Grants;
  /** Unset: it may ask as much as it can. */
  readonly allowance: Allowance | undefined;
  readonly proof: Proof;
}

/** What a caller shows. */
export interface Shown {
  /** The values of `authorization`, as they came. */
  readonly authorization: readonly string[];
  /** Subject alternative names of a certificate that TLS has verified, as `URI:…`, `DNS:…`. */
  readonly sans: readonly string[];
  readonly isUnix: boolean;
  /** Nobody on the way can read along: TLS, loopback, a socket. */
  readonly isPrivate: boolean;
}

/** The rule for names of principals; they become part of what is kept, and are shown to people. */
export function isName(name: string): boolean {
  return name.length > 0 && Buffer.byteLength(name) <= LONGEST_NAME && !/\p{C}/u.test(name);
}
