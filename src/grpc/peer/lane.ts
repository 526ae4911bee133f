/**
 * One lane of a link: messages both ways, in order, each once, over streams that may break. What is written is gathered
 * until what runs has ended, numbered, and kept until the other side says that everything in it is done; a stream that
 * takes up a broken one gets again what the other side has not received.
 *
 * Not more than a window of bytes is on its way: what comes in is always read, so that what it says of our own messages is
 * known at once, and what waits here to be done is bounded by the other side's window.
 */
import type { TurnRef } from '../../coordinator.js';
import { WireWriter } from '../session/codec/wire-writer.js';
import type { Scheduler } from '../session/flow.js';
import { HEADER_BYTES, type Header, NO_HEADER, putHeader, readHeader, writeHeader } from './codec/header.js';
import { WireReader } from './codec/wire-reader.js';
import { Given, type Taker } from './given.js';
import { Inbox, type InboxListener } from './inbox.js';
import { BEAT } from './limits.js';

/** A stream that has done its handshake. */
export interface LaneStream {
  /** @param left the bytes have left this process */
  send(message: Buffer, left: () => void): void;
}

interface LaneListener extends InboxListener {
  /** Nothing came from the other side for too long. The stream is of no use. */
  silent(): void;
  /** The version of the routes that this side follows; of a home 0. */
  routes(): number;
}

interface LaneLimits {
  /** Bytes on their way that the other side has not done yet. */
  readonly window: number;
  /** Where a message ends; one entry may be larger, and travels alone. */
  readonly message: number;
  /** Of our own beats without a message of the other side; then the stream is given up. */
  readonly silence: number;
}

interface Message {
  readonly number: number;
  readonly bytes: Buffer;
  readonly given: Given;
}

/** Messages that are handed to a stream and have not left: one that it works on, and one that waits for it. */
const MOST_HANDED = 2;
/** What was done is said when it is so much, with what goes back anyway, or with the next beat. */
const DONE_BYTES = 32_768;

export class Lane {
  readonly out = new WireWriter(HEADER_BYTES);
  #given = new Given();
  readonly #cut: Message[] = [];
  readonly #unacked: Message[] = [];
  #unackedBytes = 0;
  #cutBytes = 0;
  #sealed = 0;
  #handed = 0;
  #acked = 0;
  #leaving = 0;
  #scheduled = false;
  /** By which routes the oldest entry of the message was sent here; unset: there is none yet. */
  #routes: number | undefined;
  #stream: LaneStream | undefined;
  /** Of the stream: what an older one says late does not count. */
  #generation = 0;

  readonly #in: Inbox;
  #undoneSaid = 0;
  #sayDone = false;

  #beat = 0;
  #silence = 0;
  #stopTicking: (() => void) | undefined;
  #isOver = false;

