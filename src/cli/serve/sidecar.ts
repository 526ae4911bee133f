/** Puts the parts together: coordinator, gRPC, HTTP. Either all of it runs, or nothing is left. */
import { type Address, formatAddress, isLocal, parseAddress } from '../../config/address.js';
import type { Config } from '../../config/config.js';
import type { TlsMaterial } from '../../config/tls-files.js';
import type { Cluster, Coordinator, DrainReport, SlowTurn } from '../../coordinator.js';
import { isDurable } from '../../core/contract/policy.js';
import type { Audited } from '../../grpc/call/audit.js';
import type { Refused } from '../../grpc/call/door.js';
import { type Access, type GrpcServer, startGrpcServer } from '../../grpc/server/server.js';
import { type HttpServer, startHttpServer } from '../../http/server.js';
import { systemClock } from '../../local/clock.js';
import type { Logger } from '../../observability/logger.js';
import { createMetrics, type Metrics } from '../../observability/metrics.js';
import { AccessControl } from './access.js';
import { auditLines } from './audit-lines.js';
import { cannotListen } from './cannot-listen.js';
import { Certificates } from './certificates.js';
import { type OpenConsole, openConsole } from './console.js';
import { SidecarDesk } from './desk.js';
import { diskSpace } from './disk-space.js';
import { type Engine, openAlone } from './engine.js';
import { withMemoryBudget } from './memory-budget.js';
import { warnOfFewFiles } from './open-files.js';
import { Readiness } from './readiness.js';
import { SlowHolds } from './slow-holds.js';
import { StartupHold } from './startup-hold.js';
import { UnusedKeys } from './unused-keys.js';

interface SidecarOptions {
  readonly log: Logger;
  readonly version: string;
}

export interface Sidecar {
  /** Where it listens, with the real ports. */
  readonly grpc: string;
  readonly http: string;
  /** Its address for a browser. Unset: there is none. */
  readonly console: string | undefined;
  /**
   * Resolves when all calls are let in, or when it was ended before. Rejects with a CommandFailure when the data cannot
   * be used: then it is only to be stopped.
   */
  readonly ready: Promise<void>;
  /** Refuses new work; when no turn lives or after `timeout` ms everything is stopped. */
  drain(timeout: number): Promise<DrainReport>;
  /** Stops everything without waiting for turns; resolves when the data directory is free. */
  stop(): Promise<void>;
  /** Ends everything now, and tells what is lost with it. */
  end(): Loss;
}

interface Loss {
  readonly liveTurns: number;
  /** Kept only in memory. */
  readonly waitingItems: number;
  /** Kept only in memory. */
  readonly deadLetters: number;
}

/** After the drain every call is answered; this is for answers that are still on their way. */
const LAST_ANSWERS_MS = 1_000;

/** @throws CommandFailure when it cannot listen or use its data directory; nothing is left running then */
export async function startSidecar(config: Config, { log, version }: SidecarOptions): Promise<Sidecar> {
  let grpc: GrpcServer | undefined;
  let http: HttpServer | undefined;
  let view: OpenConsole | undefined;
  const readiness = new Readiness(log, (isReady) => grpc?.setServing(isReady));
  const certificates = await Certificates.open(config.tls, log);
  const control = AccessControl.open(config.access, log);
  const audit =
    config.server.audit === 'stderr' ? auditLines((line) => process.stderr.write(line), systemClock) : undefined;
  const warn = (fields: object, message: string) => log.warn(fields, message);
  const slow = new SlowHolds(config, systemClock, warn);
  const engine = await openEngine(withMemoryBudget(config, log), {
    log,
    version,
    readiness,
    audited: audit?.audited,
    onSlow: slow.ended,
    onUnusedKey: new UnusedKeys(warn).found,
  });
  const { coordinator } = engine;
  try {
    const surroundings = async () => ({
      isReady: readiness.notReady === undefined,
      certificate: certificates?.valid,
      disk: config.server.dataDir === undefined ? undefined : await diskSpace(config.server.dataDir),
    });
    const metrics = createMetrics({ coordinator, version, surroundings, cluster: engine.numbers });
    const hold = new StartupHold();
    // There is nothing to wait for, and nobody need be refused.
    if (engine.isNew) await engine.begin();
    // HTTP first: until gRPC listens it says that it is starting.
    http = await listenHttp(config, { metrics, readiness, remark: () => hold.remark ?? engine.remark, log });
    const { cluster } = engine;
    const access = control && { authenticator: control.authenticator, refused: audit?.refused ?? notLetIn(log) };
    const desk = new SidecarDesk(config, {
      version,
      coordinator,
      addresses: () => ({ grpc: grpc?.address ?? '', http: httpAddress(config, http), page: view?.url }),
    });
    const server = await listenGrpc(config, {
      desk,
      coordinator,
      cluster,
      certificates: certificates?.first,
      access,
      audited: audit?.audited,
      metrics,
      log,
    });
    grpc = server;
    engine.listens?.(server.address);
    const { observe, failed } = metrics;
    const { first } = certificates ?? {};
    const calls = { coordinator, cluster, desk, access, audited: audit?.audited, observe, failed, log };
    view = await openConsole(config, { ...calls, version, certificates: first });
    void certificates?.watch((material) => {
      server.useCertificates(material);
      view?.server.useCertificates(material);
    });
    control?.watch(() => {
      server.endRevoked();
      view?.server.endRevoked();
    });
    slow.watch(coordinator);
    warnBeyondLoopback(config, log);
    await warnOfFewFiles(config.coordinator.limits.connections, log);
    readiness.listening();
    const { host } = tcp(config.server.httpListen);
    const onReady = () => hold.note(coordinator, log);
    return running({ engine, grpc, http, view, watches: [certificates, control, slow], readiness, host, onReady });
  } catch (error) {
    view?.server.forceStop();
    grpc?.forceStop();
    http?.forceStop();
    await engine.close();
    throw error;
  }
}

