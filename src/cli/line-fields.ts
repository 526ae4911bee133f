import { Buffer } from 'node:buffer';
import { DEFAULT_LIMITS } from '../core/contract/limits.js';
import type { ItemRef } from '../core/contract/rows.js';
import { harmlessJson } from '../observability/harmless.js';

/** A field of a line is missing or wrong. The message names it, its value, and what is allowed. */
export class FieldProblem extends Error {
  override readonly name = 'FieldProblem';
}

const QUEUE = /^[A-Za-z0-9._:/-]+$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** As it is written, with the Z of UTC. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/** The fields of a JSON object on a line. */
export class LineFields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #asked = new Set<string>();

  /** @throws FieldProblem */
  constructor(text: string) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new FieldProblem('is no JSON');
    }
    if (!isObject(value)) throw new FieldProblem('is no JSON object');
    this.#fields = value;
  }

  /** What nobody has asked for is a mistake: a misspelt name would be lost in silence. */
  refuseOthers(): void {
    const other = Object.keys(this.#fields).find((name) => !this.#asked.has(name));
    if (other !== undefined)
      throw new FieldProblem(`field ${other}: is not known; those of its kind are ${this.#names()}`);
  }

  optional<T>(name: string, read: () => T): T | undefined {
    return this.#take(name) === undefined ? undefined : read();
  }

  text(name: string, least: number, most: number): string {
    return this.#textIn(name, this.#take(name), least, most);
  }

  id(name: string): string {
    return this.text(name, 1, DEFAULT_LIMITS.idBytes);
  }

  queue(name: string): string {
    return this.#queueIn(name, this.#take(name));
  }

  oneOf<const T extends string>(name: string, words: readonly T[]): T {
    const value = this.#take(name);
    const word = words.find((one) => one === value);
    if (word === undefined) throw wrong(name, value, words.join(', '));
    return word;
  }

  whole(name: string): number {
    const value = this.#take(name);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw wrong(name, value, 'a whole number from 0');
  }

  /** What is not so is left out. */
  yes(name: string): true {
    const value = this.#take(name);
    if (value === true) return true;
    throw wrong(name, value, 'true, or left out');
  }

  /** ms since the epoch */
  instant(name: string): number {
    const value = this.#take(name);
    const instant = typeof value === 'string' && INSTANT.test(value) ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(instant)) throw wrong(name, value, 'an instant in UTC: 2026-11-20T12:00:00.000Z');
    return instant;
  }

  base64(name: string, most: number): Uint8Array {
    const value = this.#take(name);
    if (typeof value !== 'string' || !BASE64.test(value)) throw wrong(name, value, 'base64');
    const bytes = Buffer.from(value, 'base64');
    if (bytes.length > most)
      throw new FieldProblem(`field ${name}: has ${bytes.length} bytes; up to ${most} are allowed`);
    return bytes;
  }

  headers(name: string): ReadonlyMap<string, string> {
    const value = this.#take(name);
    if (!isObject(value)) throw wrong(name, value, 'an object of texts');
    const { headers, headerBytes } = DEFAULT_LIMITS;
    const pairs = Object.entries(value).map(([key, text]) => {
      return [key, this.#textIn(`${name}.${key}`, text, 0, headerBytes)] as const;
    });
    if (pairs.length > headers)
      throw new FieldProblem(`field ${name}: has ${pairs.length}; up to ${headers} are allowed`);
    const bytes = pairs.reduce((sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text), 0);
    if (bytes <= headerBytes) return new Map(pairs);
    throw new FieldProblem(`field ${name}: has ${bytes} bytes; up to ${headerBytes} are allowed`);
  }

  refs(name: string): readonly ItemRef[] {
    const value = this.#take(name);
    if (!Array.isArray(value)) throw wrong(name, value, 'an array of {queue, item_id}');
    const most = DEFAULT_LIMITS.after;
    if (value.length > most) throw new FieldProblem(`field ${name}: has ${value.length}; up to ${most} are allowed`);
    return value.map((ref: unknown, at): ItemRef => {
      const { queue, item_id } = isObject(ref) ? ref : {};
      return {
        queue: this.#queueIn(`${name}[${at}].queue`, queue),
        itemId: this.#textIn(`${name}[${at}].item_id`, item_id, 1, DEFAULT_LIMITS.idBytes),
      };
    });
  }

  #take(name: string): unknown {
    this.#asked.add(name);
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  #textIn(name: string, value: unknown, least: number, most: number): string {
    const bytes = typeof value === 'string' ? Buffer.byteLength(value) : -1;
    if (typeof value === 'string' && bytes >= least && bytes <= most) return value;
    throw wrong(name, value, `a text of ${least} to ${most} bytes`);
  }

  #queueIn(name: string, value: unknown): string {
    const most = DEFAULT_LIMITS.queueNameBytes;
    if (typeof value === 'string' && value.length <= most && QUEUE.test(value)) return value;
    throw wrong(name, value, `1 to ${most} of A-Za-z0-9._:/-`);
  }

  #names(): string {
    return [...this.#asked].join(', ');
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value that is shown to people, no longer than they read. */
const SHOWN = 60;

function wrong(name: string, value: unknown, allowed: string): FieldProblem {
  if (value === undefined) return new FieldProblem(`field ${name}: is missing; allowed: ${allowed}`);
  const text = harmlessJson(value);
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  return new FieldProblem(`field ${name}: is ${shown}; allowed: ${allowed}`);
}
