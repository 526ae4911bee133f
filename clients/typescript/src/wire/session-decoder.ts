/**
 * Messages of a session as the generated decoder reads them, in a third of its time: it knows the fields that usual answers
 * have, written as a sidecar writes them. Whatever else there is in a message (a field that it does not know, a number that
 * is larger than its kind, a length that leads astray), the whole message is read by the generated decoder instead. So this
 * one has no opinion of its own about anything that is rare or wrong.
 */
import { TextDecoder } from 'node:util';
import type { Duration } from '../gen/google/protobuf/duration.js';
import * as wire from '../gen/keyturn/v1/coordinator.js';

type Outcome = NonNullable<wire.Reply['outcome']>;

/** Thrown here and caught here; an error with a stack would be dear, and nobody reads it. */
const SURPRISE = Symbol('to be read by the generated decoder');

/** Tags of fields, by their number and how they are written. */
const VARINT_1 = 0x08;
const VARINT_2 = 0x10;
const VARINT_3 = 0x18;
const VARINT_4 = 0x20;
const VARINT_5 = 0x28;
const VARINT_6 = 0x30;
const BYTES_1 = 0x0a;
const BYTES_2 = 0x12;
const BYTES_3 = 0x1a;
const BYTES_4 = 0x22;
const BYTES_5 = 0x2a;
const BYTES_6 = 0x32;
const BYTES_7 = 0x3a;
const BYTES_8 = 0x42;

/** The highest bit of a byte says that another one follows; the seven others are the number's. */
const MORE = 0x80;
const SEPTET = 0x7f;
const LONGEST_NUMBER = 8;
const MOST_INT32 = 0x7fffffff;

/** Nobody writes to what is empty. */
const NO_BYTES = new Uint8Array(0);
const NO_HEADERS = new Map<string, string>();
const ACKED: Outcome = { $case: 'ack', value: { followUps: [], next: undefined } };

