/**
 * Every limit of a request in one place. A {@link Check} looks at the fields of one request, collects what is wrong,
 * naming each field as the proto does, and is asked once at the end.
 */
import { DEFAULT_LIMITS, type FieldViolation, type Limits, type Refusal } from '../../coordinator.js';
import type { Duration } from '../gen/google/protobuf/duration.js';
import type { Timestamp } from '../gen/google/protobuf/timestamp.js';
import { shorten } from './show.js';
import { LONGEST_DURATION_MS } from './time.js';

/** More violations would not help, and the answer has to fit into a client's limit for trailers. */
const MOST_VIOLATIONS = 20;
const QUEUE_NAME = /^[A-Za-z0-9._:/-]+$/;
/** Of a Timestamp, as its proto says. */
const FIRST_SECOND = -62_135_596_800n;
const LAST_SECOND = 253_402_300_799n;
const NANOS_PER_MS = 1_000_000;
const NANOS_PER_SECOND = 1_000_000_000;
const LONGEST_SECONDS = BigInt(LONGEST_DURATION_MS / 1_000);
/** UTF-8 needs at most this many bytes for one UTF-16 unit. */
const BYTES_PER_UNIT = 3;

export class Check {
  #violations: FieldViolation[] | undefined;
  // Where the fields now looked at stand. Their paths are put together only when one is wrong: a Submit has thousands.
  #list = '';
  #index = 0;
  #inner = '';
  /** Not a name, so nothing is taken for it. */
  #queue = '';

  constructor(readonly limits: Limits) {}

  refusal(): Refusal | undefined {
    return this.#violations && { kind: 'bad_request', violations: this.#violations };
  }

