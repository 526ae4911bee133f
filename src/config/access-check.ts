/** What must hold between access control and the settings beside it. */
import type { AccessSettings } from '../access/settings.js';
import { readSecrets } from './access-files.js';
import { type Address, isLocal, parseAddress } from './address.js';
import type { Places } from './cluster-check.js';
import type { ClusterFields } from './cluster-settings.js';
import { ConfigError, type Problems } from './problem.js';
import { SERVER_SETTINGS, type ServerSettings } from './server-settings.js';
import type { TlsSettings } from './tls-settings.js';
import { entryOf, showText, type Written } from './written.js';

interface About {
  readonly server: ServerSettings;
  readonly tls: TlsSettings;
  readonly cluster: ClusterFields;
  /** Unset: there is none. */
  readonly access: AccessSettings | undefined;
  readonly placeOf: Places;
  /** The group in the file. */
  readonly written: Written | undefined;
  readonly problems: Problems;
}

const SOMEWHERE = 'all sources together';

export function checkAccess(about: About): void {
  const { access } = about;
  checkReach(about);
  if (access !== undefined) checkWays(access, about);
}

/** Nobody may serve strangers without having said so. */
function checkReach({ server, tls, cluster, access, placeOf, problems }: About): void {
  if (server.insecure) return;
  const isOpen = access === undefined && tls.clientCa === undefined;
  const { flag, env } = SERVER_SETTINGS.insecure;
  const way = `insecure: true (${flag} true, ${env}=true) if whoever can reach it may ask everything`;
  if (isOpen && isBeyond(server.listen))
    problems.add(
      'listen',
      placeOf.server('listen') ?? SOMEWHERE,
      `is ${showText(server.listen)}, which others than this machine can reach, but nobody would be asked who they are; needs auth, or tls.client_ca, or ${way}`,
    );
  if (isOpen && server.consoleListen !== undefined && isBeyond(server.consoleListen))
    problems.add(
      'console_listen',
      placeOf.server('consoleListen') ?? SOMEWHERE,
      `is ${showText(server.consoleListen)}, which others than this machine can reach, but nobody would be asked who they are; needs auth, or tls.client_ca, or ${way}`,
    );
  const { peerListen, tls: peerTls } = cluster;
  if (peerListen !== undefined && peerTls.ca === undefined && isBeyond(peerListen))
    problems.add(
      'cluster.peer_listen',
      placeOf.cluster ?? SOMEWHERE,
      `is ${showText(peerListen)}, which others than this machine can reach, but without cluster.tls what sidecars tell each other can be read and changed on the way; needs cluster.tls, or ${way}`,
    );
}

function isBeyond(listen: string): boolean {
  const address: Address | undefined = parseAddress(listen);
  return address !== undefined && !isLocal(address);
}

function checkWays(access: AccessSettings, { server, tls, written, placeOf, problems }: About): void {
  const place = (field: string) => entryOf(written, field)?.value.place ?? written?.place ?? SOMEWHERE;
  const { certificates, jwt, tokens, unix } = access;
  if (certificates.length === 0 && jwt === undefined && tokens === undefined && unix === undefined)
    problems.add(
      'auth',
      written?.place ?? SOMEWHERE,
      'names no way to show who one is, so nobody could ask anything; needs tokens, certificates, jwt or unix',
    );
  if (certificates.length > 0 && tls.clientCa === undefined)
    problems.add(
      'auth.certificates',
      place('certificates'),
      'are named, but without tls.client_ca no client shows one',
    );
  const listen = parseAddress(server.listen);
  if (unix !== undefined && listen?.kind !== 'unix')
    problems.add(
      'auth.unix',
      place('unix'),
      `is ${showText(unix)}, but listen is ${showText(server.listen)}, which is no socket of the file system`,
    );
  const isBearer = tokens !== undefined || jwt !== undefined;
  if (isBearer && listen !== undefined && !isLocal(listen) && tls.cert === undefined)
    problems.add(
      tokens === undefined ? 'auth.jwt' : 'auth.tokens',
      place(tokens === undefined ? 'jwt' : 'tokens'),
      `needs TLS, because listen is ${showText(server.listen)} (${placeOf.server('listen') ?? SOMEWHERE}): a token that others can read on the way is theirs, too; needs tls.cert and tls.key`,
    );
  const { consoleListen } = server;
  if (isBearer && consoleListen !== undefined && isBeyond(consoleListen) && tls.cert === undefined)
    problems.add(
      'console_listen',
      placeOf.server('consoleListen') ?? SOMEWHERE,
      `is ${showText(consoleListen)}, which others than this machine can reach, and without TLS a token that others can read on the way is theirs, too; needs tls.cert and tls.key`,
    );
  checkNames(access, place('rights'), problems);
  checkFiles(access, problems);
}

/** Names that nobody can have are misspelt ones. Of tokens and signed tokens others than the settings say who there is. */
function checkNames(
  { certificates, unix, tokens, jwt, rights }: AccessSettings,
  place: string,
  problems: Problems,
): void {
  for (const name of [...certificates.map(({ is }) => is), ...(unix === undefined ? [] : [unix])])
    if (!rights.has(name))
      problems.warn('auth.rights', place, `does not name ${showText(name)}, who may so do nothing`);
  if (tokens !== undefined || jwt !== undefined) return;
  for (const name of rights.keys())
    if (name !== unix && !certificates.some(({ is }) => is === name))
      problems.warn('auth.rights', place, `names ${showText(name)}, but nobody can show to be that`);
}

function checkFiles(access: AccessSettings, problems: Problems): void {
  // What was refused as a path is told, and reads as an empty one.
  if (access.tokens === '' || access.jwt?.keys === '') return;
  try {
    readSecrets(access);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const { setting, place, what } of error.problems) problems.add(setting, place, what);
  }
}