interface Around extends SidecarOptions {
  readonly readiness: Readiness;
  readonly audited: Audited | undefined;
  readonly onSlow: (turn: SlowTurn) => void;
  readonly onUnusedKey: (queue: string) => void;
}

async function openEngine(
  config: Config,
  { log, version, readiness, audited, onSlow, onUnusedKey }: Around,
): Promise<Engine> {
  const { cluster } = config;
  if (cluster === undefined)
    return openAlone(config, (state) => readiness.storeChanged(state), { onSlow, onUnusedKey });
  // Only here: it is a third of all that there is to load.
  const { openCluster } = await import('./cluster/cluster-engine.js');
  const onReadiness = (why: string | undefined) => readiness.clusterChanged(why);
  return openCluster(config, cluster, { log, version, audited, onReadiness, onSlow, onUnusedKey });
}

interface Parts {
  readonly engine: Engine;
  readonly grpc: GrpcServer;
  readonly http: HttpServer;
  readonly view: OpenConsole | undefined;
  /** What is read again when it changes. */
  readonly watches: readonly ({ close(): void } | undefined)[];
  readonly readiness: Readiness;
  readonly host: string;
  /** Called when all calls are let in. */
  readonly onReady: () => Promise<void>;
}

function running({ engine, grpc, http, view, watches, readiness, host, onReady }: Parts): Sidecar {
  const { coordinator } = engine;
  const unwatch = () => {
    for (const watch of watches) watch?.close();
  };
  return {
    grpc: grpc.address,
    http: formatAddress({ kind: 'tcp', host, port: http.port }),
    console: view?.url,
    ready: engine.begin().then(onReady),
    async drain(timeout) {
      readiness.draining();
      const report = await coordinator.drain(timeout);
      // First the coordinator: it answers calls that still wait and ends streams, which the server would wait for.
      await engine.close();
      unwatch();
      await grpc.stop(LAST_ANSWERS_MS);
      view?.server.forceStop();
      http.forceStop();
      return report;
    },
    async stop() {
      readiness.draining();
      await engine.close();
      unwatch();
      grpc.forceStop();
      view?.server.forceStop();
      http.forceStop();
    },
    end() {
      const loss = lossOf(coordinator);
      // Nobody waits for it: what was answered as durable is on the disk.
      void engine.close();
      unwatch();
      grpc.forceStop();
      view?.server.forceStop();
      http.forceStop();
      return loss;
    },
  };
}

function lossOf(coordinator: Coordinator): Loss {
  const views = coordinator
    .stats()
    .queues.map(({ view }) => view)
    .filter(({ policy }) => !isDurable(policy));
  const sum = (count: (view: (typeof views)[number]) => number): number =>
    views.reduce((total, view) => total + count(view), 0);
  return {
    liveTurns: coordinator.stats().queues.reduce((total, { view }) => total + view.liveTurns, 0),
    waitingItems: sum((view) => view.waitingItems),
    deadLetters: sum((view) => view.deadLetters),
  };
}

function httpAddress({ server }: Config, http: HttpServer | undefined): string {
  const { host, port } = tcp(server.httpListen);
  return formatAddress({ kind: 'tcp', host, port: http?.port ?? port });
}

interface HttpParts {
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  readonly remark: () => string | undefined;
  readonly log: Logger;
}

async function listenHttp({ server }: Config, { metrics, readiness, remark, log }: HttpParts): Promise<HttpServer> {
  const { host, port } = tcp(server.httpListen);
  // Beyond loopback a scraper asks by whatever name its network has for this machine.
  const names = isLocal(parsed(server.httpListen))
    ? new Set(server.httpHosts.map((name) => name.toLowerCase()))
    : undefined;
  try {
    return await startHttpServer({
      host,
      port,
      names,
      metrics: metrics.render,
      notReady: () => readiness.notReady,
      remark,
      log,
    });
  } catch (error) {
    throw cannotListen('http_listen', server.httpListen, error);
  }
}

/** One line a second at most: who tries tokens must not fill the disk. */
function notLetIn(log: Logger): Refused {
  let lastAt = Number.NEGATIVE_INFINITY;
  let between = 0;
  return (_shown, from, path, why) => {
    const now = performance.now();
    if (now - lastAt < 1_000) {
      between += 1;
      return;
    }
    log.warn({ from, call: path, reason: why, between }, 'a caller was not let in');
    lastAt = now;
    between = 0;
  };
}

interface GrpcParts {
  readonly desk: SidecarDesk;
  readonly coordinator: Coordinator;
  readonly cluster: Cluster | undefined;
  readonly certificates: TlsMaterial | undefined;
  readonly access: Access | undefined;
  readonly audited: Audited | undefined;
  readonly metrics: Metrics;
  readonly log: Logger;
}

async function listenGrpc(
  { server: { listen }, coordinator: { limits }, keepalive }: Config,
  { metrics: { observe, failed }, ...parts }: GrpcParts,
): Promise<GrpcServer> {
  try {
    return await startGrpcServer({ ...parts, listen, limits, keepalive, observe, failed, serving: false });
  } catch (error) {
    throw cannotListen('listen', listen, error);
  }
}

function warnBeyondLoopback({ server, tls, access }: Config, log: Logger): void {
  if (access === undefined && tls.cert === undefined && !isLocal(parsed(server.listen))) {
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
