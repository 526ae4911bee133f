/**
 * The calls of people over the Connect protocol, so that a page, and curl with JSON, may make them. The library reads and writes
 * JSON by the descriptors that reflection serves; what a call does is what it does over gRPC, message for message, and it is asked
 * of the port of whoever calls.
 */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createFileRegistry,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from '@connectrpc/connect-node';
import type { Limits, Refusal } from '../coordinator.js';
import { type Audited, auditEntry, OK } from '../grpc/call/audit.js';
import { type Log, report } from '../grpc/call/handler.js';
import type { Observe } from '../grpc/call/observe.js';
import { type CallStatus, codeName, detailsOf, internalStatus, statusOf } from '../grpc/call/status.js';
import { ADMIN_METHODS } from '../grpc/services/admin-service.js';
import { LEADER_CALLS } from '../grpc/services/leader-service.js';
import type { CarriedByBytes } from '../grpc/services/person-call.js';
import { eventsBytes, WATCH_EVENTS, watchedOf } from '../grpc/services/watched-bytes.js';
import { Feed, NOT_ANY_MORE } from './feed.js';
import { tellText } from './headers.js';
import { noRoom } from './room.js';
import { shortened } from './shortened.js';
import { cutUnread } from './unread.js';
import type { Viewer } from './viewer.js';

/** Beside this file as the build lays them out. */
const DESCRIPTORS = new URL('../grpc/descriptors.binpb', import.meta.url);
const SERVICES = ['keyturn.v1.AdminService', 'keyturn.v1.LeaderService'];
/** Of a request. The largest that a person makes names 1,000 items. */
const LONGEST_REQUEST = 1_048_576;
export interface ApiOptions {
  readonly limits: Limits;
  readonly audited?: Audited | undefined;
  readonly observe: Observe;
  readonly failed?: () => void;
  readonly log: Log;
  readonly goesOn: (viewer: Viewer) => boolean;
}

interface Looker extends Viewer {
  /** What they asked is answered for long: their connection gives its place to nobody. */
  stays(): void;
}

const VIEWER = createContextKey<Looker | undefined>(undefined);

