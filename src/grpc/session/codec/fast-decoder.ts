/**
 * The commands that a busy session is full of, read as encoders write them: known fields, in order, each once, texts in
 * ASCII. The generated decoder calls a method for each field and makes objects for those that are not there; read this
 * way a command costs a third of that. Whatever else comes is left to the generated decoder, which alone says what it
 * means, or that it means nothing: so there is no second reading of anything unusual.
 */

import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { Payload } from '../../../coordinator.js';
import type { AckMessage, DeQueueMessage, ItemMessage, SubmitMessage } from '../../convert/messages.js';
import { ownPayload } from '../../convert/own-bytes.js';
import { Duration } from '../../gen/google/protobuf/duration.js';
import * as wire from '../../gen/keyturn/v1/coordinator.js';
import { asciiText } from './ascii-text.js';

type Others = Exclude<NonNullable<wire.Command['call']>, { readonly $case: 'ack' | 'dequeue' | 'submit' }>;

export type Call =
  | Others
  | { readonly $case: 'ack'; readonly value: AckMessage }
  | { readonly $case: 'dequeue'; readonly value: DeQueueMessage }
  | { readonly $case: 'submit'; readonly value: SubmitMessage };

export interface Command {
  readonly id: number;
  readonly call: Call | undefined;
}

const VARINT = 0;
const DELIMITED = 2;
/** The highest bit of a byte says that another one follows; the seven others are the number's. */
const MORE = 0x80;
const SEPTET = 0x7f;
const FOUR_SEPTETS = 2 ** 28;
const NOTHING = new Uint8Array(0);
const NO_HEADERS: ReadonlyMap<string, string> = new Map();
const NO_ITEMS: readonly wire.ItemRef[] = Object.freeze([]);
const NO_FOLLOW_UPS: readonly wire.FollowUp[] = Object.freeze([]);

const CALL = { enqueue: 2, dequeue: 3, submit: 4, ack: 6 } as const;

export class FastDecoder {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Something came that is not read here. */
  #strange = false;

