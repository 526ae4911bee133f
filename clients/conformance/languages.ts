/** The languages that have a client, and where their players are. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Language } from './play/suite.js';

export const LANGUAGES: readonly string[] = ['typescript', 'python', 'go', 'java'];

/** The compiled driver lies in dist/clients/conformance. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export const SCENARIOS = join(ROOT, 'clients', 'conformance', 'scenarios');

export function languageOf(name: string): Language {
  return { name, player: join(ROOT, 'clients', name, 'conformance', 'player') };
}
