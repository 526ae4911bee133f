/** The settings of HTTP/2 and grpc-js: everything that a stranger could make grow has a bound. */
import type { EventEmitter } from 'node:events';
import { constants, type ServerOptions as Http2ServerOptions, type ServerHttp2Stream } from 'node:http2';
import { Server, type ServerInterceptingCall, type ServerInterceptor, type ServerOptions, status } from '@grpc/grpc-js';
import { BUILT_IN_KEEPALIVE, type Limits, type SessionKeepalive } from '../../coordinator.js';
import { CallAllowances, FIRST_CALLS } from './call-allowance.js';
import { FairTurns } from './fair-turns.js';
import { http2StreamOf } from './http2-stream.js';
import { type Observe, observer } from './observe.js';

/**
 * A connection that is so old takes no new calls: a client makes another one for them, and so follows a moved address.
 * Calls that are open go on where they are, without an end (grpc-js's grace stays unset): a session lives for days, and
 * cutting it would cost callers without a ticket their place. A client that is gone is found by keepalive.
 */
const CONNECTION_AGE_MS = 3_600_000;
const HEADER_LIST_BYTES = 16_384;
/**
 * Cancelled calls that a connection survives, at once and per second. Node's own 1,000 and 33 close the connection of a
 * worker that gives up its waits in bulk. Node 20 has no such setting, so there they stay.
 */
const RESET_BURST = 20_000;
const RESETS_PER_SECOND = 2_000;

/** Stands before a call as an interceptor. Unset: it has nothing to do with this one. */
export type Guard = (...call: Parameters<ServerInterceptor>) => ServerInterceptingCall | undefined;

/** What of the settings is the transport's. */
interface TransportSettings {
  readonly limits: Limits;
  /** Unset: the built-in one. */
  readonly keepalive?: SessionKeepalive;
}

export function createServer(settings: TransportSettings, observe: Observe, outermost: readonly Guard[] = []): Server {
  const server = new Server(serverOptions(settings, observe, outermost));
  adjustHttp2(server);
  return server;
}

// channelz stays on: without it forceShutdown() closes nothing, and it costs nothing that can be measured.
export function serverOptions(
  { limits, keepalive = BUILT_IN_KEEPALIVE }: TransportSettings,
  observe: Observe,
  outermost: readonly Guard[] = [],
): ServerOptions {
  return {
    // A worker host that vanished without a word is noticed after the two together; what it waited for is given up then.
    'grpc.keepalive_time_ms': keepalive.every,
    'grpc.keepalive_timeout_ms': keepalive.timeout,
    'grpc.max_connection_age_ms': CONNECTION_AGE_MS,
    'grpc.max_concurrent_streams': FIRST_CALLS,
    'grpc.max_receive_message_length': limits.messageBytes,
    interceptors: [guarded(observer(observe, new FairTurns(limits), new CallAllowances()), outermost)],
  };
}

/**
 * One interceptor of all: one that only hands a call on costs it a twentieth of its time at grpc-js, so who has nothing to do
 * with a call stays out of its way.
 */
function guarded(innermost: ServerInterceptor, guards: readonly Guard[]): ServerInterceptor {
  return (method, call) => {
    let outermost = innermost(method, call);
    for (const guard of guards) outermost = guard(method, outermost) ?? outermost;
    return outermost;
  };
}

/** grpc-js hands these on to Node's http2 but has no options of its own for them. */
function adjustHttp2(server: Server): void {
  const common: unknown = Reflect.get(server, 'commonServerOptions');
  if (!isHttp2Options(common)) throw new Error('this version of @grpc/grpc-js keeps its HTTP/2 options elsewhere');
  common.streamResetBurst = RESET_BURST;
  common.streamResetRate = RESETS_PER_SECOND;
  common.settings = { ...common.settings, maxHeaderListSize: HEADER_LIST_BYTES };
}

/** Breaks a stream off whose client does not read, so that no status could reach it. It shows as RESOURCE_EXHAUSTED. */
export function resetStream(call: object): void {
  const stream = http2StreamOf(call);
  if (stream !== undefined && !stream.destroyed) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

/** The call has ended, though grpc-js may not have emitted that yet: what is sent on it goes nowhere. */
export function isGone(call: object): boolean {
  const stream = http2StreamOf(call);
  return stream !== undefined && (stream.destroyed || stream.closed);
}

/**
 * Calls back when the call of one answer has ended before its status was sent: so its client has not had the answer. A
 * stream that its client resets, or whose connection breaks, closes with an error if the last frame has not left by then.
 */
export function whenUnsent(call: object, then: () => void): void {
  const stream = http2StreamOf(call);
  stream?.once('close', () => {
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR || !endedWell(stream.sentTrailers)) then();
  });
}

/** A deadline may end between an answer and its status: then the status says that instead. */
function endedWell(trailers: ServerHttp2Stream['sentTrailers']): boolean {
  return Number(trailers?.['grpc-status']) === status.OK;
}

function isHttp2Options(value: unknown): value is Http2ServerOptions {
  return typeof value === 'object' && value !== null && 'maxSendHeaderBlockLength' in value;
}

/** grpc-js does not hand them out. @param server one that listens */
export function listenersOf(server: Server): readonly EventEmitter[] {
  const listeners: unknown = Reflect.get(server, 'http2Servers');
  if (!(listeners instanceof Map)) throw new Error('this version of @grpc/grpc-js keeps its listeners elsewhere');
  return [...listeners.keys()];
}
