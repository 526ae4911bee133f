/**
 * Messages of a session as the generated decoder reads them, in a third of its time: it knows the fields that usual answers
 * have, written as a sidecar writes them. Whatever else there is in a message (a field that it does not know, a number that
 * is larger than its kind, a length that leads astray), the whole message is read by the generated decoder instead. So this
 * one has no opinion of its own about anything that is rare or wrong.
 */
import * as wire from '../gen/keyturn/v1/coordinator.js';
import {
  BYTES_1,
  BYTES_2,
  BYTES_3,
  BYTES_4,
  BYTES_5,
  BYTES_6,
  BYTES_7,
  BYTES_8,
  FieldReader,
  SURPRISE,
  VARINT_1,
  VARINT_2,
  VARINT_3,
  VARINT_4,
  VARINT_5,
  VARINT_6,
  VARINT_7,
} from './field-reader.js';

type Outcome = NonNullable<wire.Reply['outcome']>;

/** Shared by many messages: nothing is ever written to them. */
const NO_BYTES = new Uint8Array(0);
const NO_HEADERS = new Map<string, string>();
const ACKED: Outcome = { $case: 'ack', value: { followUps: [], next: undefined } };

export function decodeSessionResponse(bytes: Buffer): wire.SessionResponse {
  try {
    return new SessionDecoder(bytes).message();
  } catch (error) {
    if (error !== SURPRISE) throw error;
    return wire.SessionResponse.decode(bytes);
  }
}

class SessionDecoder extends FieldReader {
  message(): wire.SessionResponse {
    const message: wire.SessionResponse = { replies: [], notices: [] };
    const { length } = this.bytes;
    while (this.at < length) {
      const tag = this.tag();
      if (tag !== BYTES_1) throw SURPRISE;
      message.replies.push(this.#reply(this.end(length)));
    }
    return message;
  }

  #reply(end: number): wire.Reply {
    if (this.tag() !== VARINT_1) throw SURPRISE;
    const id = this.uint();
    const tag = this.tag();
    if (this.end(end) !== end) throw SURPRISE;
    return this.done(end, { id, outcome: this.#outcome(tag, end) });
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
        return this.at === end ? ACKED : { $case: 'ack', value: this.#ack(end) };
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
    while (this.at < end) {
      const tag = this.tag();
      if (tag === VARINT_1) message.decision = this.uint();
      else if (tag === BYTES_2) message.turn = this.#turn(this.end(end));
      else if (tag === BYTES_3) message.ticket = this.text(end);
      else if (tag === VARINT_4) message.ahead = this.uint();
      else if (tag === VARINT_5) message.reason = this.uint();
      else if (tag === BYTES_6) message.retryAfter = this.time(this.end(end));
      else if (tag === BYTES_7) message.result = this.rest(this.end(end));
      else if (tag === BYTES_8) message.survivorId = this.text(end);
      else throw SURPRISE;
    }
    return this.done(end, message);
  }

  #deQueue(end: number): wire.DeQueueResponse {
    const message: wire.DeQueueResponse = { promoted: false, waiting: 0 };
    while (this.at < end) {
      const tag = this.tag();
      if (tag === VARINT_1) message.promoted = this.uint() !== 0;
      else if (tag === VARINT_2) message.waiting = this.uint();
      else throw SURPRISE;
    }
    return this.done(end, message);
  }

  #submitResults(end: number): wire.SubmitResult[] {
    const results: wire.SubmitResult[] = [];
    while (this.at < end) {
      if (this.tag() !== BYTES_1) throw SURPRISE;
      results.push(this.#submitResult(this.end(end)));
    }
    return this.done(end, results);
  }

  #submitResult(end: number): wire.SubmitResult {
    const message: wire.SubmitResult = {
      itemId: '',
      decision: 0,
      reason: 0,
      survivorId: '',
      supersededId: '',
      retryAfter: undefined,
      onItsWay: false,
    };
    while (this.at < end) {
      const tag = this.tag();
      if (tag === BYTES_1) message.itemId = this.text(end);
      else if (tag === VARINT_2) message.decision = this.uint();
      else if (tag === VARINT_3) message.reason = this.uint();
      else if (tag === BYTES_4) message.survivorId = this.text(end);
      else if (tag === BYTES_5) message.supersededId = this.text(end);
      else if (tag === BYTES_6) message.retryAfter = this.time(this.end(end));
      else if (tag === VARINT_7) message.onItsWay = this.uint() !== 0;
      else throw SURPRISE;
    }
    return this.done(end, message);
  }

  #deliveries(end: number): wire.Delivery[] {
    const deliveries: wire.Delivery[] = [];
    while (this.at < end) {
      if (this.tag() !== BYTES_1) throw SURPRISE;
      deliveries.push(this.#delivery(this.end(end)));
    }
    return this.done(end, deliveries);
  }

  #delivery(end: number): wire.Delivery {
    const message: wire.Delivery = { turn: undefined, items: [] };
    while (this.at < end) {
      const tag = this.tag();
      if (tag === BYTES_1) message.turn = this.#turn(this.end(end));
      else if (tag === BYTES_2) message.items.push(this.#item(this.end(end)));
      else throw SURPRISE;
    }
    return this.done(end, message);
  }

  #ack(end: number): wire.AckResponse {
    const message: wire.AckResponse = { followUps: [], next: undefined };
    while (this.at < end) {
      const tag = this.tag();
      const until = this.end(end);
      if (tag === BYTES_1) message.followUps.push(this.#submitResult(until));
      else if (tag === BYTES_2) message.next = { deliveries: this.#deliveries(until) };
      else throw SURPRISE;
    }
    return this.done(end, message);
  }

  #nack(end: number): wire.NackResponse {
    const message: wire.NackResponse = { retryAt: undefined, deadLettered: 0 };
    while (this.at < end) {
      const tag = this.tag();
      if (tag === BYTES_1) message.retryAt = this.time(this.end(end));
      else if (tag === VARINT_2) message.deadLettered = this.uint();
      else throw SURPRISE;
    }
    return this.done(end, message);
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
    while (this.at < end) {
      const tag = this.tag();
      if (tag === BYTES_1) message.queue = this.text(end);
      else if (tag === BYTES_2) message.key = this.text(end);
      else if (tag === VARINT_3) message.token = BigInt(this.number());
      else if (tag === BYTES_4) message.lease = this.time(this.end(end));
      else if (tag === BYTES_5) message.leaseExpiresAt = this.time(this.end(end));
      else if (tag === VARINT_6) message.attempt = this.uint();
      else throw SURPRISE;
    }
    return this.done(end, message);
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
    while (this.at < end) {
      const tag = this.tag();
      if (tag === BYTES_1) message.itemId = this.text(end);
      else if (tag === BYTES_2) message.payload = this.rest(this.end(end));
      else if (tag === BYTES_3) message.headers = this.#header(message.headers, this.end(end));
      else if (tag === BYTES_4) message.idempotencyKey = this.text(end);
      else if (tag === BYTES_5) message.submittedAt = this.time(this.end(end));
      else if (tag === VARINT_6) message.attempt = this.uint();
      else throw SURPRISE;
    }
    return this.done(end, message);
  }

  /** @param headers those before it */
  #header(headers: Map<string, string>, end: number): Map<string, string> {
    if (this.tag() !== BYTES_1) throw SURPRISE;
    const name = this.text(end);
    if (this.tag() !== BYTES_2) throw SURPRISE;
    const value = this.text(end);
    this.done(end, undefined);
    return headers === NO_HEADERS ? new Map([[name, value]]) : headers.set(name, value);
  }
}
