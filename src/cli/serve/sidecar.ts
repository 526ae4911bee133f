/** Puts the parts together: coordinator, gRPC, HTTP. Either all of it runs, or nothing is left. */
import { type Address, formatAddress, isLocal, parseAddress } from '../../config/address.js';
import type { Config } from '../../config/config.js';
import type { Coordinator, DrainReport } from '../../coordinator.js';
import { type GrpcServer, startGrpcServer } from '../../grpc/server.js';
import { type HttpServer, startHttpServer } from '../../http/server.js';
import { LocalCoordinator } from '../../local/coordinator.js';
import type { Logger } from '../../observability/logger.js';
import { createMetrics, type Metrics } from '../../observability/metrics.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';

export interface SidecarOptions {
  readonly log: Logger;
  readonly version: string;
}

export interface Sidecar {
  /** Where it listens, with the real ports. */
  readonly grpc: string;
  readonly http: string;
  /** Refuses new work; when no turn lives or after `timeout` ms everything is stopped. */
  drain(timeout: number): Promise<DrainReport>;
  /** Ends everything now, and tells what is lost with it. */
  end(): Loss;
}

export interface Loss {
  readonly liveTurns: number;
  readonly waitingItems: number;
  readonly deadLetters: number;
}

/** After the drain every call is answered; this is for answers that are still on their way. */
const LAST_ANSWERS_MS = 1_000;

/** @throws CommandFailure when it cannot listen; nothing is left running then */
export async function startSidecar(config: Config, { log, version }: SidecarOptions): Promise<Sidecar> {
  const coordinator = new LocalCoordinator(config.coordinator);
  const metrics = createMetrics({ coordinator, version });
  const probe: Probe = { notReady: 'starting' };
  let http: HttpServer | undefined;
  try {
    // HTTP first: until gRPC listens it says that it is starting.
    http = await listenHttp(config, metrics, probe, log);
    const grpc = await listenGrpc(config, coordinator, metrics, log);
    warnBeyondLoopback(config, log);
    probe.notReady = undefined;
    return running({ coordinator, grpc, http, probe, host: tcp(config.server.httpListen).host });
  } catch (error) {
    http?.forceStop();
    coordinator.close();
    throw error;
  }
}

interface Probe {
  notReady: 'starting' | 'draining' | undefined;
}

interface Parts {
  readonly coordinator: Coordinator;
  readonly grpc: GrpcServer;
  readonly http: HttpServer;
  readonly probe: Probe;
  readonly host: string;
}

function running({ coordinator, grpc, http, probe, host }: Parts): Sidecar {
  return {
    grpc: grpc.address,
    http: formatAddress({ kind: 'tcp', host, port: http.port }),
    async drain(timeout) {
      probe.notReady = 'draining';
      grpc.setServing(false);
      const report = await coordinator.drain(timeout);
      // First the coordinator: it answers calls that still wait and ends streams, which the server would wait for.
      coordinator.close();
      await grpc.stop(LAST_ANSWERS_MS);
      http.forceStop();
      return report;
    },
    end() {
      const loss = lossOf(coordinator);
      coordinator.close();
      grpc.forceStop();
      http.forceStop();
      return loss;
    },
  };
}

function lossOf(coordinator: Coordinator): Loss {
  const views = coordinator.stats().queues.map(({ view }) => view);
  const sum = (count: (view: (typeof views)[number]) => number): number =>
    views.reduce((total, view) => total + count(view), 0);
  return {
    liveTurns: sum((view) => view.liveTurns),
    waitingItems: sum((view) => view.waitingItems),
    deadLetters: sum((view) => view.deadLetters),
  };
}

async function listenHttp({ server }: Config, metrics: Metrics, probe: Probe, log: Logger): Promise<HttpServer> {
  const { host, port } = tcp(server.httpListen);
  try {
    return await startHttpServer({ host, port, metrics: metrics.render, notReady: () => probe.notReady, log });
  } catch (error) {
    throw cannotListen('http_listen', error);
  }
}

async function listenGrpc(
  { server, coordinator: { limits } }: Config,
  coordinator: Coordinator,
  { observe }: Metrics,
  log: Logger,
): Promise<GrpcServer> {
  try {
    return await startGrpcServer({ listen: server.listen, coordinator, limits, observe, log });
  } catch (error) {
    throw cannotListen('listen', error);
  }
}

/** The errors of both servers name the address. */
function cannotListen(setting: string, error: unknown): CommandFailure {
  const why = error instanceof Error ? error.message : String(error);
  return new CommandFailure(`${setting}: ${why}`, EXIT.failure);
}

function warnBeyondLoopback({ server }: Config, log: Logger): void {
  if (!isLocal(parsed(server.listen))) {
    log.warn(
      { listen: server.listen },
      'listens beyond loopback without TLS: whoever can reach it can take and end turns',
    );
  }
  if (!isLocal(tcp(server.httpListen))) {
    log.warn(
      { http_listen: server.httpListen },
      'listens beyond loopback without TLS: whoever can reach it can read the metrics',
    );
  }
}

function parsed(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`the configuration let an address pass that is none: ${text}`);
  return address;
}

function tcp(text: string): Extract<Address, { kind: 'tcp' }> {
  const address = parsed(text);
  if (address.kind !== 'tcp') throw new Error(`the configuration let an address pass that is not host:port: ${text}`);
  return address;
}
