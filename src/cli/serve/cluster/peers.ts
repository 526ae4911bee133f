/** The links between this sidecar and the others: its own server, and the connections to theirs. */

import { randomUUID } from 'node:crypto';
import type { FollowedRoutes } from '../../../cluster/partitions/followed-routes.js';
import { formatAddress } from '../../../config/address.js';
import type { ClusterSettings, PeerTlsSettings } from '../../../config/cluster-settings.js';
import { unfitForPeers } from '../../../config/peer-certificate.js';
import type { Coordinator, Limits } from '../../../coordinator.js';
import type { Audited } from '../../../grpc/call/audit.js';
import { peerLinks } from '../../../grpc/peer/connect.js';
import type { HandOverStep } from '../../../grpc/peer/hand-over-step.js';
import type { PeerLinks } from '../../../grpc/peer/links.js';
import { whoAnswersAt } from '../../../grpc/peer/own-address.js';
import { startPeerServer } from '../../../grpc/peer/peer-server.js';
import { systemClock } from '../../../local/clock.js';
import type { Logger } from '../../../observability/logger.js';
import { EXIT } from '../../exit-codes.js';
import { CommandFailure } from '../../failure.js';
import { cannotListen } from '../cannot-listen.js';
import { Certificates } from '../certificates.js';
import { OwnAddress } from './own-address.js';
import { addressTowards, advertised, checkReachable } from './peer-address.js';

/** Taken unless another one is asked for, if it is free. */
const PORT = 7_423;

interface Around {
  readonly cluster: ClusterSettings;
  readonly routes: FollowedRoutes;
  readonly limits: Limits;
  readonly log: Logger;
  readonly version: string;
  /** Unset: there is no audit. */
  readonly audited: Audited | undefined;
  readonly standing: {
    readonly incarnation: string;
    home(partition: number): Coordinator | undefined;
    handedOver(partition: number, shutFor: number, step: HandOverStep): void;
    behind(): void;
  };
}

export interface Peers {
  /** What others are told. */
  readonly address: string;
  readonly links: PeerLinks;
  /** Precondition: this sidecar is ready. @throws CommandFailure when `address` leads to another sidecar */
  proveAddress(isEnded: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** @throws CommandFailure */
export async function startPeers(around: Around): Promise<Peers> {
  const { cluster, routes, log, version, standing } = around;
  const { secret } = routes.now.record;
  const own = await addressTowards(cluster.store.url).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(`store: ${cluster.store.shown} is not reached: ${why}`, EXIT.failure);
  });
  const certificates = await openCertificates(cluster.tls, log);
  let material = certificates?.first;
  const server = await listen(around, own, material);
  const address = advertised(cluster.advertise, server.address, own);
  const shown = certificates && (() => material ?? certificates.first);
  const ownAddress = new OwnAddress({
    address,
    clock: systemClock,
    log,
    incarnation: () => standing.incarnation,
    ask: (incarnation) => whoAnswersAt(address, { certificates: shown, secret, incarnation, version }),
  });
  // Nobody links to a gateway. A member that nobody reaches would be given partitions all the same, and keep calls from them.
  const isHome = cluster.weight > 0;
  try {
    if (isHome) await checkReachable(address).catch((error: unknown) => unreachable(address, error));
    if (isHome) await ownAddress.begin();
  } catch (error) {
    certificates?.close();
    await server.stop();
    throw error;
  }
  void certificates?.watch((next) => {
    material = next;
    server.useCertificates(next);
  });
  const links = peerLinks({
    certificates: shown,
    secret,
    incarnation: randomUUID(),
    version,
    routes: () => routes.version,
    log,
  });
  return {
    address,
    links,
    proveAddress: async (isEnded) => {
      if (isHome) await ownAddress.prove(isEnded);
    },
    async close() {
      certificates?.close();
      links.close();
      await server.stop();
    },
  };
}

function unreachable(address: string, error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new CommandFailure(
    `cluster.advertise: other sidecars would look for this one at ${address}, where nobody answers (${why}). ` +
      'Say an address of this machine that they reach: --cluster-advertise, KEYTURN_CLUSTER_ADVERTISE or cluster.advertise in the file.',
    EXIT.failure,
  );
}

function openCertificates({ cert, key, ca }: PeerTlsSettings, log: Logger): Promise<Certificates | undefined> {
  return Certificates.open({ cert, key, clientCa: ca }, log, undefined, (material) => {
    const unfit = unfitForPeers(material);
    return unfit && `cluster.tls.${unfit.field}: ${unfit.what}`;
  });
}

/** A port that was not asked for and is taken is replaced by a free one. */
async function listen(around: Around, own: string, certificates: Certificates['first'] | undefined) {
  const { cluster, routes, standing, limits, log, version, audited } = around;
  const start = (address: string) =>
    startPeerServer({
      listen: address,
      ...(certificates && { certificates }),
      secret: routes.now.record.secret,
      get incarnation() {
        return standing.incarnation;
      },
      version,
      home: (partition) => standing.home(partition),
      routes: () => routes.version,
      behind: () => standing.behind(),
      handedOver: (...told) => standing.handedOver(...told),
      audited,
      limits,
      log,
    });
  if (cluster.peerListen !== undefined) {
    const asked = cluster.peerListen;
    return start(asked).catch((error: unknown) => {
      throw cannotListen('cluster.peer_listen', asked, error);
    });
  }
  const at = (port: number) => formatAddress({ kind: 'tcp', host: own, port });
  return start(at(PORT)).catch((error: unknown) => {
    if (!String(error).includes('EADDRINUSE')) throw cannotListen('cluster.peer_listen', at(PORT), error);
    return start(at(0));
  });
}
