import { Buffer } from 'node:buffer';
import { JuteError } from './jute.js';

/** A server sends nothing longer unless somebody has stored it (`jute.maxbuffer` is 1 MiB): ours is far below. */
const LONGEST_FRAME = 4 * 1024 * 1024;
const HEAD = 4;

/** Cuts what comes in into frames. What it keeps is less than one frame of the longest. */
export class Frames {
  #parts: Buffer[] = [];
  #has = 0;
  /** Of the frame that is being received; unset: its length is not there yet. */
  #length: number | undefined;

  /** @throws JuteError: a length that none has; nothing more can be read */
  *take(bytes: Buffer): Generator<Buffer> {
    this.#parts.push(bytes);
    this.#has += bytes.length;
    for (;;) {
      if (this.#length === undefined) {
        if (this.#has < HEAD) return;
        this.#length = lengthOf(this.#cut(HEAD));
      }
      if (this.#has < this.#length) return;
      const frame = this.#cut(this.#length);
      this.#length = undefined;
      yield frame;
    }
  }

  #cut(count: number): Buffer {
    const all = this.#parts.length === 1 ? (this.#parts[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#parts);
    const rest = all.subarray(count);
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#has = rest.length;
    return all.subarray(0, count);
  }
}

function lengthOf(head: Buffer): number {
  const length = head.readInt32BE();
  if (length < 0 || length > LONGEST_FRAME) throw new JuteError(`a frame of ${length} bytes`);
  return length;
}
