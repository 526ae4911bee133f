import type { Coordinator, Limits } from '../coordinator.js';

/** Where the gRPC side writes what an operator should know. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface GrpcServerOptions {
  /** `host:port`, `[v6]:port` (port 0: any free one), or `unix:/path`. */
  readonly listen: string;
  readonly coordinator: Coordinator;
  readonly limits: Limits;
  /** Called once for every finished call, streams included. `code` is the name of its gRPC status. */
  readonly observe: (call: { method: string; code: string; seconds: number }) => void;
  readonly log: Log;
}

export interface GrpcServer {
  /** Where it listens, with the real port; usable as the target of a client. */
  readonly address: string;
  /** What health answers: SERVING, or NOT_SERVING (draining). */
  setServing(serving: boolean): void;
  /** Takes no new connections and calls, ends the streams, and resolves when all calls ended, or after `graceMs`. */
  stop(graceMs: number): Promise<void>;
  /** Ends everything now. */
  forceStop(): void;
}

/** Rejects when the address is malformed, in use, or not usable. */
export function startGrpcServer(_options: GrpcServerOptions): Promise<GrpcServer> {
  return Promise.reject(new Error('not yet'));
}
