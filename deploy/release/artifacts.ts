/** Makes what a release uploads, each registry's in a folder of its own. */

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GO_MODULES } from './go-modules.js';
import { type Run, run } from './run.js';

export interface Release {
  /** The repository. */
  readonly root: string;
  readonly version: string;
  /** Made anew. */
  readonly out: string;
  /** The key of gpg that signs what Maven's repository wants signed; undefined: nothing is signed. */
  readonly signer: string | undefined;
}

interface Part {
  readonly name: string;
  readonly make: (release: Release) => Promise<void>;
}

export const PARTS: readonly Part[] = [
  { name: 'npm', make: makeNpm },
  { name: 'python', make: makePython },
  { name: 'java', make: makeJava },
  { name: 'go', make: makeGo },
  { name: 'chart', make: makeChart },
  { name: 'bill of materials', make: makeBill },
];

/** @param say is told each part when it begins */
export async function makeArtifacts(release: Release, say: (text: string) => void): Promise<void> {
  await rm(release.out, { recursive: true, force: true });
  await mkdir(release.out, { recursive: true });
  for (const { name, make } of PARTS) {
    say(`${name}\n`);
    await make(release);
  }
  await writeSums(release.out);
}

function within(release: Release, folder: string, program: string, ...args: string[]): Run {
  return { program, args, folder: join(release.root, folder) };
}

async function folderOf(release: Release, name: string): Promise<string> {
  const folder = join(release.out, name);
  await mkdir(folder, { recursive: true });
  return folder;
}

async function makeNpm(release: Release): Promise<void> {
  const to = await folderOf(release, 'npm');
  // The client first: the sidecar depends on it, and is uploaded after it. `npm run release` has built both: to build again would
  // write files that others may be reading.
  for (const folder of ['clients/typescript', '.'])
    await run(within(release, folder, 'npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', to));
}

async function makePython(release: Release): Promise<void> {
  const to = await folderOf(release, 'python');
  await run(within(release, 'clients/python', './prepare'));
  const build = ['-m', 'build', '--no-isolation', '--outdir', to, '.'];
  await run(within(release, 'clients/python', '.venv/bin/python', ...build));
}

/** As a repository has it, so that a tool can read it from there before it is uploaded. */
async function makeJava(release: Release): Promise<void> {
  const to = await folderOf(release, 'maven');
  const target = `-DaltDeploymentRepository=release::file://${to}`;
  await run(within(release, 'clients/java/client', 'mvn', '-q', '-B', '-DskipTests', 'deploy', target));
  const files = (await readdir(to, { recursive: true })).map((name) => join(to, name));
  // Whoever uploads a release writes no list of versions: the repository does.
  for (const file of files.filter((name) => name.includes('maven-metadata'))) await rm(file);
  const signed = files.filter((name) => /\.(jar|pom)$/.test(name));
  if (release.signer !== undefined)
    for (const file of signed) {
      const args = ['--batch', '--yes', '--local-user', release.signer, '--armor', '--detach-sign', file];
      await run({ program: 'gpg', args, folder: to });
    }
  await run({ program: 'jar', args: ['cMf', join(release.out, 'maven-bundle.zip'), '-C', to, '.'], folder: to });
}

/** As a module proxy serves it: what a tag of the repository will be. */
async function makeGo(release: Release): Promise<void> {
  const to = await folderOf(release, 'go');
  for (const { name, folder } of GO_MODULES) {
    const place = join('..', folder);
    await run(
      within(release, 'clients/go/conformance', 'go', 'run', './modzip', place, name, `v${release.version}`, to),
    );
  }
}

async function makeChart(release: Release): Promise<void> {
  const to = await folderOf(release, 'chart');
  await run(within(release, '.', join(release.root, '.cache/bin/helm'), 'package', 'deploy/helm/keyturn', '-d', to));
}

async function makeBill(release: Release): Promise<void> {
  const args = ['sbom', '--omit=dev', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const bill = await run(within(release, '.', 'npm', ...args));
  await writeFile(join(release.out, `keyturn-${release.version}.cdx.json`), bill);
}

const SUMS = 'SHA256SUMS';

/** As `sha256sum --check` reads it. */
async function writeSums(out: string): Promise<void> {
  const files = await readdir(out, { recursive: true, withFileTypes: true });
  const names = files
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name).slice(out.length + 1))
    .sort();
  const lines: string[] = [];
  for (const name of names) {
    const sum = createHash('sha256').update(await readFile(join(out, name)));
    lines.push(`${sum.digest('hex')}  ${name}\n`);
  }
  await writeFile(join(out, SUMS), lines.join(''));
}
