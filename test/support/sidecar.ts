/** A gRPC server on a free port of loopback, with clients of every kind; everything is closed when the test ends. */
import type { TestContext } from 'node:test';
import {
  type CallOptions,
  type Client,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { connect, type Keyturn, type TlsOptions } from '@keyturn/client';
import type { Coordinator, Limits } from '../../src/coordinator.js';
import { DEFAULT_LIMITS } from '../../src/core/contract/limits.js';
import { AdminServiceClient } from '../../src/grpc/gen/keyturn/v1/admin.js';
import { CoordinatorServiceClient } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { type Access, type GrpcServer, startGrpcServer } from '../../src/grpc/server/server.js';
import type { Certificates } from '../../src/grpc/server/tls-credentials.js';

export interface ObservedCall {
  readonly method: string;
  readonly code: string;
  readonly seconds: number;
}

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export interface Sidecar {
  readonly server: GrpcServer;
  readonly address: string;
  /** Our own client, in the words of the port. */
  readonly client: Keyturn;
  /** The generated clients: what a stranger sends and gets. */
  readonly raw: CoordinatorServiceClient;
  readonly rawAdmin: AdminServiceClient;
  /** Every finished call that was observed, in order. */
  readonly observed: ObservedCall[];
  readonly log: LogLine[];
  /** Failures of its own that it counted. */
  readonly failures: () => number;
}

export interface SidecarOptions {
  readonly listen?: string;
  readonly limits?: Partial<Limits>;
  /** Unset: whoever reaches it may ask everything. */
  readonly access?: Access;
  /** Unset: no TLS. */
  readonly tls?: { readonly server: Certificates; readonly client: TlsOptions };
}

/** Connections of their own for each client: what ends one must not end another. */
export const OWN_CONNECTION = { 'grpc.use_local_subchannel_pool': 1, 'grpc.enable_http_proxy': 0 };

export async function startSidecar(
  t: TestContext,
  coordinator: Coordinator,
  options: SidecarOptions = {},
): Promise<Sidecar> {
  const observed: ObservedCall[] = [];
  const log: LogLine[] = [];
  let failures = 0;
  const write = (level: LogLine['level']) => (fields: object, message: string) => {
    log.push({ level, fields: { ...fields }, message });
  };
  const server = await startGrpcServer({
    listen: options.listen ?? '127.0.0.1:0',
    coordinator,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    certificates: options.tls?.server,
    access: options.access,
    observe: (call) => observed.push(call),
    failed() {
      failures += 1;
    },
    log: { info: write('info'), warn: write('warn'), error: write('error') },
  });
  t.after(() => server.forceStop());
  const { address } = server;
  const client = connect(address, { transport: 'unary', tls: options.tls?.client });
  t.after(() => client.close());
  const { raw, rawAdmin } = rawClients(t, address);
  return { server, address, client, raw, rawAdmin, observed, log, failures: () => failures };
}

/** Generated clients with a connection of their own. */
export function rawClients(
  t: TestContext,
  address: string,
): { readonly raw: CoordinatorServiceClient; readonly rawAdmin: AdminServiceClient } {
  const raw = new CoordinatorServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  const rawAdmin = new AdminServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  t.after(() => {
    raw.close();
    rawAdmin.close();
  });
  return { raw, rawAdmin };
}

type Method<Q, M> = (
  request: Q,
  metadata: Metadata,
  options: Partial<CallOptions>,
  done: (error: ServiceError | null, message: M) => void,
) => ClientUnaryCall;

/** One unary call of a generated client. Rejects with grpc-js's own error. */
export function call<Q, M>(
  client: Client,
  method: Method<Q, M>,
  request: Q,
  timeout = 30_000,
  metadata = new Metadata(),
): Promise<M> {
  return start(client, method, request, timeout, metadata).answer;
}

/** The same, for those who want to cancel it. */
export function start<Q, M>(
  client: Client,
  method: Method<Q, M>,
  request: Q,
  timeout = 30_000,
  metadata = new Metadata(),
): { readonly answer: Promise<M>; cancel(): void } {
  let started: ClientUnaryCall | undefined;
  const answer = new Promise<M>((resolve, reject) => {
    const options = { deadline: Date.now() + timeout };
    started = method.call(client, request, metadata, options, (error, message) => {
      if (error) reject(error);
      else resolve(message);
    });
  });
  return { answer, cancel: () => started?.cancel() };
}

/** A message with every field unset but those given. */
export function message<T extends object>(type: { decode(bytes: Uint8Array): T }, fields: Partial<T> = {}): T {
  return { ...type.decode(new Uint8Array(0)), ...fields };
}
