/** What must hold between the settings of a cluster and all others. */
import { isDeepStrictEqual } from 'node:util';
import { CLUSTER_DEFAULTS, type ClusterFields, PEER_TLS, type PeerTlsSettings } from './cluster-settings.js';
import { formatDuration } from './duration.js';
import { unfitForPeers } from './peer-certificate.js';
import type { Problems } from './problem.js';
import type { ServerSettings } from './server-settings.js';
import { examineTls, readTlsFilesNow } from './tls-files.js';
import { showText } from './written.js';

/** Where a setting was said last; unset: nowhere. */
export interface Places {
  server(field: keyof ServerSettings): string | undefined;
  peerTls(field: keyof PeerTlsSettings): string | undefined;
  /** The group in the file. */
  readonly cluster: string | undefined;
}

interface About {
  readonly server: ServerSettings;
  readonly cluster: ClusterFields;
  readonly placeOf: Places;
  readonly problems: Problems;
}

const SOMEWHERE = 'all sources together';

export function checkCluster(about: About): void {
  const { server, cluster, placeOf, problems } = about;
  checkPeerTls(about);
  const { store, registry, dataDir, startupHold } = server;
  if (store === undefined) {
    const why = 'but there is no cluster: store is memory; KEYTURN_STORE or --store names one';
    if (registry !== undefined)
      problems.add('registry', placeOf.server('registry') ?? SOMEWHERE, `is ${showText(registry.shown)}, ${why}`);
    if (!isDeepStrictEqual(cluster, CLUSTER_DEFAULTS))
      problems.warn('cluster', placeOf.cluster ?? 'environment and flags', `says something, ${why}`);
    return;
  }
  if (dataDir !== undefined)
    problems.add(
      'data_dir',
      placeOf.server('dataDir') ?? SOMEWHERE,
      `is ${showText(dataDir)}, but store is ${store.shown}, where everything is kept; leave one of them out (what is in a directory is not brought over: a sidecar with it alone can finish it)`,
    );
  if (startupHold > 0)
    problems.add(
      'startup_hold',
      placeOf.server('startupHold') ?? SOMEWHERE,
      `is ${formatDuration(startupHold)}, but in a cluster all turns are stored and none has to be waited for; leave it out`,
    );
}

function checkPeerTls({ cluster: { tls }, placeOf, problems }: About): void {
  const { cert, key, ca } = tls;
  const given = (['cert', 'key', 'ca'] as const).filter((field) => tls[field] !== undefined);
  const [first] = given;
  // What was refused as a path is told, and reads as an empty one.
  if (first === undefined || given.some((field) => tls[field] === '')) return;
  const place = placeOf.peerTls(first) ?? SOMEWHERE;
  for (const field of ['cert', 'key', 'ca'] as const) {
    if (tls[field] !== undefined) continue;
    const { flag, env } = PEER_TLS.settings[field];
    problems.add(PEER_TLS.path + field, place, `is missing (${flag}, ${env}), must be given with cluster.tls.${first}`);
  }
  if (given.length < 3) return;
  const files = { cert, key, clientCa: ca };
  const examined = examineTls(files, readTlsFilesNow(files));
  if (examined.ok) {
    const unfit = unfitForPeers(examined.material);
    if (unfit !== undefined) {
      const { field, what } = unfit;
      problems.add(
        PEER_TLS.path + field,
        placeOf.peerTls(field) ?? SOMEWHERE,
        `is ${showText(tls[field] ?? '')}, ${what}`,
      );
    }
    return;
  }
  for (const { file, what } of examined.problems) {
    const field = file === 'clientCa' ? 'ca' : file;
    problems.add(PEER_TLS.path + field, placeOf.peerTls(field) ?? SOMEWHERE, what);
  }
}
