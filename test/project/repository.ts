/** The files of the project, for the checks that look at the project itself. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface TextFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** The compiled tests lie in dist/test/project. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export function read(path: string): TextFile {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') };
}

const GENERATED = /^(console|src\/grpc|clients\/typescript\/src)\/gen\//;

/** TypeScript files below a folder, generated ones excepted. */
export function sources(folder: string): readonly TextFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => /\.tsx?$/.test(path) && !GENERATED.test(path))
    .sort()
    .map(read);
}

/** What git knows: committed or staged. */
export function tracked(): readonly TextFile[] {
  return trackedPaths().map(read);
}

export function trackedPaths(): readonly string[] {
  // A checkout may belong to another user than the one who runs the tests; git refuses that unless it is told.
  const args = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached'];
  const paths = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1_048_576 }).split('\0');
  return paths.filter((path) => path !== '' && isThere(path));
}

function isThere(path: string): boolean {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.isFile() === true;
}
