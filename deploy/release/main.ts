/** `npm run release`: prepares, makes and uploads a release. docs/RELEASING.md says when to call what. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { makeArtifacts, type Release } from './artifacts.js';
import { ChangeLogError, notesOf, withRelease } from './change-log.js';
import { checkVersion, setVersion, WrongVersion } from './places.js';
import { ProgramError, run } from './run.js';
import { shown, uploadsOf } from './uploads.js';
import { missingIn, notReady, tagsOf } from './wanted.js';

/** Compiled, this lies in dist/deploy/release. */
const ROOT = resolve(fileURLToPath(new URL('../../../', import.meta.url)));

function say(text: string): void {
  process.stdout.write(text);
}

/** What a person has to mend: told without a stack. */
class ReleaseError extends Error {}

function versionOfTree(): string {
  const { version }: { readonly version: string } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return version;
}

function prepare(version: string, { date }: { readonly date: string }): void {
  checkVersion(version);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw new ReleaseError(`--date is '${date}'; allowed is a day, as 2026-01-31`);
  const log = join(ROOT, 'CHANGELOG.md');
  // First what can be refused: nothing is half changed.
  const text = withRelease(readFileSync(log, 'utf8'), version, date);
  const changed = setVersion(ROOT, version);
  writeFileSync(log, text);
  say(
    `${[...changed, 'CHANGELOG.md'].join('\n')}\n\nLook at it (git diff), run .ci/run, commit; then: npm run release -- build\n`,
  );
}

interface BuildOptions {
  readonly out: string;
  readonly signer?: string;
  readonly anyTree?: true;
}

async function build({ out, signer, anyTree }: BuildOptions): Promise<void> {
  const version = versionOfTree();
  const release: Release = { root: ROOT, version, out: resolve(out), signer };
  if (anyTree !== true) {
    refuse(await notReady(ROOT, version), 'there is no release of this tree');
    notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version);
  }
  await makeArtifacts(release, say);
  refuse(await missingIn(release), 'what was made is not complete');
  say(`\n${version} is in ${release.out}\n${readFileSync(join(release.out, 'SHA256SUMS'), 'utf8')}`);
}

function refuse(complaints: readonly string[], what: string): void {
  if (complaints.length > 0) throw new ReleaseError([`${what}:`, ...complaints.map((one) => `- ${one}`)].join('\n'));
}

interface UploadOptions extends BuildOptions {
  readonly yes?: true;
}

/** Without `--yes` it tells what it would do, and that all is there for it. */
async function upload({ out, signer, yes }: UploadOptions): Promise<void> {
  const version = versionOfTree();
  const release: Release = { root: ROOT, version, out: resolve(out), signer };
  refuse(await missingIn(release), `${release.out} has no complete release`);
  await run({ program: 'sha256sum', args: ['--check', '--quiet', 'SHA256SUMS'], folder: release.out });
  const uploads = uploadsOf(release.out, version, process.env);
  if (yes !== true) {
    say(`nothing is uploaded without --yes; these would run:\n\n${uploads.map((one) => `${shown(one)}\n`).join('')}`);
    return;
  }
  const unset = [...new Set(uploads.flatMap(({ needs }) => needs))].filter((name) => !process.env[name]);
  refuse(
    unset.map((name) => `${name} is not set`),
    'nothing was uploaded',
  );
  refuse(await notReady(ROOT, version), 'nothing was uploaded');
  for (const tag of tagsOf(version)) await run({ program: 'git', args: ['tag', '--force', tag], folder: ROOT });
  for (const one of uploads) {
    say(`${one.to}\n`);
    await run({ program: one.program, args: one.args, folder: ROOT });
  }
}

function program(): Command {
  const command = new Command('release')
    .description('Prepares, makes and uploads a release of Keyturn.')
    .exitOverride();
  command
    .command('prepare')
    .argument('<version>', 'MAJOR.MINOR.PATCH, or MAJOR.MINOR.PATCH-rc.N')
    .description('writes the version into every file that says it, and dates the section of the change log')
    .option('--date <day>', 'of the release', new Date().toISOString().slice(0, 10))
    .action(prepare);
  command
    .command('notes')
    .description('prints what the change log says of the version of this tree')
    .action(() => say(notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), versionOfTree())));
  command
    .command('build')
    .description('makes everything that is uploaded, and looks whether it is complete')
    .option('--out <folder>', 'made anew', join(ROOT, '.cache/release'))
    .option('--signer <key>', "a key of gpg, for Maven's repository")
    .option('--any-tree', 'a rehearsal: of a tree with changes, of a version without a date')
    .action(build);
  command
    .command('upload')
    .description('tells which uploads there are; with --yes it makes them')
    .option('--out <folder>', 'what `build` made', join(ROOT, '.cache/release'))
    .option('--signer <key>', 'the signatures have to be there')
    .option('--yes', 'upload')
    .action(upload);
  return command;
}

try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else if (
    error instanceof ReleaseError ||
    error instanceof WrongVersion ||
    error instanceof ChangeLogError ||
    error instanceof ProgramError
  ) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else throw error;
}
