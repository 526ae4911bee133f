/** The server to which other sidecars of the cluster link themselves. */

import { type Server, ServerCredentials } from '@grpc/grpc-js';
import type { Coordinator, Limits } from '../../coordinator.js';
import type { Audited } from '../call/audit.js';
import type { Log } from '../call/handler.js';
import { refuseMalformedText } from '../convert/utf8.js';
import { Check } from '../convert/validate.js';
import { grpcSpeaksTo } from '../server/grpc-log.js';
import { parseListen, targetOf } from '../server/listen.js';
import { TlsConnections } from '../server/tls-connections.js';
import { type Certificates, TlsCredentials } from '../server/tls-credentials.js';
import { LinkGate } from './gate.js';
import type { HandOverStep } from './hand-over-step.js';
import { HomeStream } from './home-stream.js';
import { atHome } from './limits.js';
import { PEER_SERVICE, peerServer, peerService, SCHEDULER } from './transport.js';

interface PeerServerOptions {
  /** `host:port` or `[v6]:port`; port 0: any free one. */
  readonly listen: string;
  /** Set: TLS only. Its `clientCa` is the authority of the cluster: gateways must show a certificate of it. */
  readonly certificates?: Certificates | undefined;
  /** Of the cluster's record. */
  readonly secret: string;
  /** Of this process. */
  readonly incarnation: string;
  /** Of the program. */
  readonly version: string;
  /** The coordinator in this process that is the home of the partition; unset: none is. Asked for each call. */
  home(partition: number): Coordinator | undefined;
  /** The version of the cluster's record that this sidecar follows: who follows an older one is refused (`no_home`). */
  routes(): number;
  /** Another sidecar goes by newer routes. */
  behind?(): void;
  /** Another sidecar was the home of this partition until now, and let no call in for so many ms; or a step before that. */
  handedOver?(partition: number, shutFor: number, step: HandOverStep): void;
  /** Told of what people change by way of other sidecars. */
  readonly audited?: Audited | undefined;
  readonly limits: Limits;
  readonly log: Log;
  /** Counts failures of our own. */
  readonly failed?: () => void;
}

export interface PeerServer {
  /** Where it listens, with the real port. */
  readonly address: string;
  /** Links of other sidecars that are open. */
  readonly links: number;
  /** For new connections, from now on. */
  useCertificates(certificates: Certificates): void;
  /** Ends all links: their calls are cancelled, their sessions closed. Then the port is free. */
  stop(): Promise<void>;
}

/** Streams that have not shown yet that they belong to the cluster: others are turned away meanwhile. */
const MOST_STRANGERS = 64;
/** ms; what is left is cut. */
const STOP_WITHIN = 500;

/** @throws Error when the address is malformed, in use, or not usable, or there is no secret */
export async function startPeerServer(options: PeerServerOptions): Promise<PeerServer> {
  const { certificates, secret } = options;
  if (secret === '')
    throw new Error('a link without a secret would let everybody in: the record of the cluster has one');
  if (certificates !== undefined && certificates.clientCa === undefined)
    throw new Error('the links between sidecars check both sides: cluster.tls needs cert, key and ca');
  refuseMalformedText();
  grpcSpeaksTo(options.log);
  const running = new RunningPeerServer(options);
  await running.listen();
  return running;
}

class RunningPeerServer implements PeerServer {
  address = '';
  readonly #server: Server = peerServer();
  readonly #gate: LinkGate;
  readonly #tls: TlsCredentials | undefined;
  readonly #strangers = new Set<HomeStream>();
  #connections: TlsConnections | undefined;

  constructor(private readonly options: PeerServerOptions) {
    const { limits, log, failed, certificates, audited } = options;
    this.#tls = certificates && new TlsCredentials(certificates);
    this.#gate = new LinkGate({
      scheduler: SCHEDULER,
      check: new Check(atHome(limits)),
      log,
      audited,
      ...(failed === undefined ? {} : { failed }),
      home: (partition) => options.home(partition),
      routes: () => options.routes(),
      behind: () => options.behind?.(),
      handedOver: (...told) => options.handedOver?.(...told),
    });
    this.#server.addService(
      PEER_SERVICE,
      peerService((stream) => this.#begun(stream)),
    );
  }

  get links(): number {
    return this.#gate.size;
  }

  async listen(): Promise<void> {
    const address = parseListen(this.options.listen);
    if (address.kind !== 'tcp')
      throw new Error(`cannot listen on "${this.options.listen}" for other sidecars; allowed: host:port`);
    const target = targetOf(address, address.port);
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(target, this.#tls ?? ServerCredentials.createInsecure(), (error, bound) => {
        if (error)
          reject(new Error(`cannot listen on ${target} for other sidecars: ${error.message}`, { cause: error }));
        else resolve(bound);
      });
    });
    this.address = targetOf(address, port);
    if (this.#tls !== undefined) this.#connections = new TlsConnections(this.#server, this.options.log);
  }

  useCertificates(certificates: Certificates): void {
    if (this.#tls === undefined) throw new Error('the links were started without TLS');
    this.#tls.use(certificates);
  }

  stop(): Promise<void> {
    this.#gate.stop();
    return new Promise((resolve) => {
      const cut = SCHEDULER.after(STOP_WITHIN, () => {
        this.#server.forceShutdown();
        this.#connections?.endAll();
      });
      this.#server.tryShutdown(() => {
        cut();
        this.#connections?.endAll();
        resolve();
      });
    });
  }

  #begun(stream: ConstructorParameters<typeof HomeStream>[0]): HomeStream {
    const { secret, incarnation, version } = this.options;
    const home: HomeStream = new HomeStream(
      stream,
      { scheduler: SCHEDULER, secret, incarnation, version },
      {
        admit: (one, admission) => {
          this.#strangers.delete(one);
          return this.#gate.admit(one, admission);
        },
        refused: (ending, open) => this.#gate.refused(ending, open),
        over: (one) => void this.#strangers.delete(one),
      },
    );
    if (this.#strangers.size >= MOST_STRANGERS) home.close(undefined);
    else this.#strangers.add(home);
    return home;
  }
}
