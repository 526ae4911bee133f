/** The words of access control, as the settings say them. */

/**
 * - `produce`: Submit, follow-ups into the queue, Await;
 * - `consume`: EnQueue, DeQueue, Acquire, Ack, Nack, Renew; of a group: to stand, to lead;
 * - `view`: lists, numbers, explanations, events;
 * - `payload`: what items carry and results say, beside `view`;
 * - `operate`: everything that changes what others have.
 */
export const VERBS = ['produce', 'consume', 'view', 'payload', 'operate'] as const;
export type Verb = (typeof VERBS)[number];

/** Everything in `may`, on every queue and group that one of the patterns matches. */
export interface Right {
  readonly queues: readonly string[];
  readonly groups: readonly string[];
  readonly may: readonly Verb[];
}

/** Who shows a certificate with this subject alternative name, is this. */
export interface CertificateRule {
  /** One of the three is set: a pattern for names of every kind, for `URI:` or for `DNS:` names alone, without that prefix. */
  readonly san: string | undefined;
  readonly sanUri: string | undefined;
  readonly sanDns: string | undefined;
  readonly is: string;
}

export interface JwtSettings {
  readonly issuer: string;
  readonly audience: string;
  /** Path of a JWK set (RFC 7517, section 5). */
  readonly keys: string;
  /** The claim that is the name. */
  readonly name: string;
}

/** How much one principal may ask of a sidecar. Unset: without a bound. */
export interface ClientBounds {
  readonly callsPerSecond: number | undefined;
  /** Calls that wait at once. */
  readonly waiting: number | undefined;
  /** WatchEvents calls at once. */
  readonly watches: number | undefined;
  /** Live turns at once. */
  readonly turns: number | undefined;
  /** Of items, turns and waiting calls. */
  readonly memoryBytes: number | undefined;
}

export interface AccessSettings {
  /** Path of the file of tokens. */
  readonly tokens: string | undefined;
  readonly certificates: readonly CertificateRule[];
  readonly jwt: JwtSettings | undefined;
  /** Who comes by a Unix socket, is this. */
  readonly unix: string | undefined;
  /** By the names of principals. */
  readonly rights: ReadonlyMap<string, readonly Right[]>;
  readonly perClient: ClientBounds | undefined;
}

/** A token as it is kept: nobody can make the token of it. */
export interface KnownToken {
  readonly name: string;
  /** 64 hexadecimal digits, lower case. */
  readonly sha256: string;
  /** ms since the Unix epoch; unset: until it is taken out of the file. */
  readonly until: number | undefined;
}
