/** The languages that have a client, and where their players are. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Language } from './play/suite.js';

export const LANGUAGES: readonly string[] = ['typescript', 'python', 'go', 'java'];

/**
 * A client that has more than one face, each of which is played: a column of its own in the report. `--language python`
 * means all of python.
 */
const FACES: Readonly<Record<string, readonly string[]>> = { python: ['python', 'python-sync'] };

/** How the face is told to the player. */
const OTHERS: Readonly<Record<string, Omit<Language, 'name' | 'player'> & { readonly of: string }>> = {
  'python-sync': { of: 'python', args: ['--sync'] },
};

export const PLAYED: readonly string[] = LANGUAGES.flatMap((language) => facesOf(language));

export function facesOf(name: string): readonly string[] {
  return FACES[name] ?? [name];
}

/** The compiled driver lies in dist/clients/conformance. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export const SCENARIOS = join(ROOT, 'clients', 'conformance', 'scenarios');

export function languageOf(name: string): Language {
  const { of, ...face } = OTHERS[name] ?? { of: name };
  return { name, player: join(ROOT, 'clients', of, 'conformance', 'player'), ...face };
}
