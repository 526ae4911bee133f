/** A stream of the Connect protocol: messages of JSON, each with its length before it; the last one says how it ended. */
import type { WatchEventsRequest, WatchEventsResponse } from '../gen/keyturn/v1/admin.js';
import { CallError, failureOf, type Json, pathOf } from './client.js';
import { heardDate } from './clock.js';

const HEAD = 5;
const LAST = 0b10;
const COMPRESSED = 0b01;
/** Of one message. The sidecar sends far less. */
const LARGEST = 16 * 1_048_576;

/** Ends when the sidecar ends it, or throws a {@link CallError}. */
export async function watchEvents(
  request: Json<WatchEventsRequest>,
  signal: AbortSignal,
  opened: () => void,
  take: (events: Json<WatchEventsResponse>) => void,
): Promise<void> {
  const asked = Date.now();
  const response = await fetch(pathOf('WatchEvents'), {
    method: 'POST',
    headers: { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' },
    body: framed(JSON.stringify(request)),
    signal,
    cache: 'no-store',
  });
  heardDate(response.headers.get('date'), asked, Date.now());
  const type = response.headers.get('content-type') ?? '';
  if (!response.ok || !type.startsWith('application/connect+json') || response.body === null) {
    throw failureOf(response.status, await response.json().catch(() => undefined));
  }
  opened();
  const frames = new Frames();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new CallError('unreachable', 'the stream of events broke off');
    for (const frame of frames.push(value)) {
      if (frame.isLast) return ended(frame.said);
      // As with all answers: written by the proto of the same version.
      take(frame.said as Json<WatchEventsResponse>);
    }
  }
}

function framed(text: string): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(text);
  const frame = new Uint8Array(HEAD + body.length);
  new DataView(frame.buffer).setUint32(1, body.length);
  frame.set(body, HEAD);
  return frame;
}

function ended(said: unknown): void {
  if (typeof said === 'object' && said !== null && 'error' in said) throw failureOf(200, said.error);
}

interface Frame {
  readonly isLast: boolean;
  readonly said: unknown;
}

/** Puts messages together from pieces of any size. */
export class Frames {
  #rest: Uint8Array = new Uint8Array(0);

  push(piece: Uint8Array): Frame[] {
    const bytes = new Uint8Array(this.#rest.length + piece.length);
    bytes.set(this.#rest);
    bytes.set(piece, this.#rest.length);
    const view = new DataView(bytes.buffer);
    const found: Frame[] = [];
    let at = 0;
    while (bytes.length - at >= HEAD) {
      const flags = view.getUint8(at);
      const length = view.getUint32(at + 1);
      if ((flags & COMPRESSED) !== 0 || length > LARGEST)
        throw new CallError('unreachable', 'the stream of events is not one of the sidecar');
      if (bytes.length - at < HEAD + length) break;
      const text = new TextDecoder().decode(bytes.subarray(at + HEAD, at + HEAD + length));
      found.push({ isLast: (flags & LAST) !== 0, said: JSON.parse(text) });
      at += HEAD + length;
    }
    this.#rest = bytes.slice(at);
    return found;
  }
}
