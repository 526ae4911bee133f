/** Certificates for tests: authorities that live for a test, and what they issue. No network, no program besides Node. */
import 'reflect-metadata';
import { KeyObject, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate and its key (PKCS#8, not encrypted), both as PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface AlternativeName {
  readonly type: 'dns' | 'url' | 'email';
  readonly value: string;
}

export type Use = 'server' | 'client' | 'peer';

const USAGES: Readonly<Record<Use, readonly ExtendedKeyUsage[]>> = {
  server: [ExtendedKeyUsage.serverAuth],
  client: [ExtendedKeyUsage.clientAuth],
  peer: [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth],
};

export interface LeafOptions {
  /** The common name; nobody checks it. */
  readonly name: string;
  /** `peer`: as both, as sidecars show theirs to each other. */
  readonly use: Use;
  /** The host names and IP addresses of a server. Default: this machine's loopback. */
  readonly hosts?: readonly string[];
  /** Other alternative names, those of a client too. */
  readonly names?: readonly AlternativeName[];
  /** When it ends, ms from now; it begins a day before the earlier of now and that. Default: a week. */
  readonly endsIn?: number;
}

const DAY = 86_400_000;
const WEEK = 7 * DAY;
export const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '::1'];
/** Small, quick to make, and understood by every language's TLS. */
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const;
const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: 2_048,
} as const;

/** Somebody who issues certificates. Each has keys of its own, also when it bears another's name. */
export class Authority {
  private constructor(
    readonly cert: string,
    private readonly certificate: X509Certificate,
    private readonly keys: webcrypto.CryptoKeyPair,
  ) {}

  static async make(name: string): Promise<Authority> {
    const keys = await makeKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      ...validFor(WEEK),
      name: `CN=${name}`,
      keys,
      signingAlgorithm: SIGNING,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new Authority(pemOf(certificate), certificate, keys);
  }

  async issue({
    name,
    use,
    hosts = use === 'server' ? LOOPBACK_HOSTS : [],
    names = [],
    endsIn = WEEK,
  }: LeafOptions): Promise<Pair> {
    const keys = await makeKeys();
    const certificate = await X509CertificateGenerator.create({
      ...validFor(endsIn),
      subject: `CN=${name}`,
      issuer: this.certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.keys.privateKey,
      signingAlgorithm: SIGNING,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([...USAGES[use]]),
        await AuthorityKeyIdentifierExtension.create(this.keys.publicKey),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
        ...(hosts.length + names.length > 0 ? [alternativeNames(hosts, names)] : []),
      ],
    });
    return { cert: pemOf(certificate), key: pemOfKey(keys.privateKey) };
  }
}

/** Of nobody's authority, with a key of RSA: with such a one TLS 1.2 can do without a key of each connection's own. */
export async function rsaPair(): Promise<Pair> {
  const keys = await webcrypto.subtle.generateKey(RSA, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validFor(WEEK),
    name: 'CN=localhost',
    keys,
    signingAlgorithm: RSA,
  });
  return { cert: pemOf(certificate), key: pemOfKey(keys.privateKey) };
}

function alternativeNames(
  hosts: readonly string[],
  names: readonly AlternativeName[],
): SubjectAlternativeNameExtension {
  const isIp = (host: string) => /^[\d.]+$|:/.test(host);
  const ofHosts = hosts.map((host) => ({ type: isIp(host) ? ('ip' as const) : ('dns' as const), value: host }));
  return new SubjectAlternativeNameExtension([...ofHosts, ...names]);
}

/** Whole seconds, as certificates have them. */
function validFor(endsIn: number): { notBefore: Date; notAfter: Date } {
  const now = Math.floor(Date.now() / 1000) * 1000;
  return { notBefore: new Date(Math.min(now, now + endsIn) - DAY), notAfter: new Date(now + endsIn) };
}

function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

function pemOf(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

function pemOfKey(key: webcrypto.CryptoKey): string {
  return String(KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }));
}
