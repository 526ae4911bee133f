/** Links to other sidecars, over gRPC. */
import { randomUUID } from 'node:crypto';
import type { Log } from '../call/handler.js';
import type { Certificates } from '../server/tls-credentials.js';
import { PeerLinks } from './links.js';
import { grpcDial, SCHEDULER } from './transport.js';

interface PeerLinksOptions {
  /** Set: TLS only. Asked for each connection, so that what it gives may change. `clientCa`: the authority of the cluster. */
  readonly certificates?: (() => Certificates) | undefined;
  /** Of the cluster's record. */
  readonly secret: string;
  /** Of this process. */
  readonly incarnation: string;
  /** Of the program. */
  readonly version: string;
  /** The version of the cluster's record that this sidecar follows. */
  routes(): number;
  readonly log: Log;
  /** Counts failures of our own. */
  readonly failed?: () => void;
}

export function peerLinks({ certificates, secret, log, failed, ...options }: PeerLinksOptions): PeerLinks {
  return new PeerLinks({
    dial: grpcDial(certificates),
    scheduler: SCHEDULER,
    secret,
    incarnation: options.incarnation,
    version: options.version,
    routes: () => options.routes(),
    failed: (error) => {
      failed?.();
      log.error({ id: randomUUID(), err: error }, 'a call to another sidecar failed inside this one');
    },
    problem: (address, why) => log.warn({ peer: address }, `no link to another sidecar: ${why}`),
  });
}
