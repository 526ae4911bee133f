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

/**
 * What Kubernetes puts into every container of a namespace with a Service whose name begins with ours, as `keyturn-tls`:
 * `…_SERVICE_HOST`, `…_PORT_7420_TCP_ADDR`.
 */
const MADE_BY_KUBERNETES =
  /^KEYTURN(_[A-Z0-9_]+)?_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
/** For a Service that is called as we are. */
const OF_OUR_NAME = /^KEYTURN_(PORT|SERVICE)(_|$)/;
/** A port alone may be what a person meant as a setting; that of Kubernetes is the address of a Service. */
const PORT = /^KEYTURN(_[A-Z0-9_]+)?_PORT$/;
const ADDRESS_OF_SERVICE = /^(tcp|udp|sctp):\/\//;

function isMadeByKubernetes(name: string, value: string): boolean {
  if (OF_OUR_NAME.test(name) || MADE_BY_KUBERNETES.test(name)) return true;
  return PORT.test(name) && ADDRESS_OF_SERVICE.test(value);
}

/** @param read the variables of the settings. An empty variable is one that is not set. */
export function checkEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  read: readonly string[],
  problems: Problems,
): void {
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || value === undefined || value === '') continue;
    if (read.includes(name) || READ_BY_OTHERS.has(name) || isMadeByKubernetes(name, value)) continue;
    const meant = read.find((known) => editDistance(name, known) <= MISSPELT_EDITS);
    if (meant === undefined)
      problems.warn('', 'the environment', `${showText(name)} is no setting of this version; nobody reads it`);
    else problems.add('', 'the environment', `${showText(name)} is not a setting; did you mean ${meant}?`);
  }
}