  /** The same, and the next request may be looked at. */
  take(): Refusal | undefined {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      this.#violations = undefined;
      this.leave();
    }
    return refusal;
  }

  /** The reading of a request ended in its middle. */
  forget(): void {
    this.#violations = undefined;
    this.leave();
  }

  /** The fields that follow are those of the message `list[index]`, or of `list[index].inner`. */
  enter(list: string, index: number, inner = ''): void {
    this.#list = list;
    this.#index = index;
    this.#inner = inner;
  }

  /** The fields that follow are those of the message in the field `name`. */
  enterField(name: string): void {
    this.enter(name, -1);
  }

  leave(): void {
    this.enter('', -1);
  }

  wrong(field: string, shown: string, allowed: string): void {
    this.#violate(field, `${shown} is not allowed; allowed: ${allowed}`);
  }

  /** One of two fields is needed, and neither was sent. */
  missing(field: string, other: string, allowed: string): void {
    this.#violate(field, `missing, and so is ${other}; allowed: ${allowed}`);
  }

  #violate(field: string, description: string): void {
    this.#violations ??= [];
    if (this.#violations.length >= MOST_VIOLATIONS) return;
    this.#violations.push({ field: this.#path(field), description });
  }

  /** The last name that was right is given back as the same text: its hash is known already. */
  queue(field: string, name: string): string {
    if (name === this.#queue && name !== '') return this.#queue;
    const most = this.limits.queueNameBytes;
    if (name.length > most || !QUEUE_NAME.test(name)) {
      this.wrong(field, describe(name), `1 to ${most} characters of A-Z a-z 0-9 . _ : / -`);
      return name;
    }
    this.#queue = name;
    return name;
  }

  requiredKey(field: string, key: string): string {
    return this.#text(field, key, 1, this.limits.keyBytes);
  }

  /** Empty: a keyless item. */
  key(field: string, key: string): string {
    return this.#text(field, key, 0, this.limits.keyBytes);
  }

  requiredId(field: string, id: string): string {
    return this.#text(field, id, 1, this.limits.idBytes);
  }

  /** Empty is unset. */
  id(field: string, id: string): string | undefined {
    return id === '' ? undefined : this.#text(field, id, 0, this.limits.idBytes);
  }

  text(field: string, text: string, mostBytes: number): string {
    return this.#text(field, text, 0, mostBytes);
  }

  bytes(field: string, bytes: { readonly length: number }): void {
    const most = this.limits.payloadBytes;
    if (bytes.length > most) this.wrong(field, `${bytes.length} bytes`, `up to ${most} bytes`);
  }

  headers(field: string, headers: ReadonlyMap<string, string>): void {
    if (headers.size === 0) return;
    const { headers: most, headerBytes } = this.limits;
    if (headers.size > most) this.wrong(field, `${headers.size} headers`, `up to ${most}`);
    let bytes = 0;
    for (const [name, value] of headers) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    if (bytes > headerBytes) this.wrong(field, `${bytes} bytes of headers`, `up to ${headerBytes} bytes together`);
  }

  listLength(field: string, length: number, least: number, most: number): void {
    if (length < least || length > most) this.wrong(field, `${length} entries`, `${least} to ${most}`);
  }

  /** Zero is unset. */
  count(field: string, count: number, most: number, unset: number): number {
    if (count > most) this.wrong(field, String(count), `1 to ${most}`);
    return count === 0 ? unset : count;
  }

  /** No longer than `limits.max_wait`: clients ask again where a wait has ended. */
  wait(field: string, wait: Duration | undefined): number | undefined {
    const asked = this.#duration(field, wait, 0, DEFAULT_LIMITS.maxWait);
    return asked === undefined ? undefined : Math.min(asked, this.limits.maxWait);
  }

  delay(field: string, delay: Duration | undefined): number | undefined {
    return this.#duration(field, delay, 0, this.limits.maxDelay);
  }

  lease(field: string, lease: Duration | undefined): number | undefined {
    return this.#duration(field, lease, this.limits.minLease, this.limits.maxLease);
  }

  /** Of any bounds, ms. */
  duration(field: string, duration: Duration | undefined, least: number, most: number): number | undefined {
    return this.#duration(field, duration, least, most);
  }

  /** Wall clock, ms. */
  moment(field: string, moment: Timestamp | undefined): number | undefined {
    if (moment === undefined) return undefined;
    const { seconds, nanos } = moment;
    if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos >= NANOS_PER_SECOND)
      this.wrong(field, `seconds ${seconds} and nanos ${nanos}`, 'years 1 to 9999, nanos 0 to 999999999');
    return Number(seconds) * 1_000 + nanos / NANOS_PER_MS;
  }

  /** Whole milliseconds, rounded up: so only zero is zero. */
  #duration(field: string, duration: Duration | undefined, least: number, most: number): number | undefined {
    if (duration === undefined) return undefined;
    const { seconds, nanos } = duration;
    if (isMalformed(seconds, nanos)) {
      const shown = `seconds ${seconds} and nanos ${nanos}`;
      this.wrong(field, shown, 'seconds and nanos of the same sign, up to 315576000000 and 999999999');
      return 0;
    }
    const ms = Number(seconds) * 1_000 + Math.ceil(nanos / NANOS_PER_MS);
    const belowZero = seconds < 0n || nanos < 0;
    if (belowZero || ms < least || ms > most) this.wrong(field, secondsOf(seconds, nanos), `${least} ms to ${most} ms`);
    return ms;
  }

  #text(field: string, text: string, least: number, most: number): string {
    if (text.length < least || isLonger(text, most)) {
      this.wrong(field, describe(text), `${least} to ${most} bytes of UTF-8`);
    }
    return text;
  }

  #path(field: string): string {
    if (this.#list === '') return field;
    return this.#index < 0 ? `${this.#list}.${field}` : `${this.#list}[${this.#index}].${this.#inner}${field}`;
  }
}

function isLonger(text: string, bytes: number): boolean {
  return text.length * BYTES_PER_UNIT > bytes && Buffer.byteLength(text) > bytes;
}

function isMalformed(seconds: bigint, nanos: number): boolean {
  if (nanos <= -NANOS_PER_SECOND || nanos >= NANOS_PER_SECOND) return true;
  if (seconds > LONGEST_SECONDS || seconds < -LONGEST_SECONDS) return true;
  return (seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0);
}

function describe(text: string): string {
  if (text === '') return 'an empty text';
  return `${shorten(text)} (${Buffer.byteLength(text)} bytes)`;
}

/** Exact, as in the JSON form of a Duration: `-1.5s`. */
function secondsOf(seconds: bigint, nanos: number): string {
  const sign = seconds < 0n || nanos < 0 ? '-' : '';
  const whole = seconds < 0n ? -seconds : seconds;
  const fraction = String(Math.abs(nanos)).padStart(9, '0').replace(/0+$/, '');
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}s`;
}