  /** @returns the command in these bytes; unset: the generated decoder has to be asked */
  read(bytes: Buffer, start: number, end: number): Command | undefined {
    if (end > bytes.length) return undefined;
    this.#bytes = bytes;
    this.#at = start;
    this.#strange = false;
    const id = bytes[start] === tagOf(1, VARINT) ? this.#idField() : 0;
    const tag = bytes[this.#at++] ?? 0;
    // The call is the last field.
    if (this.#length(end) !== end - this.#at || this.#strange) return undefined;
    const call = this.#call(tag, end);
    return call === undefined || this.#strange || this.#at !== end ? undefined : { id, call };
  }

  #idField(): number {
    this.#at += 1;
    return this.#small();
  }

  #call(tag: number, end: number): Call | undefined {
    switch (tag) {
      case tagOf(CALL.ack, DELIMITED):
        return { $case: 'ack', value: this.#ack(end) };
      case tagOf(CALL.dequeue, DELIMITED):
        return { $case: 'dequeue', value: this.#deQueue(end) };
      case tagOf(CALL.enqueue, DELIMITED):
        return { $case: 'enqueue', value: this.#enQueue(end) };
      case tagOf(CALL.submit, DELIMITED):
        return { $case: 'submit', value: this.#submit(end) };
      default:
        return undefined;
    }
  }

  #ack(end: number): AckMessage {
    const queue = this.#text(1, end);
    const key = this.#text(2, end);
    const token = this.#token(3, end);
    return { queue, key, token: token ?? 0, result: this.#window(4, end), followUps: NO_FOLLOW_UPS, next: undefined };
  }

  #deQueue(end: number): DeQueueMessage {
    const queue = this.#text(1, end);
    const key = this.#text(2, end);
    const token = this.#token(3, end);
    const holder = token === undefined ? undefined : ({ $case: 'token', value: token } as const);
    return { queue, key, holder, abandoned: false, result: this.#window(6, end) };
  }

  #enQueue(end: number): wire.EnQueueRequest {
    return {
      queue: this.#text(1, end),
      key: this.#text(2, end),
      consumerId: this.#text(3, end),
      ticket: this.#text(4, end),
      wait: this.#duration(5, end),
      lease: this.#duration(6, end),
      idempotencyKey: this.#text(7, end),
    };
  }

  #submit(end: number): SubmitMessage {
    const queue = this.#text(1, end);
    const items: ItemMessage[] = [];
    while (this.#has(2, DELIMITED, end)) {
      const length = this.#length(end);
      const itemEnd = this.#at + length;
      if (this.#strange) break;
      items.push(this.#item(itemEnd));
      // A wrong length must not be taken for the right one of two.
      if (this.#at !== itemEnd) this.#strange = true;
    }
    const waitForRoom = this.#duration(3, end);
    return { queue, items, waitForRoom, durability: wire.Durability.DURABILITY_UNSPECIFIED };
  }

  #item(end: number): ItemMessage {
    return {
      key: this.#text(1, end),
      payload: this.#copy(2, end),
      headers: NO_HEADERS,
      itemId: this.#text(4, end),
      idempotencyKey: this.#text(5, end),
      delay: this.#duration(6, end),
      after: NO_ITEMS,
      afterUnknown: wire.AfterUnknown.AFTER_UNKNOWN_UNSPECIFIED,
      isKept: true,
    };
  }

  #text(field: number, end: number): string {
    const length = this.#field(field, end);
    if (length === 0) return '';
    const text = asciiText(this.#bytes, this.#at, length);
    this.#at += length;
    if (text !== undefined) return text;
    this.#strange = true;
    return '';
  }

  #window(field: number, end: number): Uint8Array {
    const length = this.#field(field, end);
    if (length === 0) return NOTHING;
    const start = this.#at;
    this.#at += length;
    return this.#bytes.subarray(start, this.#at);
  }

  #copy(field: number, end: number): Payload {
    const length = this.#field(field, end);
    if (length === 0) return NOTHING;
    const start = this.#at;
    this.#at += length;
    return ownPayload(this.#bytes, start, this.#at);
  }

  #duration(field: number, end: number): Duration | undefined {
    if (!this.#has(field, DELIMITED, end)) return undefined;
    const length = this.#length(end);
    const start = this.#at;
    this.#at += length;
    if (this.#strange) return undefined;
    try {
      const reader = new BinaryReader(this.#bytes.subarray(start, this.#at));
      const duration = Duration.decode(reader);
      // It stops early at what ends a message of another form.
      if (reader.pos !== reader.len) this.#strange = true;
      return duration;
    } catch {
      this.#strange = true;
      return undefined;
    }
  }

  /** Of a number below 2^53; unset: the field is not there. */
  #token(field: number, end: number): number | undefined {
    if (!this.#has(field, VARINT, end)) return undefined;
    const low = this.#septets();
    if (low < FOUR_SEPTETS) return low;
    const high = this.#septets();
    const token = low - FOUR_SEPTETS + high * FOUR_SEPTETS;
    if (high >= FOUR_SEPTETS || token > Number.MAX_SAFE_INTEGER) this.#strange = true;
    return token;
  }

  /** How long the field is; 0: it is not there, or is empty. */
  #field(field: number, end: number): number {
    return this.#has(field, DELIMITED, end) ? this.#length(end) : 0;
  }

  #has(field: number, wireType: number, end: number): boolean {
    if (this.#at >= end || this.#bytes[this.#at] !== tagOf(field, wireType)) return false;
    this.#at += 1;
    return true;
  }

  #length(end: number): number {
    const length = this.#small();
    if (length <= end - this.#at) return length;
    this.#strange = true;
    return 0;
  }

  /** A number below 2^28. */
  #small(): number {
    const number = this.#septets();
    if (number < FOUR_SEPTETS) return number;
    this.#strange = true;
    return 0;
  }

  /** Up to four bytes of a number; 2^28 more than that when it goes on behind them. */
  #septets(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.#at++] ?? 0;
    let number = byte & SEPTET;
    for (let shift = 7; byte >= MORE; shift += 7) {
      if (shift === 28) return number + FOUR_SEPTETS;
      byte = bytes[this.#at++] ?? 0;
      number |= (byte & SEPTET) << shift;
    }
    return number;
  }
}

/** Of a field below 16. */
function tagOf(field: number, wireType: number): number {
  return (field << 3) | wireType;
}
