/** A connection as its two ends see it: streams with flow control on top of two pipes, and pings that find out silence. */
import { Buffer } from 'node:buffer';
import {
  encodeFrame,
  encodeMessage,
  type Frame,
  type FrameKind,
  FrameReader,
  MessageReader,
} from './network-frames.js';
import type { Process } from './network-world.js';

/** How the other side of a stream is gone: it ended it, with these words; it broke it off; or the connection is lost. */
export type Gone =
  | { readonly how: 'ended'; readonly payload: Buffer }
  | { readonly how: 'reset' }
  | { readonly how: 'lost' };

export interface StreamUser {
  message(bytes: Buffer): void;
  /** After a `write` that returned false. */
  drained(): void;
  /** `ended` comes after the last message. */
  gone(gone: Gone): void;
}

export interface Flow {
  /** Bytes that may be on their way without being read, of one stream and direction. */
  readonly window: number;
  /** Bytes that wait for room in the window until `write` returns false. */
  readonly buffer: number;
  /** Bytes of one frame. */
  readonly frame: number;
}

interface Outgoing {
  readonly bytes: Buffer;
  at: number;
  readonly taken: () => void;
}

const nothing = (): void => undefined;

/** One side of a stream. */
export class StreamEnd {
  readonly #reader = new MessageReader();
  readonly #out: Outgoing[] = [];
  #window: number;
  #waiting = 0;
  #isFull = false;
  #isPaused = false;
  #isDelivering = false;
  /** Said when everything before it is out. */
  #farewell: Buffer | undefined;
  #saidFarewell = false;
  #gone: Gone | undefined;
  #isClosed = false;
  user: StreamUser = { message: nothing, drained: nothing, gone: nothing };
  /** Told when the farewell is on its way. */
  onFarewell: () => void = nothing;

  constructor(
    private readonly end: ConnectionEnd,
    readonly id: number,
    private readonly flow: Flow,
  ) {
    this.#window = flow.window;
  }

  /** @returns whether more should be written now */
  write(message: Uint8Array, taken: () => void = nothing): boolean {
    const bytes = encodeMessage(message);
    this.#out.push({ bytes, at: 0, taken });
    this.#waiting += bytes.length;
    this.#send();
    if (this.#waiting > this.flow.buffer) this.#isFull = true;
    return !this.#isFull;
  }

  finish(payload: Buffer = Buffer.alloc(0)): void {
    this.#farewell ??= payload;
    this.#send();
  }

  reset(): void {
    if (this.#isClosed) return;
    this.end.send('reset', this.id);
    this.close();
  }

  /** Nothing is told any more. */
  close(): void {
    this.#isClosed = true;
    this.#out.length = 0;
    this.end.forget(this);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#deliver();
  }

  take({ kind, payload }: Frame): void {
    if (this.#isClosed) return;
    if (kind === 'data') this.#reader.push(payload);
    else if (kind === 'end') this.#gone = { how: 'ended', payload };
    else if (kind === 'window') {
      this.#window += payload.readUInt32BE(0);
      this.#send();
    } else if (kind === 'reset') return this.#leave({ how: 'reset' });
    this.#deliver();
  }

  lost(): void {
    this.#leave({ how: 'lost' });
  }

  #leave(gone: Gone): void {
    if (this.#isClosed) return;
    this.close();
    this.user.gone(gone);
  }

  #deliver(): void {
    if (this.#isPaused || this.#isDelivering || this.#isClosed) return;
    if (this.#reader.isComplete) {
      this.#isDelivering = true;
      this.end.process.soon(() => {
        this.#isDelivering = false;
        if (!this.#isPaused && !this.#isClosed) this.#deliverOne();
        this.#deliver();
      });
      return;
    }
    this.#tellRead(this.#reader.drain());
    if (this.#gone === undefined) return;
    const gone = this.#gone;
    this.#gone = undefined;
    this.user.gone(gone);
  }

  #deliverOne(): void {
    const { message, read } = this.#reader.take();
    this.#tellRead(read);
    this.user.message(message);
  }

  #tellRead(bytes: number): void {
    if (bytes === 0) return;
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(bytes, 0);
    this.end.send('window', this.id, payload);
  }

  #send(): void {
    for (let first = this.#out[0]; first !== undefined && this.#window > 0; first = this.#out[0]) {
      const size = Math.min(this.#window, this.flow.frame, first.bytes.length - first.at);
      this.end.send('data', this.id, first.bytes.subarray(first.at, first.at + size));
      first.at += size;
      this.#window -= size;
      this.#waiting -= size;
      if (first.at < first.bytes.length) continue;
      this.#out.shift();
      this.end.process.soon(first.taken);
    }
    if (this.#isFull && this.#waiting <= this.flow.buffer / 2) {
      this.#isFull = false;
      this.end.process.soon(() => this.#isClosed || this.user.drained());
    }
    if (this.#farewell === undefined || this.#saidFarewell || this.#out.length > 0) return;
    this.#saidFarewell = true;
    this.end.send('end', this.id, this.#farewell);
    this.end.process.soon(() => this.onFarewell());
  }
}

export interface Keepalive {
  readonly time: number;
  readonly timeout: number;
}

export interface ConnectionListener {
  /** The other side begins a stream. */
  opened(stream: StreamEnd): void;
  /** It is over, and this side knows it; its streams were told. */
  lost(): void;
}

/** One side of a connection. */
export class ConnectionEnd {
  isLost = false;
  readonly #streams = new Map<number, StreamEnd>();
  readonly #reader = new FrameReader();
  #callOffPing: (() => void) | undefined;
  #lastStream = 0;

  constructor(
    readonly process: Process,
    private readonly out: { send(bytes: Buffer): void },
    private readonly flow: Flow,
    private readonly keepalive: Keepalive,
    private readonly listener: ConnectionListener,
  ) {
    this.#pingLater();
  }

  get streams(): number {
    return this.#streams.size;
  }

  open(): StreamEnd {
    this.#lastStream += 1;
    const stream = this.#stream(this.#lastStream);
    this.send('open', stream.id);
    return stream;
  }

  send(kind: FrameKind, stream: number, payload?: Uint8Array): void {
    if (!this.isLost) this.out.send(encodeFrame(kind, stream, payload));
  }

  forget(stream: StreamEnd): void {
    this.#streams.delete(stream.id);
  }

  /** To be called in the process of this end. */
  arrive(bytes: Buffer): void {
    if (this.isLost) return;
    for (const frame of this.#reader.push(bytes)) this.#take(frame);
  }

  /** It is closed from here, or of no use any more: the other side is told, if anything passes. */
  lose(): void {
    if (this.isLost) return;
    this.send('away', 0);
    this.isLost = true;
    this.#callOffPing?.();
    for (const stream of [...this.#streams.values()]) stream.lost();
    this.listener.lost();
  }

  #stream(id: number): StreamEnd {
    const stream = new StreamEnd(this, id, this.flow);
    this.#streams.set(id, stream);
    return stream;
  }

  #take(frame: Frame): void {
    if (frame.kind === 'open') return this.listener.opened(this.#stream(frame.stream));
    if (frame.kind === 'ping') return this.send('pong', 0);
    if (frame.kind === 'pong') {
      this.#callOffPing?.();
      return this.#pingLater();
    }
    if (frame.kind === 'away') return this.lose();
    this.#streams.get(frame.stream)?.take(frame);
  }

  #pingLater(): void {
    this.#callOffPing = this.process.after(this.keepalive.time, () => {
      this.send('ping', 0);
      this.#callOffPing = this.process.after(this.keepalive.timeout, () => this.lose());
    });
  }
}
