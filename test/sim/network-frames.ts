/** What travels on a connection: frames of many streams one after another, as in HTTP/2 but plainer. */
import { Buffer } from 'node:buffer';

/**
 * `open` a stream begins; `data` a part of its bytes; `end` nothing follows from this side; `reset` it is gone; `window` so
 * many bytes were read; `ping` and `pong`; `away` the connection is closed.
 */
export const FRAMES = ['open', 'data', 'end', 'reset', 'window', 'ping', 'pong', 'away'] as const;
export type FrameKind = (typeof FRAMES)[number];

export interface Frame {
  readonly kind: FrameKind;
  /** 0: of the connection. */
  readonly stream: number;
  readonly payload: Buffer;
}

const HEADER = 9;

export function encodeFrame(kind: FrameKind, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const bytes = Buffer.alloc(HEADER + payload.length);
  bytes.writeUInt8(FRAMES.indexOf(kind), 0);
  bytes.writeUInt32BE(stream, 1);
  bytes.writeUInt32BE(payload.length, 5);
  bytes.set(payload, HEADER);
  return bytes;
}

/** Puts frames together from bytes that come in any pieces. One whose last byte has not come is none. */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  *push(more: Buffer): Generator<Frame> {
    this.#bytes = this.#bytes.length === 0 ? more : Buffer.concat([this.#bytes, more]);
    while (this.#bytes.length >= HEADER) {
      const end = HEADER + this.#bytes.readUInt32BE(5);
      if (this.#bytes.length < end) return;
      const kind = FRAMES[this.#bytes.readUInt8(0)];
      if (kind === undefined) throw new Error('no such frame');
      const frame = { kind, stream: this.#bytes.readUInt32BE(1), payload: this.#bytes.subarray(HEADER, end) };
      this.#bytes = this.#bytes.subarray(end);
      yield frame;
    }
  }
}

/** gRPC's own: a byte of flags and the length. */
const PREFIX = 5;

export function encodeMessage(message: Uint8Array): Buffer {
  const bytes = Buffer.alloc(PREFIX + message.length);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, PREFIX);
  return bytes;
}

/** The messages of one stream; it is said how many bytes were read to come to each. */
export class MessageReader {
  #bytes: Buffer = Buffer.alloc(0);
  /** Those that were not told as read yet: the newest of {@link #bytes}. */
  #untold = 0;

  push(more: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? more : Buffer.concat([this.#bytes, more]);
    this.#untold += more.length;
  }

  get isComplete(): boolean {
    return this.#bytes.length >= PREFIX && this.#bytes.length >= PREFIX + this.#bytes.readUInt32BE(1);
  }

  /** The reader wants more, so it has read all there is. @returns bytes that were not told before */
  drain(): number {
    const { length } = this.#bytes;
    if (this.isComplete) return 0;
    const told = Math.min(this.#untold, length);
    this.#untold = 0;
    return told;
  }

  /** Precondition: one is complete. */
  take(): { readonly message: Buffer; readonly read: number } {
    const end = PREFIX + this.#bytes.readUInt32BE(1);
    const message = Buffer.from(this.#bytes.subarray(PREFIX, end));
    const alreadyTold = this.#bytes.length - this.#untold;
    this.#bytes = this.#bytes.subarray(end);
    const read = Math.max(0, end - alreadyTold);
    this.#untold -= read;
    return { message, read };
  }
}
