/** What registries want of a release, and strangers of a package: looked for in what was made, not in what it was made of. */

import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Release } from './artifacts.js';
import { GO_MODULES, type GoModule } from './go-modules.js';
import { ProgramError, run } from './run.js';

/** @returns what is missing, a sentence each; none: it may be uploaded */
export async function missingIn(release: Release): Promise<readonly string[]> {
  const found = await Promise.all([npmLacks(release), pythonLacks(release), javaLacks(release), goLacks(release)]);
  return found.flat();
}

/** Of a manifest on npm: without `repository` there is no provenance. */
const NPM_FIELDS = [
  'name',
  'version',
  'description',
  'license',
  'repository',
  'homepage',
  'bugs',
  'engines',
  'keywords',
];

async function npmLacks({ out, version }: Release): Promise<readonly string[]> {
  const complaints: string[] = [];
  for (const name of [`keyturn-client-${version}.tgz`, `keyturn-${version}.tgz`]) {
    const path = join(out, 'npm', name);
    if (!existsSync(path)) {
      complaints.push(`npm/${name} was not made`);
      continue;
    }
    const files = await list(path);
    for (const file of ['package/README.md', 'package/LICENSE'])
      if (!files.includes(file)) complaints.push(`npm/${name} has no ${file}`);
    const manifest: Record<string, unknown> = JSON.parse(await cat(path, 'package/package.json'));
    for (const field of NPM_FIELDS)
      if (manifest[field] === undefined) complaints.push(`npm/${name}: its package.json has no '${field}'`);
    if (manifest['version'] !== version) complaints.push(`npm/${name}: its version is ${String(manifest['version'])}`);
    if (manifest['private'] === true) complaints.push(`npm/${name}: its package.json says that it is private`);
    const scripts = Object.keys(manifest['scripts'] ?? {}).filter((script) => /^(pre|post)?install$/.test(script));
    if (scripts.length > 0) complaints.push(`npm/${name} runs scripts where it is installed: ${scripts.join(', ')}`);
  }
  return complaints;
}

async function list(tarball: string): Promise<readonly string[]> {
  return (await run({ program: 'tar', args: ['-tzf', tarball], folder: '.' })).split('\n');
}

function cat(tarball: string, file: string): Promise<string> {
  return run({ program: 'tar', args: ['-xzOf', tarball, file], folder: '.' });
}

/** PEP 440 writes a candidate in another way than everybody else. */
export function pythonVersion(version: string): string {
  return version.replace('-rc.', 'rc');
}

const PYTHON_FIELDS = ['Summary', 'License-Expression', 'Requires-Python', 'Project-URL', 'Description-Content-Type'];

async function pythonLacks({ root, out, version }: Release): Promise<readonly string[]> {
  const name = `keyturn-${pythonVersion(version)}`;
  const tarball = join(out, 'python', `${name}.tar.gz`);
  const missing = [`${name}.tar.gz`, `${name}-py3-none-any.whl`].filter(
    (file) => !existsSync(join(out, 'python', file)),
  );
  if (missing.length > 0) return missing.map((file) => `python/${file} was not made`);
  const files = [tarball, tarball.replace('.tar.gz', '-py3-none-any.whl')];
  await run({ program: './prepare', args: [], folder: join(root, 'deploy/release') });
  const twine = join(root, '.cache/release-tools/bin/twine');
  await run({ program: twine, args: ['check', '--strict', ...files], folder: root });
  const about = await cat(tarball, `${name}/PKG-INFO`);
  return PYTHON_FIELDS.filter((field) => !new RegExp(`^${field}: `, 'm').test(about)).map(
    (field) => `python/${name}.tar.gz: its metadata have no '${field}'`,
  );
}

/** Each with its checksums, and signed. */
const JAVA_FILES = ['.jar', '-sources.jar', '-javadoc.jar', '.pom'];
const POM_ELEMENTS = ['name', 'description', 'url', 'licenses', 'developers', 'scm'];

async function javaLacks({ out, version, signer }: Release): Promise<readonly string[]> {
  const folder = join(out, 'maven/io/keyturn/keyturn-client', version);
  const there = existsSync(folder) ? await readdir(folder) : [];
  const beside = ['', '.md5', '.sha1', ...(signer === undefined ? [] : ['.asc'])];
  const wanted = JAVA_FILES.flatMap((end) => beside.map((more) => `keyturn-client-${version}${end}${more}`));
  const missing = wanted.filter((file) => !there.includes(file)).map((file) => `maven/${file} was not made`);
  if (missing.length > 0) return missing;
  const pom = await readFile(join(folder, `keyturn-client-${version}.pom`), 'utf8');
  const incomplete = POM_ELEMENTS.filter((element) => !pom.includes(`<${element}>`));
  return incomplete.map((element) => `maven/keyturn-client-${version}.pom has no <${element}>`);
}

async function goLacks(release: Release): Promise<readonly string[]> {
  const lacks = await Promise.all(GO_MODULES.map((module) => goModuleLacks(release, module)));
  return lacks.flat();
}

async function goModuleLacks({ out, version }: Release, module: GoModule): Promise<readonly string[]> {
  const { name, wanted } = module;
  const zip = join(out, 'go', name, '@v', `v${version}.zip`);
  if (!existsSync(zip)) return [`go/${name}/@v/v${version}.zip was not made`];
  const files = (await run({ program: 'jar', args: ['tf', zip], folder: '.' })).split('\n');
  return wanted
    .filter((file) => !files.includes(`${name}@v${version}/${file}`))
    .map((file) => `go/${name}/@v/v${version}.zip has no ${file}`);
}

/** @returns why this tree is not what a release is made of; none: it is */
export async function notReady(root: string, version: string): Promise<readonly string[]> {
  const git = (...args: string[]) => run({ program: 'git', args: ['-c', 'safe.directory=*', ...args], folder: root });
  const complaints: string[] = [];
  const changed = (await git('status', '--porcelain')).trim();
  if (changed !== '') complaints.push(`there are changes that are not committed:\n${changed}`);
  for (const tag of tagsOf(version)) {
    try {
      const tagged = (await git('rev-parse', '--verify', '--quiet', `${tag}^{commit}`)).trim();
      const head = (await git('rev-parse', 'HEAD')).trim();
      if (tagged !== head) complaints.push(`the tag ${tag} is on ${tagged.slice(0, 12)}, which is another commit`);
    } catch (error) {
      // Not tagged yet: the upload does that.
      if (!(error instanceof ProgramError)) throw error;
    }
  }
  return complaints;
}

/** Go finds a module below the root of a repository by a tag with its folder. The client comes first: the other one needs it. */
export function tagsOf(version: string): readonly string[] {
  return [`v${version}`, ...GO_MODULES.map(({ folder }) => `${join('clients/go', folder)}/v${version}`)];
}