/** As the generated decoder's own: it keeps a byte order mark. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

export function decodeSessionResponse(bytes: Buffer): wire.SessionResponse {
  try {
    return new SessionDecoder(bytes).message();
  } catch (error) {
    if (error !== SURPRISE) throw error;
    return wire.SessionResponse.decode(bytes);
  }
}

class SessionDecoder {
  #at = 0;
  /** Items of one batch were submitted at one moment, and their turns have one lease. */
  #last: Duration = { seconds: 0n, nanos: 0 };
  #lastSeconds = 0;

  constructor(private readonly bytes: Buffer) {}

  message(): wire.SessionResponse {
    const message: wire.SessionResponse = { replies: [], notices: [] };
    const { length } = this.bytes;
    while (this.#at < length) {
      const tag = this.bytes[this.#at++];
      if (tag !== BYTES_1) throw SURPRISE;
      message.replies.push(this.#reply(this.#end(length)));
    }
    return message;
  }

  #reply(end: number): wire.Reply {
    if (this.bytes[this.#at++] !== VARINT_1) throw SURPRISE;
    const id = this.#uint();
    const tag = this.bytes[this.#at++];
    if (this.#end(end) !== end) throw SURPRISE;
    return this.#done(end, { id, outcome: this.#outcome(tag, end) });
  }

  #outcome(tag: number | undefined, end: number): Outcome {
    switch (tag) {
      case BYTES_2:
        return { $case: 'enqueue', value: this.#enQueue(end) };
      case BYTES_3:
        return { $case: 'dequeue', value: this.#deQueue(end) };
      case BYTES_4:
        return { $case: 'submit', value: { results: this.#submitResults(end) } };
      case BYTES_5:
        return { $case: 'acquire', value: { deliveries: this.#deliveries(end) } };
      case BYTES_6:
        return this.#at === end ? ACKED : { $case: 'ack', value: this.#ack(end) };
      case BYTES_7:
        return { $case: 'nack', value: this.#nack(end) };
      default:
        throw SURPRISE;
    }
  }

  #enQueue(end: number): wire.EnQueueResponse {
    const message: wire.EnQueueResponse = {
      decision: 0,
      turn: undefined,
      ticket: '',
      ahead: 0,
      reason: 0,
      retryAfter: undefined,
      result: NO_BYTES,
      survivorId: '',
    };
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      if (tag === VARINT_1) message.decision = this.#uint();
      else if (tag === BYTES_2) message.turn = this.#turn(this.#end(end));
      else if (tag === BYTES_3) message.ticket = this.#text(end);
      else if (tag === VARINT_4) message.ahead = this.#uint();
      else if (tag === VARINT_5) message.reason = this.#uint();
      else if (tag === BYTES_6) message.retryAfter = this.#time(this.#end(end));
      else if (tag === BYTES_7) message.result = this.#rest(this.#end(end));
      else if (tag === BYTES_8) message.survivorId = this.#text(end);
      else throw SURPRISE;
    }
    return this.#done(end, message);
  }

  #deQueue(end: number): wire.DeQueueResponse {
    const message: wire.DeQueueResponse = { promoted: false, waiting: 0 };
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      if (tag === VARINT_1) message.promoted = this.#uint() !== 0;
      else if (tag === VARINT_2) message.waiting = this.#uint();
      else throw SURPRISE;
    }
    return this.#done(end, message);
  }

  #submitResults(end: number): wire.SubmitResult[] {
    const results: wire.SubmitResult[] = [];
    while (this.#at < end) {
      if (this.bytes[this.#at++] !== BYTES_1) throw SURPRISE;
      results.push(this.#submitResult(this.#end(end)));
    }
    return this.#done(end, results);
  }

  #submitResult(end: number): wire.SubmitResult {
    const message: wire.SubmitResult = {
      itemId: '',
      decision: 0,
      reason: 0,
      survivorId: '',
      supersededId: '',
      retryAfter: undefined,
    };
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      if (tag === BYTES_1) message.itemId = this.#text(end);
      else if (tag === VARINT_2) message.decision = this.#uint();
      else if (tag === VARINT_3) message.reason = this.#uint();
      else if (tag === BYTES_4) message.survivorId = this.#text(end);
      else if (tag === BYTES_5) message.supersededId = this.#text(end);
      else if (tag === BYTES_6) message.retryAfter = this.#time(this.#end(end));
      else throw SURPRISE;
    }
    return this.#done(end, message);
  }

  #deliveries(end: number): wire.Delivery[] {
    const deliveries: wire.Delivery[] = [];
    while (this.#at < end) {
      if (this.bytes[this.#at++] !== BYTES_1) throw SURPRISE;
      deliveries.push(this.#delivery(this.#end(end)));
    }
    return this.#done(end, deliveries);
  }

  #delivery(end: number): wire.Delivery {
    const message: wire.Delivery = { turn: undefined, items: [] };
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      if (tag === BYTES_1) message.turn = this.#turn(this.#end(end));
      else if (tag === BYTES_2) message.items.push(this.#item(this.#end(end)));
      else throw SURPRISE;
    }
    return this.#done(end, message);
  }

  #ack(end: number): wire.AckResponse {
    const message: wire.AckResponse = { followUps: [], next: undefined };
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      const until = this.#end(end);
      if (tag === BYTES_1) message.followUps.push(this.#submitResult(until));
      else if (tag === BYTES_2) message.next = { deliveries: this.#deliveries(until) };
      else throw SURPRISE;
    }
    return this.#done(end, message);
  }

  #nack(end: number): wire.NackResponse {
    const message: wire.NackResponse = { retryAt: undefined, deadLettered: 0 };
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      if (tag === BYTES_1) message.retryAt = this.#time(this.#end(end));
      else if (tag === VARINT_2) message.deadLettered = this.#uint();
      else throw SURPRISE;
    }
    return this.#done(end, message);
  }

  #turn(end: number): wire.Turn {
    const message: wire.Turn = {
      queue: '',
      key: '',
      token: 0n,
      lease: undefined,
      leaseExpiresAt: undefined,
      attempt: 0,
    };
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      if (tag === BYTES_1) message.queue = this.#text(end);
      else if (tag === BYTES_2) message.key = this.#text(end);
      else if (tag === VARINT_3) message.token = BigInt(this.#number());
      else if (tag === BYTES_4) message.lease = this.#time(this.#end(end));
      else if (tag === BYTES_5) message.leaseExpiresAt = this.#time(this.#end(end));
      else if (tag === VARINT_6) message.attempt = this.#uint();
      else throw SURPRISE;
    }
    return this.#done(end, message);
  }

  #item(end: number): wire.Item {
    const message: wire.Item = {
      itemId: '',
      payload: NO_BYTES,
      headers: NO_HEADERS,
      idempotencyKey: '',
      submittedAt: undefined,
      attempt: 0,
    };
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      if (tag === BYTES_1) message.itemId = this.#text(end);
      else if (tag === BYTES_2) message.payload = this.#rest(this.#end(end));
      else if (tag === BYTES_3) message.headers = this.#header(message.headers, this.#end(end));
      else if (tag === BYTES_4) message.idempotencyKey = this.#text(end);
      else if (tag === BYTES_5) message.submittedAt = this.#time(this.#end(end));
      else if (tag === VARINT_6) message.attempt = this.#uint();
      else throw SURPRISE;
    }
    return this.#done(end, message);
  }

  /** @param headers those before it */
  #header(headers: Map<string, string>, end: number): Map<string, string> {
    if (this.bytes[this.#at++] !== BYTES_1) throw SURPRISE;
    const name = this.#text(end);
    if (this.bytes[this.#at++] !== BYTES_2) throw SURPRISE;
    const value = this.#text(end);
    this.#done(end, undefined);
    return headers === NO_HEADERS ? new Map([[name, value]]) : headers.set(name, value);
  }

  /** Of a duration or an instant, which look alike. */
  #time(end: number): Duration {
    let seconds = 0;
    let nanos = 0;
    while (this.#at < end) {
      const tag = this.bytes[this.#at++];
      if (tag === VARINT_1) seconds = this.#number();
      else if (tag === VARINT_2) nanos = this.#uint();
      else throw SURPRISE;
    }
    this.#done(end, undefined);
    if (seconds !== this.#lastSeconds || nanos !== this.#last.nanos) {
      this.#last = { seconds: BigInt(seconds), nanos };
      this.#lastSeconds = seconds;
    }
    return this.#last;
  }

  /** A field that began in a message may not go on beyond it. */
  #done<T>(end: number, message: T): T {
    if (this.#at !== end) throw SURPRISE;
    return message;
  }

  /** Reads the length of a field. @returns where it ends */
  #end(within: number): number {
    const length = this.#uint();
    const end = this.#at + length;
    if (end > within) throw SURPRISE;
    return end;
  }

  #rest(end: number): Buffer {
    const rest = this.bytes.subarray(this.#at, end);
    this.#at = end;
    return rest;
  }

  #text(within: number): string {
    const end = this.#end(within);
    const { bytes } = this;
    const start = this.#at;
    this.#at = end;
    for (let at = start; at < end; at++) {
      if ((bytes[at] ?? MORE) >= MORE) return utf8.decode(bytes.subarray(start, end));
    }
    return bytes.toString('latin1', start, end);
  }

  /** From 0 to 2^31-1. */
  #uint(): number {
    const first = this.bytes[this.#at];
    if (first !== undefined && first < MORE) {
      this.#at += 1;
      return first;
    }
    const value = this.#number();
    if (value > MOST_INT32) throw SURPRISE;
    return value;
  }

  /** From 0 to 2^53-1. */
  #number(): number {
    let value = 0;
    let scale = 1;
    for (let read = 0; read < LONGEST_NUMBER; read++) {
      const byte = this.bytes[this.#at++];
      if (byte === undefined) throw SURPRISE;
      value += (byte & SEPTET) * scale;
      if (byte < MORE) {
        if (value > Number.MAX_SAFE_INTEGER) throw SURPRISE;
        return value;
      }
      scale *= MORE;
    }
    throw SURPRISE;
  }
}
