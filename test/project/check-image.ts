/**
 * Rehearses the building of the image without a container engine: a folder for each stage, its COPY and its npm steps
 * as the Dockerfile has them, then runs what the last stage has, with the settings and the command of the image, and
 * adds up its size.
 */
import { execSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { type Copy, readDockerfile, type Stage } from './dockerfile.js';
import { startReadOnly } from './read-only-root.js';
import { ROOT, read, trackedPaths } from './repository.js';
import { startAndStop } from './start-and-stop.js';

const MB = 1_000_000;
const LARGEST = 250 * MB;
/** Debian slim and what the image of Node adds besides the program itself, rounded up; it cannot be measured here. */
const SYSTEM = 85 * MB;
/** Every stage works here. */
const WORKDIR = '/app/';

const image = readDockerfile();
const work = mkdtempSync(join(tmpdir(), 'keyturn-image-'));
try {
  for (const stage of image.stages) build(stage);
  const app = folderOf(image.stages.at(-1)?.name ?? '');
  weigh(app);
  const [, ...words] = image.command;
  // With a data directory: what keeps the data must be there and load.
  const KEYTURN_DATA_DIR = join(work, 'data');
  const environment = { ...image.environment, KEYTURN_DATA_DIR, PATH: process.env['PATH'] ?? '' };
  await startAndStop({ node: process.execPath, keyturn: words.slice(0, -1), folder: app, environment });
  await startReadOnly(image, app, work);
  checkBill(app);
  checkOtherProcessor();
} finally {
  rmSync(work, { recursive: true, force: true });
}

function build(stage: Stage): void {
  const folder = folderOf(stage.name);
  mkdirSync(folder, { recursive: true });
  for (const copy of stage.copies) copyInto(folder, copy);
  // The other ones change the system of the image; here they would change the system of this machine.
  for (const step of stage.runs.filter((run) => run.startsWith('npm '))) {
    process.stdout.write(`${stage.name}: ${step}\n`);
    execSync(step, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  }
}

function folderOf(stage: string): string {
  return join(work, stage === '' ? 'last' : stage);
}

function copyInto(folder: string, { from, sources, target }: Copy): void {
  if (target === '/') return;
  for (const source of sources) {
    const isFolder = statSync(fullPath(source, from)).isDirectory();
    const to = isFolder ? join(folder, target) : join(folder, target, posix.basename(source));
    if (from !== undefined) cpSync(fullPath(source, from), to, { recursive: true, verbatimSymlinks: true });
    else for (const path of contextFiles(source)) copyFile(path, join(to, path.slice(source.length)));
  }
}

function fullPath(source: string, from: string | undefined): string {
  return from === undefined ? join(ROOT, source) : join(folderOf(from), source.replace(WORKDIR, ''));
}

/** What a fresh clone would send: the file, or the files of the folder. */
function contextFiles(source: string): readonly string[] {
  return trackedPaths().filter((path) => path === source || path.startsWith(`${source}/`));
}

function copyFile(path: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(join(ROOT, path), to);
}

function weigh(app: string): void {
  const parts = { system: SYSTEM, node: statSync(process.execPath).size, app: sizeOf(app) };
  const total = parts.system + parts.node + parts.app;
  const told = Object.entries({ ...parts, total }).map(([name, bytes]) => `${name} ${Math.round(bytes / MB)} MB`);
  process.stdout.write(`size of the image: ${told.join(', ')}\n`);
  if (total >= LARGEST) throw new Error(`that is not below ${LARGEST / MB} MB`);
}

/** The bill names what is there, and nothing that is not. */
function checkBill(app: string): void {
  const bill = JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8'));
  const billed = new Set<string>(
    bill.components.map(({ purl }: { readonly purl: string }) => decodeURIComponent(purl)),
  );
  const missing = installed(join(app, 'node_modules')).filter((purl) => !billed.delete(purl));
  if (bill.bomFormat !== 'CycloneDX' || missing.length > 0 || billed.size > 0)
    throw new Error(`the bill of materials lacks ${missing.join(' ')} and has too much: ${[...billed].join(' ')}`);
  process.stdout.write(`bill of materials: ${bill.components.length} packages\n`);
}

/** Each package below the folder, as a bill names it. */
function installed(folder: string): readonly string[] {
  const manifests = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(^|node_modules\/)(@[^/]+\/)?[^/@]+\/package\.json$/.test(name),
  );
  const names = manifests.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  const client = JSON.parse(read('clients/typescript/package.json').text);
  const all = [...names, client].map(({ name, version }) => `pkg:npm/${name}@${version}`);
  return [...new Set(all)];
}

/** What is installed for the other processor has the library that keeps the data, made for it. */
function checkOtherProcessor(): void {
  const folder = join(work, 'arm64');
  const stage = image.stages.find(({ name }) => name === 'dependencies');
  const step = stage?.runs.find((run) => run.startsWith('npm ci')) ?? '';
  mkdirSync(folder);
  for (const copy of stage?.copies ?? []) copyInto(folder, copy);
  const other = step.replace('npm ci', 'npm ci --os=linux --cpu=arm64 --libc=glibc');
  execSync(other, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  const library = readFileSync(join(folder, 'node_modules/@lmdb/lmdb-linux-arm64/node.napi.glibc.node'));
  const AARCH64 = 183;
  if (library.toString('latin1', 1, 4) !== 'ELF' || library.readUInt16LE(18) !== AARCH64)
    throw new Error('the library for arm64 is for another processor');
  process.stdout.write('the library of LMDB for arm64 is there\n');
}

/** As an engine counts it: the bytes of the files. */
function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}
