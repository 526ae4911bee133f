/** The files of TLS: read within bounds, and looked at before anything uses them: at the start, and when they change. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsSettings } from './tls-settings.js';
import { showText } from './written.js';

type File = keyof TlsSettings;
const FILES: readonly File[] = ['cert', 'key', 'clientCa'];

/** What was read, or why it was not; unset: no such setting. */
export type TlsContents = Readonly<Record<File, Buffer | Error | undefined>>;

/** Files that fit each other. */
export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly clientCa: Buffer | undefined;
  /** From when to when the server's certificate is valid. */
  readonly begins: Date;
  readonly ends: Date;
}

export interface TlsProblem {
  readonly file: File;
  /** The value, what is allowed, and what is wrong with it. */
  readonly what: string;
}

type Examined =
  | { readonly ok: true; readonly material: TlsMaterial }
  | { readonly ok: false; readonly problems: readonly TlsProblem[] };

/** Far above any real one: all authorities of the web together have a fifth of it. */
const MOST_BYTES = 1_048_576;
const BLOCKS = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g;
const CERTIFICATES = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

const ALLOWED: Readonly<Record<File, string>> = {
  cert: "a file with the server's certificate in PEM",
  key: 'a file with the private key of tls.cert in PEM, without a passphrase',
  clientCa: 'a file with certificates of authorities in PEM',
};

export function readTlsFilesNow(settings: TlsSettings): TlsContents {
  return contents(settings, (path) => {
    try {
      return wrongFile(statSync(path)) ?? readFileSync(path);
    } catch (error) {
      return unreadable(error);
    }
  });
}

/** For a process that has other things to do meanwhile. */
export async function readTlsFiles(settings: TlsSettings): Promise<TlsContents> {
  const read = async (path: string) => wrongFile(await stat(path)) ?? readFile(path);
  const reading = contents(settings, (path) => read(path).catch(unreadable));
  const [cert, key, clientCa] = await Promise.all([reading.cert, reading.key, reading.clientCa]);
  return { cert, key, clientCa };
}

function contents<T>(settings: TlsSettings, read: (path: string) => T): Readonly<Record<File, T | undefined>> {
  const one = (path: string | undefined) => (path === undefined ? undefined : read(path));
  return { cert: one(settings.cert), key: one(settings.key), clientCa: one(settings.clientCa) };
}

function wrongFile(found: Stats): Error | undefined {
  if (!found.isFile()) return new Error('it is not a file');
  return found.size > MOST_BYTES ? new Error(`it is larger than ${MOST_BYTES} bytes`) : undefined;
}

function unreadable(error: unknown): Error {
  return new Error(`it cannot be read: ${error instanceof Error ? error.message : String(error)}`);
}

/** Whether the files can serve, and if not what is wrong with each. `cert` and `key` must be set. */
export function examineTls(settings: TlsSettings, read: TlsContents): Examined {
  const wrong = new Map<File, string>();
  const certificates = part(read, 'cert', certificatesIn, wrong);
  const key = part(read, 'key', privateKeyIn, wrong);
  part(read, 'clientCa', certificatesIn, wrong);
  const first = certificates?.[0];
  if (first !== undefined && key !== undefined && !first.checkPrivateKey(key))
    wrong.set('key', `it is not the key of the certificate in ${showText(settings.cert ?? '')}`);
  const { cert, key: keyBytes, clientCa } = read;
  if (wrong.size === 0 && first !== undefined && Buffer.isBuffer(cert) && Buffer.isBuffer(keyBytes)) {
    const material = { cert, key: keyBytes, clientCa: Buffer.isBuffer(clientCa) ? clientCa : undefined };
    const refusal = refusalOf(material);
    const valid = { begins: new Date(first.validFrom), ends: new Date(first.validTo) };
    if (refusal === undefined) return { ok: true, material: { ...material, ...valid } };
    wrong.set('cert', refusal);
  }
  return { ok: false, problems: FILES.flatMap((file) => problemOf(settings, file, wrong.get(file))) };
}

function problemOf(settings: TlsSettings, file: File, why: string | undefined): readonly TlsProblem[] {
  if (why === undefined) return [];
  return [{ file, what: `is ${showText(settings[file] ?? '')}, must be ${ALLOWED[file]}; ${why}` }];
}

function part<T>(read: TlsContents, file: File, parse: (pem: string) => T, wrong: Map<File, string>): T | undefined {
  const found = read[file];
  if (found === undefined) return undefined;
  try {
    if (found instanceof Error) throw found;
    return parse(found.toString('latin1'));
  } catch (error) {
    wrong.set(file, error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** @throws if one of them is damaged or cut off, or there is none */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(CERTIFICATES) ?? [];
  if (blocks.length === 0) throw new Error('there is no certificate in it');
  // What is left of one that was cut off: OpenSSL takes those before it, and is silent.
  if (/--/.test(pem.replace(BLOCKS, '')))
    throw new Error(
      `certificate ${blocks.length + 1} in it is cut off: it has a beginning and no end, or an end alone`,
    );
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new Error(`certificate ${index + 1} in it is damaged`);
    }
  });
}

function privateKeyIn(pem: string): KeyObject {
  if (/-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(pem)) throw new Error('the key in it has a passphrase');
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) throw new Error('there is no private key in it');
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error('the private key in it is damaged');
  }
}

/** What TLS itself has against them: a key that is too short, a signature that is too old. */
function refusalOf({ cert, key, clientCa }: Omit<TlsMaterial, 'begins' | 'ends'>): string | undefined {
  try {
    createSecureContext({ cert, key, ca: clientCa });
    return undefined;
  } catch (error) {
    return `TLS refuses it: ${error instanceof Error ? error.message : String(error)}`;
  }
}
