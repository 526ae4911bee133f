/**
 * Programs that tests need and npm does not bring. Continuous integration installs them (`.ci/run`), and there a test
 * that misses one fails. On a person's machine it reports itself as skipped, with what is missing and how to get it.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface NeededProgram {
  readonly name: string;
  /** Tried before the folders of PATH. */
  readonly places?: readonly string[];
  /** It is a file that another program reads. Unset: it is run. */
  readonly isRead?: true;
  /** How to get it, a sentence for people. */
  readonly install: string;
}

export type Found = { readonly path: string } | { readonly missing: string };

export function find(
  { name, places = [], isRead, install }: NeededProgram,
  env: NodeJS.ProcessEnv = process.env,
): Found {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const path = [...places, ...folders.map((folder) => join(folder, name))].find((path) =>
    isUsable(path, isRead ? constants.R_OK : constants.X_OK),
  );
  return path === undefined ? { missing: `${name} is not on this machine. ${install}` } : { path };
}

/**
 * The options of a test or a suite that needs programs: `describe('…', needs(RABBITMQ), () => …)`.
 *
 * @throws in continuous integration, when one is missing: there nothing is skipped
 */
export function needs(programs: readonly NeededProgram[], env: NodeJS.ProcessEnv = process.env): { skip?: string } {
  const missing = programs.flatMap((program) => {
    const found = find(program, env);
    return 'missing' in found ? [found.missing] : [];
  });
  if (missing.length === 0) return {};
  if (env['CI'] === 'true') throw new Error(missing.join(' '));
  return { skip: missing.join(' ') };
}

/** Where a program is that {@link needs} has found. */
export function pathOf(program: NeededProgram): string {
  const found = find(program);
  if ('missing' in found) throw new Error(found.missing);
  return found.path;
}

function isUsable(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
