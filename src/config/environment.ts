/** Variables that begin with our name and that nobody reads: a misspelt setting must not pass in silence. */
import { editDistance } from './nearest.js';
import type { Problems } from './problem.js';
import { showText } from './written.js';

const PREFIX = 'KEYTURN_';
/** Further away it is another word, not a misspelt one. */
const MISSPELT_EDITS = 2;

/** What the commands and the clients read, and what our own commands give to their children. */
const READ_BY_OTHERS: ReadonlySet<string> = new Set([
  'KEYTURN_ADDRESS',
  'KEYTURN_TLS_CA',
  'KEYTURN_TLS_CLIENT_CERT',
  'KEYTURN_TLS_CLIENT_KEY',
  'KEYTURN_TLS_SERVER_NAME',
  'KEYTURN_TOKEN_FILE',
  'KEYTURN_QUEUE',
  'KEYTURN_KEY',
  'KEYTURN_TOKEN',
]);

/** What Kubernetes puts into every container of a namespace with a Service called "keyturn". */
const MADE_BY_KUBERNETES = /^KEYTURN_(PORT|SERVICE)(_|$)/;

/** @param read the variables of the settings. An empty variable is one that is not set. */
export function checkEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  read: readonly string[],
  problems: Problems,
): void {
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || value === undefined || value === '') continue;
    if (read.includes(name) || READ_BY_OTHERS.has(name) || MADE_BY_KUBERNETES.test(name)) continue;
    const meant = read.find((known) => editDistance(name, known) <= MISSPELT_EDITS);
    if (meant === undefined)
      problems.warn('', 'the environment', `${showText(name)} is no setting of this version; nobody reads it`);
    else problems.add('', 'the environment', `${showText(name)} is not a setting; did you mean ${meant}?`);
  }
}
