/** The stream of HTTP/2 below a call of grpc-js, and the socket below that. */
import type { Http2Session, ServerHttp2Stream } from 'node:http2';

/** grpc-js keeps it below the stream it hands out, and below each interceptor. */
export function http2StreamOf(call: object): ServerHttp2Stream | undefined {
  const below: unknown = Reflect.get(call, 'call') ?? Reflect.get(call, 'nextCall') ?? Reflect.get(call, 'stream');
  if (typeof below !== 'object' || below === null) return undefined;
  // Only a stream of HTTP/2 has all of these; its class is not exported.
  const isStream = 'close' in below && 'destroyed' in below && 'rstCode' in below;
  return isStream ? (below as ServerHttp2Stream) : http2StreamOf(below);
}

/** Whether bytes are read from a socket: what is not read waits in the kernel, and in the end with its sender. */
export interface Reading {
  stop(): void;
  go(): void;
}

/**
 * HTTP/2 reads its socket by itself, below the stream of JavaScript that `pause` would stop. Only the handle can be held,
 * in the middle of what it has to hand over. A socket whose handle has another shape is read as usual.
 */
export function readingOf(session: Pick<Http2Session, 'socket' | 'destroyed'>): Reading {
  const call = (what: 'readStop' | 'readStart') => {
    if (session.destroyed) return;
    const handle: unknown = Reflect.get(session.socket, '_handle');
    if (typeof handle !== 'object' || handle === null) return;
    const method: unknown = Reflect.get(handle, what);
    if (typeof method === 'function') method.call(handle);
  };
  return { stop: () => call('readStop'), go: () => call('readStart') };
}
