/** One version for the sidecar and all clients: each place that says it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Place {
  /** From the root of the repository. */
  readonly path: string;
  /** What it finds is the version, all of it; global. */
  readonly version: RegExp;
}

/** Major, minor, patch, and what may stand behind for a candidate: `1.0.0-rc.1`. No build: registries treat it in different ways. */
const VERSION = /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-rc\.[1-9]\d*)?$/;

const NUMBER = String.raw`\d+\.\d+\.\d+(?:-rc\.\d+)?`;

/** The version between what stands before it and after it in its line. */
function between(before: string, after: string): RegExp {
  return new RegExp(`(?<=${before})${NUMBER}(?=${after})`, 'gm');
}

const POM = between(String.raw`<artifactId>keyturn[\w-]*</artifactId>\s*<version>`, '</version>');

export const PLACES: readonly Place[] = [
  { path: 'package.json', version: between('^  "version": "|"@keyturn/client": "', '"') },
  { path: 'clients/typescript/package.json', version: between('^  "version": "', '"') },
  { path: 'clients/typescript/src/words/version.ts', version: between("VERSION = '", "'") },
  { path: 'clients/python/pyproject.toml', version: between('^version = "', '"') },
  { path: 'clients/python/src/keyturn/_words/version.py', version: between('VERSION = "', '"') },
  { path: 'clients/go/version.go', version: between('^const Version = "', '"') },
  { path: 'clients/go/README.md', version: between('clients/go@v', ' ') },
  { path: 'clients/go/conformance/go.mod', version: between('clients/go v', '$') },
  { path: 'clients/go/keyturnotel/go.mod', version: between('clients/go v', '$') },
  { path: 'clients/java/pom.xml', version: POM },
  { path: 'clients/java/client/pom.xml', version: POM },
  { path: 'clients/java/conformance/pom.xml', version: POM },
  { path: 'clients/java/README.md', version: POM },
  {
    path: 'clients/java/client/src/main/java/io/keyturn/client/internal/words/Version.java',
    version: between('VERSION = "', '"'),
  },
  {
    path: 'clients/java/conformance/src/main/java/io/keyturn/conformance/Player.java',
    version: between('VERSION = "', '"'),
  },
  { path: 'Dockerfile', version: between('image\\.version="', '"') },
  { path: 'deploy/helm/keyturn/Chart.yaml', version: between('^(?:version|appVersion): ', '$') },
  { path: 'deploy/kustomize/sidecar/cron-job.yaml', version: between('image: keyturn:', '$') },
  { path: 'deploy/kustomize/sidecar/pod-template.yaml', version: between('image: keyturn:', '$') },
  { path: 'docs/KUBERNETES.md', version: between('/keyturn:|newTag: ', '') },
];

/** What it is not: said to the person who typed it. */
export class WrongVersion extends Error {
  override readonly name = 'WrongVersion';
}

/** @throws WrongVersion */
export function checkVersion(version: string): void {
  if (VERSION.test(version)) return;
  throw new WrongVersion(`the version is '${version}'; allowed is MAJOR.MINOR.PATCH, or MAJOR.MINOR.PATCH-rc.N`);
}

/** @returns the versions that a place says, in their order; none: the place has moved */
export function versionsAt(text: string, place: Place): readonly string[] {
  return text.match(place.version) ?? [];
}

interface Lock {
  version: string;
  packages: Record<string, { version?: string; dependencies?: Record<string, string> } | undefined>;
}

const LOCK = 'package-lock.json';
const OWN_PACKAGES = ['', 'clients/typescript'];

/** @returns the paths of what was changed @throws WrongVersion */
export function setVersion(root: string, version: string): readonly string[] {
  checkVersion(version);
  const changed = PLACES.filter(({ path, version: pattern }) =>
    rewrite(join(root, path), (text) => text.replace(pattern, version)),
  ).map(({ path }) => path);
  return rewrite(join(root, LOCK), (text) => lockWith(text, version)) ? [...changed, LOCK] : changed;
}

function rewrite(path: string, change: (text: string) => string): boolean {
  const before = readFileSync(path, 'utf8');
  const after = change(before);
  if (after === before) return false;
  writeFileSync(path, after);
  return true;
}

/** npm writes it as `JSON.stringify` does, so that nothing else changes. */
function lockWith(text: string, version: string): string {
  const lock: Lock = JSON.parse(text);
  lock.version = version;
  for (const name of OWN_PACKAGES) {
    const one = lock.packages[name];
    if (one === undefined) throw new Error(`${LOCK} has no package '${name}'`);
    one.version = version;
    if (one.dependencies?.['@keyturn/client'] !== undefined) one.dependencies['@keyturn/client'] = version;
  }
  return `${JSON.stringify(lock, undefined, 2)}\n`;
}
