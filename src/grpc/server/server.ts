/** The gRPC server: what it serves, where it listens, how it stops. */
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import type { Authenticator } from '../../access/authenticator.js';
import type { Cluster, Coordinator, Desk, Limits, SessionKeepalive } from '../../coordinator.js';
import { type Audited, auditing } from '../call/audit.js';
import { Door, type Refused } from '../call/door.js';
import type { HandlerContext, Log } from '../call/handler.js';
import type { Observe } from '../call/observe.js';
import { wholePort } from '../call/port.js';
import { OpenStreams } from '../call/streams.js';
import { createServer } from '../call/transport.js';
import { refuseMalformedText } from '../convert/utf8.js';
import { AdminServiceService } from '../gen/keyturn/v1/admin.js';
import { LeaderServiceService } from '../gen/keyturn/v1/leader.js';
import { adminService } from '../services/admin-service.js';
import { COORDINATOR_SERVICE, coordinatorService } from '../services/coordinator-service.js';
import { Health } from '../services/health.js';
import { leaderService } from '../services/leader-service.js';
import { addReflection } from '../services/reflection.js';
import { Connections } from './connections.js';
import { grpcSpeaksTo } from './grpc-log.js';
import { openToGroup, parseListen, removeStaleSocket, targetOf } from './listen.js';
import { TlsConnections } from './tls-connections.js';
import { type Certificates, TlsCredentials } from './tls-credentials.js';

interface GrpcServerOptions {
  /** `host:port`, `[v6]:port` (port 0: any free one), or `unix:/path`. */
  readonly listen: string;
  readonly coordinator: Coordinator;
  readonly limits: Limits;
  /** Unset: the built-in one. */
  readonly keepalive?: SessionKeepalive;
  /** Unset: this sidecar stands alone. */
  readonly cluster?: Cluster | undefined;
  /** What it tells of itself. Unset: nothing. */
  readonly desk?: Desk | undefined;
  /** Called once for every finished call, streams included. `code` is the name of its gRPC status. */
  readonly observe: Observe;
  /** Called once for every failure of our own, in a command of a session too. */
  readonly failed?: () => void;
  readonly log: Log;
  /** What health says from the start. Default: SERVING. */
  readonly serving?: boolean;
  /** Set: TLS only. */
  readonly certificates?: Certificates | undefined;
  /** Told of changes that people make, and of looks at payloads. Unset: nobody wants to know. */
  readonly audited?: Audited | undefined;
  /** Set: nobody asks anything who does not show who it is. */
  readonly access?: Access | undefined;
}

export interface Access {
  readonly authenticator: Authenticator;
  /** Told of every call that was not let in. */
  readonly refused: Refused;
  /** Monotonic, ms. Unset: the clock of the process. */
  readonly now?: () => number;
}

export interface GrpcServer {
  /** Where it listens, with the real port; usable as the target of a client. */
  readonly address: string;
  /** What health answers: SERVING, or NOT_SERVING (not ready yet, without its disk, draining). */
  setServing(serving: boolean): void;
  /** Ends streams, and calls that wait, of those whose credentials do not hold any more. Nothing to do without access control. */
  endRevoked(): void;
  /** For new connections, from now on. Not for a server that began without TLS. */
  useCertificates(certificates: Certificates): void;
  /** Takes no new calls, ends the streams, and resolves when all calls ended, or were ended after `graceMs`. */
  stop(graceMs: number): Promise<void>;
  /** Ends everything now. */
  forceStop(): void;
}

/** Starts to serve, and to tell health checks. Rejects when the address is malformed, in use, or not usable. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  refuseMalformedText();
  grpcSpeaksTo(options.log);
  const connections = new Connections(options.limits, options.log);
  const { coordinator, cluster, access, audited, desk } = options;
  const door = access && new Door(access.authenticator, coordinator, cluster, access.refused, desk, access.now);
  const whole = wholePort(coordinator, cluster, desk);
  const guards = [connections.guard];
  if (door !== undefined) guards.push(door.guard);
  // Behind the door: it tells of calls that were let in, and whose they are.
  if (audited !== undefined) guards.push(auditing(audited, (call) => door?.nameOf(call)));
  const server = createServer(options, options.observe, guards);
  const streams = new OpenStreams();
  const health = new Health();
  try {
    const revocable = door && new OpenStreams();
    const context = { ...options, parked: { count: 0 }, portOf: door?.portOf ?? (() => whole), revocable };
    await addServices(server, context, health, streams);
    const tls = options.certificates && new TlsCredentials(options.certificates);
    const address = await listen(server, options.listen, tls ?? ServerCredentials.createInsecure());
    connections.watch(server);
    health.setServing(options.serving ?? true);
    const parts = { server, health, streams, revocable, door };
    if (tls === undefined) return new RunningServer(address, parts);
    return new RunningServer(address, { ...parts, tls, connections: new TlsConnections(server, options.log) });
  } catch (error) {
    server.forceShutdown();
    throw error;
  }
}

async function addServices(
  server: Server,
  context: HandlerContext,
  health: Health,
  streams: OpenStreams,
): Promise<void> {
  server.addService(COORDINATOR_SERVICE, coordinatorService(context, streams));
  server.addService(AdminServiceService, adminService(context, streams));
  server.addService(LeaderServiceService, leaderService(context, streams));
  health.addTo(server, streams);
  await addReflection(server, streams);
}

async function listen(server: Server, wanted: string, credentials: ServerCredentials): Promise<string> {
  const address = parseListen(wanted);
  if (address.kind === 'unix') await removeStaleSocket(address.path);
  const port = await bind(server, targetOf(address, address.kind === 'tcp' ? address.port : 0), credentials);
  // Node makes the socket for its owner only, so no other user connects before this.
  if (address.kind === 'unix') await openToGroup(address.path);
  return targetOf(address, port);
}

function bind(server: Server, target: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(target, credentials, (error, port) => {
      if (error) reject(new Error(`cannot listen on ${target}: ${error.message}`, { cause: error }));
      else resolve(port);
    });
  });
}

interface Parts {
  readonly server: Server;
  readonly health: Health;
  readonly streams: OpenStreams;
  /** Unary calls that wait. */
  readonly revocable: OpenStreams | undefined;
  readonly tls?: TlsCredentials;
  readonly connections?: TlsConnections;
  readonly door: Door | undefined;
}

class RunningServer implements GrpcServer {
  constructor(
    readonly address: string,
    private readonly parts: Parts,
  ) {}

  useCertificates(certificates: Certificates): void {
    if (this.parts.tls === undefined) throw new Error('this server was started without TLS');
    this.parts.tls.use(certificates);
  }

  endRevoked(): void {
    const { door, streams, revocable } = this.parts;
    if (door === undefined) return;
    for (const open of [streams, revocable]) open?.endThose((call) => door.whyEnd(call));
  }

  setServing(serving: boolean): void {
    this.parts.health.setServing(serving);
  }

  stop(graceMs: number): Promise<void> {
    this.setServing(false);
    this.parts.streams.endAll();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.forceStop(), graceMs);
      this.parts.server.tryShutdown((error) => {
        clearTimeout(timer);
        this.parts.connections?.endAll();
        if (error) reject(error);
        else resolve();
      });
    });
  }

  forceStop(): void {
    this.parts.server.forceShutdown();
    this.parts.connections?.endAll();
  }
}