export class Api {
  readonly #feeds = new Map<Feed, Viewer>();
  readonly #calls = new Map<string, CarriedByBytes>(
    [...ADMIN_METHODS, ...LEADER_CALLS].map((call) => [call.path, call]),
  );
  readonly #handlers: ReadonlyMap<string, ConnectRouter['handlers'][number]>;

  private constructor(
    services: readonly DescService[],
    private readonly options: ApiOptions,
  ) {
    const router = createConnectRouter({
      acceptCompression: [compressionGzip, compressionBrotli],
      grpc: false,
      grpcWeb: false,
      readMaxBytes: LONGEST_REQUEST,
      // A field that is misspelt must not be taken for one that was left out.
      jsonOptions: { ignoreUnknownFields: false },
    });
    this.#route(router, services);
    this.#handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  }

  /** Rejects when the descriptors are not where the package has them. */
  static async open(options: ApiOptions): Promise<Api> {
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(DESCRIPTORS)));
    const services = SERVICES.map((name) => {
      const service = registry.getService(name);
      if (service === undefined) throw new Error(`the descriptors know no ${name}`);
      return service;
    });
    return new Api(services, options);
  }

  serve(request: IncomingMessage, response: ServerResponse, path: string, viewer: Looker): void {
    const handler = this.#handlers.get(path);
    if (handler === undefined) return tellText(response, 404, 'there is no such call');
    cutUnread(response);
    const values = createContextValues().set(VIEWER, viewer);
    // Not by the library's own adapter: what goes wrong, it writes to where the log and the audit are, in lines of its own.
    handler(universalRequestFromNodeRequest(request, response, undefined, values))
      .then(async (answer) => universalResponseToNodeResponse(await shortened(answer), response))
      .catch((error: unknown) => {
        // Whoever is gone in the midst of an answer is no failure.
        if (!request.socket.destroyed) report(this.options, path, error);
        request.socket.destroy();
      });
  }

  /** Whose credentials do not hold any more sees nothing further. */
  endRevoked(): void {
    for (const feed of this.#feeds.keys()) feed.endRevoked();
  }

  /** How many tabs look on. */
  get watching(): number {
    return this.#feeds.size;
  }

  #route(router: ConnectRouter, services: readonly DescService[]): void {
    for (const { typeName, methods } of services)
      for (const method of methods) {
        const path = `/${typeName}/${method.name}`;
        const call = this.#calls.get(path);
        if (isUnary(method) && call !== undefined) this.#routeUnary(router, method, call);
        if (isStreaming(method) && path === WATCH_EVENTS) this.#routeWatch(router, method);
      }
  }

  #routeUnary(router: ConnectRouter, method: DescMethodUnary, call: CarriedByBytes): void {
    router.rpc(method, async (message, { values }) => {
      const viewer = viewerOf(values);
      const bytes = await this.#carryOut(call, viewer, toBinary(method.input, message));
      return fromBinary(method.output, bytes);
    });
  }

  /** @throws ConnectError */
  async #carryOut(call: CarriedByBytes, viewer: Viewer, bytes: Uint8Array): Promise<Uint8Array> {
    const { path } = call;
    const { audited, limits, observe } = this.options;
    const started = performance.now();
    let asked: unknown;
    let answered: unknown;
    let status: CallStatus | undefined;
    try {
      // What was let in with the head of a request may have ended by the time its body came.
      if (this.options.goesOn(viewer)) {
        const done = await call.carryOut(viewer.port, bytes, limits, callerOf(viewer));
        ({ asked, answered } = done);
        if (done.outcome.ok) return done.outcome.bytes;
        status = statusOf(done.outcome.refusal);
      } else status = statusOf(NOT_ANY_MORE);
    } catch (error) {
      status = internalStatus(report(this.options, path, error));
    } finally {
      const code = status === undefined ? OK : codeName(status.code);
      observe({ method: path, code, seconds: (performance.now() - started) / 1_000 });
      const { from, principal } = viewer;
      const told = { who: principal?.name, from, over: 'console', path, asked, answered } as const;
      const entry = audited && auditEntry(told, code, status?.details ?? '');
      if (entry !== undefined) audited?.(entry);
    }
    throw errorOf(status);
  }

  #routeWatch(router: ConnectRouter, method: DescMethodServerStreaming): void {
    const watch = (bytes: Uint8Array, context: HandlerContext) => this.#watch(bytes, context);
    router.rpc(method, async function* (message, context) {
      for await (const one of watch(toBinary(method.input, message), context)) yield fromBinary(method.output, one);
    });
  }

  /** Counted once, when it ends, whoever ended it. @throws ConnectError */
  async *#watch(bytes: Uint8Array, context: HandlerContext): AsyncGenerator<Uint8Array> {
    const started = performance.now();
    const told = this.#told(bytes, context);
    let code: string | undefined = codeName(Code.Canceled);
    const count = () => {
      if (code === undefined) return;
      this.options.observe({ method: WATCH_EVENTS, code, seconds: (performance.now() - started) / 1_000 });
      code = undefined;
    };
    context.signal.addEventListener('abort', count, { once: true });
    const failed = (error: unknown): ConnectError => {
      const known =
        error instanceof ConnectError ? error : errorOf(internalStatus(report(this.options, WATCH_EVENTS, error)));
      if (code !== undefined) code = codeName(known.code);
      return known;
    };
    try {
      for (;;) {
        const next = await told.next().catch((error: unknown) => Promise.reject(failed(error)));
        if (next.done === true) {
          if (code !== undefined) code = OK;
          return;
        }
        yield next.value;
      }
    } finally {
      count();
      await told.return(undefined);
    }
  }

  /** @throws ConnectError */
  async *#told(bytes: Uint8Array, { values, signal }: HandlerContext): AsyncGenerator<Uint8Array, undefined> {
    const viewer = viewerOf(values);
    const wanted = watchedOf(bytes, this.options.limits, callerOf(viewer));
    const refusal = wanted.ok ? this.#whyNot(viewer) : wanted.refusal;
    if (!wanted.ok || refusal !== undefined) throw refused(refusal);
    const { queue, key } = wanted.value;
    const feed = new Feed(
      (watcher) => viewer.port.admin.watch(queue, key, watcher),
      () => this.options.goesOn(viewer),
    );
    // Not only below: the library waits for ever for a reader that is gone and had not read, and asks us for nothing more.
    const leave = () => {
      this.#feeds.delete(feed);
      feed.end();
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#feeds.set(feed, viewer);
    try {
      if (signal.aborted) return undefined;
      const why = feed.begin();
      if (why !== undefined) throw refused(why);
      viewer.stays();
      const told = feed.told();
      for (;;) {
        const next = await told.next();
        if (next.done === true) {
          if (next.value !== undefined) throw refused(next.value);
          return undefined;
        }
        yield eventsBytes(next.value.events, next.value.missed);
      }
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
    }
  }

  #whyNot(viewer: Viewer): Refusal | undefined {
    return this.options.goesOn(viewer) ? noRoom(this.#feeds.values(), viewer) : NOT_ANY_MORE;
  }
}

// The kind is a word of its own type in the library, and does not tell its variants apart.
function isUnary(method: DescMethod): method is DescMethod & DescMethodUnary {
  return method.methodKind === 'unary';
}

function isStreaming(method: DescMethod): method is DescMethod & DescMethodServerStreaming {
  return method.methodKind === 'server_streaming';
}

function viewerOf(values: HandlerContext['values']): Looker {
  const viewer = values.get(VIEWER);
  if (viewer === undefined) throw new ConnectError('nobody was let in with this call', Code.Internal);
  return viewer;
}

function callerOf({ from }: Viewer): { getPeer(): string; getDeadline(): number; waiting: number } {
  return { getPeer: () => from, getDeadline: () => Number.POSITIVE_INFINITY, waiting: 0 };
}

function refused(refusal: Refusal | undefined): ConnectError {
  return errorOf(statusOf(refusal ?? { kind: 'cancelled' }));
}

/** The numbers of Connect's codes are those of gRPC. */
function errorOf(status: CallStatus): ConnectError {
  const error = new ConnectError(status.details, codeOf(status.code));
  error.details = [...detailsOf(status)];
  return error;
}

const CODES: ReadonlyMap<number, Code> = new Map(
  Object.values(Code)
    .filter((code) => typeof code === 'number')
    .map((code) => [code, code]),
);

function codeOf(number: number): Code {
  return CODES.get(number) ?? Code.Unknown;
}
