/** The TLS options of a client: checked, and their files read, before anything connects, and again when they were replaced. */
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { KeyturnError } from '../words/errors.js';
import { wrongSetting } from '../words/option-checks.js';

/** PEM: the path of a file, or its bytes. A file is read by `connect`, and again for every new connection. */
export type PemSource = string | Uint8Array;

export interface TlsOptions {
  /** The authorities that the sidecar's certificate may be of. Unset: those that Node knows. */
  readonly ca?: PemSource | undefined;
  /** The certificate that the client shows, with those between it and its authority. Comes with `key`. */
  readonly cert?: PemSource | undefined;
  /** Its private key, without a passphrase. */
  readonly key?: PemSource | undefined;
  /** The name that the sidecar's certificate must be for. Unset: the host of the address; `localhost` for a Unix socket. */
  readonly serverName?: string | undefined;
}

/** What TLS needs of the options. */
export interface TlsSettings {
  /** For a connection that is about to be made: with what its files say by now. */
  context(): SecureContext;
  readonly serverName: string | undefined;
  readonly showsCertificate: boolean;
}

/** Numbers and names of the place in OpenSSL that stand before its words. */
const OPENSSL_PLACE = /^error:[^:]*:[^:]*:[^:]*:/;
const CERTIFICATES = /-----BEGIN CERTIFICATE-----[\s\S]*?(-----END CERTIFICATE-----|$)/g;
const OLDEST_VERSION = 'TLSv1.2';
const MOST_BYTES = 1_048_576;
const KNOWN = ['ca', 'cert', 'key', 'serverName'];
const FORMS = `true, false, or an object with ${KNOWN.join(', ')}`;
const WANTED = {
  ca: { allowed: 'certificates of authorities in PEM', pattern: /-----BEGIN CERTIFICATE-----/ },
  cert: { allowed: 'a certificate in PEM', pattern: /-----BEGIN CERTIFICATE-----/ },
  key: {
    allowed: 'a private key in PEM, without a passphrase',
    pattern: /-----BEGIN (?!ENCRYPTED)[A-Z ]*PRIVATE KEY-----(?!\s*Proc-Type)/,
  },
} as const;

/**
 * @returns undefined: no TLS
 * @throws KeyturnError (INVALID_ARGUMENT) that names the option, its value, and what is allowed
 */
export function tlsSettings(tls: boolean | TlsOptions | undefined): TlsSettings | undefined {
  if (tls === undefined || tls === false) return undefined;
  const options = tls === true ? {} : checked(tls);
  const { cert, key, serverName } = options;
  if ((cert === undefined) !== (key === undefined))
    throw wrongSetting(cert === undefined ? 'tls.key is given without tls.cert' : 'tls.cert is given without tls.key');
  return { context: contexts(options), serverName, showsCertificate: cert !== undefined };
}

/**
 * Files that were replaced count from the next connection on. While they do not fit each other, or cannot be read, the last
 * good ones count: who replaces them may be in the middle of it. Should the sidecar refuse those, its error says so.
 */
function contexts(options: TlsOptions): () => SecureContext {
  let pems = read(options);
  let context = contextOf(pems, options);
  return () => {
    try {
      const found = read(options);
      if (isSame(found, pems)) return context;
      context = contextOf(found, options);
      pems = found;
    } catch {
      // As said above.
    }
    return context;
  };
}

function read({ ca, cert, key }: TlsOptions): Pems {
  return { ca: pem('ca', ca), cert: pem('cert', cert), key: pem('key', key) };
}

function isSame(one: Pems, other: Pems): boolean {
  return (['ca', 'cert', 'key'] as const).every((name) => {
    const [first, second] = [one[name], other[name]];
    return first === undefined || second === undefined ? first === second : first.equals(second);
  });
}

/** Callers without types may give anything. */
function checked(tls: unknown): TlsOptions {
  if (typeof tls !== 'object' || tls === null) throw wrongSetting(`tls is ${String(tls)}; allowed is ${FORMS}`);
  const unknown = Object.keys(tls).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw wrongSetting(`tls.${unknown} is not an option; allowed is ${FORMS}`);
  const options: TlsOptions = tls;
  const { serverName } = options;
  if (serverName !== undefined && (typeof serverName !== 'string' || serverName === ''))
    throw wrongSetting(`tls.serverName is ${JSON.stringify(serverName)}; needed is a text that is not empty`);
  return options;
}

function pem(name: keyof typeof WANTED, source: PemSource | undefined): Buffer | undefined {
  if (source === undefined) return undefined;
  const { allowed, pattern } = WANTED[name];
  const refuse = (why: string) =>
    wrongSetting(`tls.${name} is ${shown(source)}; allowed is the path or the bytes of ${allowed}: ${why}`);
  const bytes = bytesOf(source, refuse);
  const text = bytes.toString('latin1');
  if (!pattern.test(text)) throw refuse('it has none');
  // TLS itself passes over an authority that it cannot read, and then trusts nobody.
  for (const block of text.match(CERTIFICATES) ?? []) if (!isCertificate(block)) throw refuse('one in it is damaged');
  return bytes;
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).serialNumber !== '';
  } catch {
    return false;
  }
}

function bytesOf(source: PemSource, refuse: (why: string) => KeyturnError): Buffer {
  if (source instanceof Uint8Array) return Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  if (typeof source !== 'string') throw refuse('it is neither');
  if (source.includes('-----BEGIN')) throw refuse('a text is taken for a path; give its bytes');
  try {
    const found = statSync(source);
    if (!found.isFile()) throw new Error('it is not a file');
    if (found.size > MOST_BYTES) throw new Error(`it is larger than ${MOST_BYTES} bytes`);
    return readFileSync(source);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
}

function shown(source: unknown): string {
  if (source instanceof Uint8Array) return `${source.byteLength} bytes`;
  // The text of a certificate itself, taken for a path, shall not fill the message, and a key not appear in it at all.
  if (typeof source === 'string') return source.includes('-----BEGIN') ? 'PEM text' : JSON.stringify(source);
  return String(source);
}

interface Pems {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

function contextOf({ ca, cert, key }: Pems, options: TlsOptions): SecureContext {
  try {
    return createSecureContext({ ca, cert, key, minVersion: OLDEST_VERSION });
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).replace(OPENSSL_PLACE, '');
    const given = KNOWN.filter((name) => name in WANTED).flatMap((name) => {
      const source: unknown = Reflect.get(options, name);
      return source === undefined ? [] : [`tls.${name} is ${shown(source)}`];
    });
    throw wrongSetting(`${given.join(', ')}; allowed are files in PEM that fit each other: ${why}`);
  }
}
