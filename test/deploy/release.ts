/**
 * What a release of the chart brings into its pod: settings, variables, and the files of its Secrets, laid out as kubelet does it
 * and replaced as kubelet replaces them.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { KeyturnError } from '@keyturn/client';
import { yamlFile } from '../config/yaml-file.js';
import { writeCertificates } from '../support/certificate-files.js';
import { Authority, type Use } from '../support/certificates.js';
import { at, CHART, containerOf, folderFor, HELM, list, manifests, ofKind, output, variablesOf } from './tools.js';

const KEY = { kty: 'OKP', crv: 'Ed25519', kid: 'k', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

/** A folder as kubelet makes it of a Secret: links into `..data`, which is a link to what counts. */
class Volume {
  #version = 0;

  constructor(private readonly folder: string) {
    mkdirSync(folder);
  }

  put(files: Readonly<Record<string, string>>): void {
    this.#version += 1;
    const version = `..version-${this.#version}`;
    mkdirSync(join(this.folder, version));
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(this.folder, version, name), text);
      if (this.#version === 1) symlinkSync(join('..data', name), join(this.folder, name));
    }
    symlinkSync(version, join(this.folder, '..next'));
    renameSync(join(this.folder, '..next'), join(this.folder, '..data'));
  }
}

export function tokens(names: Readonly<Record<string, string>>): string {
  const line = ([name, token]: [string, string]) =>
    `${JSON.stringify(name)}: { sha256: ${createHash('sha256').update(token).digest('hex')} }`;
  return Object.entries(names).map(line).join('\n');
}

export interface Release {
  /** The settings file, its paths in the folder. */
  readonly config: string;
  /** Of the container, its paths too. */
  readonly env: Readonly<Record<string, string>>;
  /** All that there are, as {@link writeCertificates} makes them. */
  readonly certificates: string;
  /** The Secret with tokens. */
  readonly secret: Volume;
  /** The Secret of the links gets another certificate of its authority. */
  renewPeers(use: Use): Promise<void>;
}

/** For the links between the pods: of an authority of theirs alone; the name is nobody's. */
async function peerSecret(authority: Authority, use: Use): Promise<Readonly<Record<string, string>>> {
  const { cert, key } = await authority.issue({ name: 'keyturn', use, hosts: ['keyturn-peers'] });
  return { 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert };
}

/** What a release with these values brings into its pod. */
export async function release(t: TestContext, values: string): Promise<Release> {
  const folder = await folderFor(t);
  const all = manifests(await output(HELM, ['template', 'keyturn', CHART, '--namespace', 'prod', '--values', values]));
  const container = containerOf(all);
  const mounts = list(at(container, 'volumeMounts')).map((one) => String(at(one, 'mountPath')));
  const own = (text: string) => {
    let placed = text;
    for (const path of mounts) placed = placed.replaceAll(`${path}/`, `${join(folder, path.replaceAll('/', '-'))}/`);
    return placed;
  };
  const certificates = join(folder, 'certificates');
  await writeCertificates(certificates);
  const secret = new Volume(join(folder, '-etc-keyturn-tokens'));
  secret.put({
    'tokens.yaml': tokens({
      'orders: worker': 'token-of-orders',
      'orders-worker': 'token-of-orders-too',
      ops: 'token-of-ops',
    }),
  });
  new Volume(join(folder, '-etc-keyturn-keys')).put({ 'jwks.json': JSON.stringify({ keys: [KEY] }) });
  const of = (file: string) => readFileSync(join(certificates, file), 'utf8');
  new Volume(join(folder, '-etc-keyturn-tls')).put({
    'tls.crt': of('server.pem'),
    'tls.key': of('server.key'),
    'ca.crt': of('ca.pem'),
  });
  const authority = await Authority.make('Peers');
  const peers = new Volume(join(folder, '-etc-keyturn-peer-tls'));
  const renewPeers = async (use: Use) => peers.put(await peerSecret(authority, use));
  await renewPeers('peer');
  new Volume(join(folder, '-etc-keyturn-store-ca')).put({ 'ca.crt': of('ca.pem') });
  mkdirSync(join(folder, '-var-lib-keyturn'));
  const env = Object.entries(variablesOf(container)).map(([name, value]) => [name, own(value)] as const);
  const config = yamlFile(t, own(String(at(ofKind(all, 'ConfigMap'), 'data', 'keyturn.yaml'))));
  return { config, env: Object.fromEntries(env), certificates, secret, renewPeers };
}

/** What a caller is told, as CODE REASON. */
export async function refusalOf(answer: Promise<unknown>): Promise<string> {
  const error: unknown = await answer.then(
    () => 'it was answered',
    (caught: unknown) => caught,
  );
  return error instanceof KeyturnError ? `${error.code} ${error.reason}` : String(error);
}