  /** The other lane of the link: what is large waits for what was small before it. Set once. */
  waitsFor: Lane | undefined;
  /** Called when everything of a message is done: the large lane may have waited for it. */
  onDone: (() => void) | undefined;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly limits: LaneLimits,
    private readonly listener: LaneListener,
  ) {
    this.#in = new Inbox(scheduler, limits.window, listener, {
      mayDo: (after) => after <= (this.waitsFor?.done ?? Number.POSITIVE_INFINITY),
      isDone: this.#isDone,
    });
  }

  /** The number of the message into which is written now. */
  get gathering(): number {
    return this.#sealed + 1;
  }

  /** The last message that was handed to a stream: from the next one on nothing has left. */
  get handed(): number {
    return this.#handed;
  }

  /** The last message of ours of which the other side has done everything. */
  get acked(): number {
    return this.#acked;
  }

  /** The last message that came in. */
  get received(): number {
    return this.#in.received;
  }

  get done(): number {
    return this.#in.done;
  }

  /** What the other side has not done yet, bytes. */
  get unsent(): number {
    return this.out.length + this.#cutBytes + this.#unackedBytes;
  }

  get isAttached(): boolean {
    return this.#stream !== undefined;
  }

  /**
   * To be called after an entry was written: it begins a message of its own when one cannot hold it with the rest. Then
   * {@link gives}, then {@link schedule}.
   * @param before how much had been written before it
   */
  keepApart(before: number): void {
    if (this.out.length <= this.limits.message || before === 0) return;
    const message = this.#seal(before);
    this.#cut.push(message);
    this.#cutBytes += message.bytes.length;
  }

  /** These turns were given in the last entry. */
  gives(to: Taker, turns: readonly TurnRef[]): void {
    for (const turn of turns) this.#given.add(to, turn);
  }

  /** @param received the last message of ours that had come in on the other side: what came later is sent again */
  attach(stream: LaneStream, received: number): void {
    this.detach();
    this.#stream = stream;
    this.#silence = 0;
    // What has come in is not done yet: it stays here, though it is not sent again.
    for (const message of this.#unacked) if (message.number > received) this.#send(stream, message.bytes);
    this.#tick();
    this.schedule();
  }

  detach(): void {
    this.#stream = undefined;
    this.#generation += 1;
    this.#leaving = 0;
    this.#stopTicking?.();
    this.#stopTicking = undefined;
  }

  /** Nothing is sent or done any more. */
  end(): void {
    this.detach();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#in.end();
  }

  /** What was given in messages that never left, and with them what is gathered. Precondition: it has ended. */
  givenUnhanded(): readonly Given[] {
    return [...this.#cut.map(({ given }) => given), this.#given];
  }

  /** What was given in messages that may have come in. The number of the message, and what. */
  givenUnacked(): readonly { readonly number: number; readonly given: Given }[] {
    return this.#unacked.filter(({ given }) => !given.isEmpty);
  }

  receive(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#silence = 0;
    try {
      const header = readHeader(this.#headerReader.over(bytes));
      this.#take(header, bytes);
    } catch (error) {
      this.listener.malformed(error);
    }
  }

  readonly #headerReader = new WireReader();

  #take(header: Header, bytes: Buffer): void {
    this.#acknowledge(header.taken);
    if (header.number === 0) {
      if (header.body < bytes.length) throw new RangeError('a message without a number carries entries');
      return;
    }
    if (this.#in.take(header, bytes)) this.work();
  }

  #acknowledge(taken: number): void {
    if (taken <= this.#acked) return;
    if (taken > this.#handed) throw new RangeError(`message ${taken} is said to be done; ${this.#handed} were sent`);
    this.#acked = taken;
    let gone = 0;
    for (const message of this.#unacked) {
      if (message.number > taken) break;
      this.#unackedBytes -= message.bytes.length;
      gone += 1;
    }
    this.#unacked.splice(0, gone);
    this.schedule();
  }

  /** Does what came in, as far as it may be done now. */
  readonly work = (): void => this.#in.work();

  /** Does all that came in and may be done, in one go. */
  finish(): void {
    this.#in.finish();
  }

  readonly #isDone = (bytes: number): void => {
    this.#undoneSaid += bytes;
    if (this.#undoneSaid >= DONE_BYTES || this.waitsFor !== undefined) {
      this.#sayDone = true;
      this.schedule();
    }
    this.onDone?.();
  };

  schedule(): void {
    if (this.out.length > 0) this.#routes ??= this.listener.routes();
    if (this.#scheduled || this.#stream === undefined) return;
    this.#scheduled = true;
    this.scheduler.atEnd(this.#flush);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    const stream = this.#stream;
    if (stream === undefined) return;
    while (this.#leaving < MOST_HANDED && this.#unackedBytes < this.limits.window) {
      const message = this.#next();
      if (message === undefined) break;
      this.#unacked.push(message);
      this.#unackedBytes += message.bytes.length;
      this.#handed = message.number;
      this.#send(stream, message.bytes);
      if (this.#stream !== stream) return;
    }
    if (this.#sayDone && this.#leaving < MOST_HANDED) this.#sayOnly(stream, { taken: this.#saidDone() });
  };

  #next(): Message | undefined {
    const cut = this.#cut.shift();
    if (cut === undefined) return this.out.length > 0 ? this.#seal(this.out.length) : undefined;
    this.#cutBytes -= cut.bytes.length;
    return cut;
  }

  #send(stream: LaneStream, bytes: Buffer): void {
    this.#leaving += 1;
    const generation = this.#generation;
    stream.send(bytes, () => {
      if (generation !== this.#generation) return;
      this.#leaving -= 1;
      this.schedule();
    });
  }

  #seal(length: number): Message {
    this.#sealed += 1;
    const header = {
      ...NO_HEADER,
      number: this.#sealed,
      taken: this.#saidDone(),
      after: this.waitsFor?.everything ?? 0,
      // Those of older routes in it must be refused where newer ones count; the others are sent once more.
      routes: this.#routes ?? this.listener.routes(),
    };
    this.#routes = undefined;
    const message = {
      number: this.#sealed,
      bytes: putHeader(this.out.take(length), header),
      given: this.#given,
    };
    if (!message.given.isEmpty) this.#given = new Given();
    return message;
  }

  /** The last message that was written, if only in part. */
  get everything(): number {
    return this.out.length > 0 ? this.gathering : this.#sealed;
  }

  #saidDone(): number {
    this.#undoneSaid = 0;
    this.#sayDone = false;
    return this.#in.done;
  }

  #sayOnly(stream: LaneStream, header: Partial<Header>): void {
    this.#send(stream, writeHeader({ ...NO_HEADER, ...header }));
  }

  /**
   * Each side looks at what comes in, and so a connection that carries one way only is found by the side that gets nothing.
   * By beats, not by the time between them: a process that stood still must not take that for the other's silence.
   */
  readonly #tick = (): void => {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#silence += 1;
    if (this.#silence > this.limits.silence) return this.listener.silent();
    this.#beat += 1;
    this.#sayOnly(stream, { taken: this.#saidDone(), beat: this.#beat });
    this.#stopTicking = this.scheduler.after(BEAT, this.#tick);
  };
}
