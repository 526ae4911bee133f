/**
 * Replies and notices on their way to the client: encoded at once, so that their size is known and nothing else is kept of
 * them, and cut into messages. Bytes count until the transport has taken them.
 */
import type { Notice, Turn } from '../../coordinator.js';
import { RESPONSE, writeCancel, writeError, writeNotice } from './codec/answers.js';
import { WireWriter } from './codec/wire-writer.js';

/** How an answer is written into its reply. */
export interface Form {
  write(out: WireWriter, answer: unknown): void;
  /** Adds the turns that the answer gives. */
  gives(answer: unknown, turns: Turn[]): void;
  /**
   * The command can be called off even when its answer is decided and only waits for the disk: the answer gives nothing but
   * turns, which are taken back, or nothing at all. A command that cannot be undone is answered all the same.
   */
  readonly canBeUndone: boolean;
}

export interface Message {
  readonly bytes: Buffer;
  /** Given in it. */
  readonly turns: readonly Turn[];
}

/** Where a message ends. Clients accept 4 MiB; the largest answer has 3 MiB and a little, and travels alone. */
const MESSAGE_BYTES = 1_048_576;

/** With one alone the transport would have nothing to do from the moment it took it until the end of our turn. */
const MOST_HANDED = 2;

export class Outgoing {
  readonly #writer = new WireWriter();
  /** Given in what the writer holds. */
  #turns: Turn[] = [];
  readonly #cut: Message[] = [];
  /** Handed to the transport, which has not said yet that they are out. */
  readonly #handed: Message[] = [];
  #bytesBeyondWriter = 0;

  /** What the transport has not taken yet. */
  get bytes(): number {
    return this.#bytesBeyondWriter + this.#writer.length;
  }

  /** What was not handed to the transport yet. */
  get gathered(): number {
    return this.#writer.length;
  }

  /** As much is on its way as may be: one message that the transport works on, and one that waits for it. */
  get isBusy(): boolean {
    return this.#handed.length >= MOST_HANDED;
  }

  /** Throws when the answer cannot be written; then nothing is. */
  answer(id: number, form: Form, answer: unknown): void {
    const before = this.#writer.length;
    try {
      const start = this.#begin(id);
      form.write(this.#writer, answer);
      this.#writer.close(start);
    } catch (error) {
      this.#writer.rewind(before);
      throw error;
    }
    this.#keepApart(before);
    form.gives(answer, this.#turns);
  }

  /** @param status an encoded google.rpc.Status */
  error(id: number, status: Uint8Array): void {
    const before = this.#writer.length;
    const start = this.#begin(id);
    writeError(this.#writer, status);
    this.#writer.close(start);
    this.#keepApart(before);
  }

  cancelled(id: number, cancelled: boolean): void {
    const start = this.#begin(id);
    writeCancel(this.#writer, cancelled);
    this.#writer.close(start);
  }

  notice(notice: Notice): void {
    const before = this.#writer.length;
    try {
      writeNotice(this.#writer, notice);
    } catch (error) {
      this.#writer.rewind(before);
      throw error;
    }
    this.#keepApart(before);
  }

  /** The next message for the transport. Call {@link taken} when it is out. */
  next(): Message | undefined {
    const message = this.#cut.shift() ?? (this.#writer.length > 0 ? this.#seal(this.#writer.length) : undefined);
    if (message !== undefined) this.#handed.push(message);
    return message;
  }

  /** The oldest message that was handed over is out. */
  taken(): void {
    const message = this.#handed.shift();
    if (message !== undefined) this.#bytesBeyondWriter -= message.bytes.length;
  }

  /** Forgets what was not handed over. @returns the turns that were given in it */
  discard(): readonly Turn[] {
    const turns = [...this.#cut.flatMap((message) => message.turns), ...this.#turns];
    for (const { bytes } of this.#cut) this.#bytesBeyondWriter -= bytes.length;
    this.#cut.length = 0;
    this.#turns = [];
    this.#writer.take();
    return turns;
  }

  /** Forgets everything. @returns the turns of which the client cannot know */
  end(): readonly Turn[] {
    const handed = this.#handed.flatMap((message) => message.turns);
    this.#handed.length = 0;
    const turns = [...handed, ...this.discard()];
    this.#bytesBeyondWriter = 0;
    return turns;
  }

  #begin(id: number): number {
    const start = this.#writer.open(RESPONSE.replies);
    this.#writer.number(1, id);
    return start;
  }

  /** What was written last begins a message of its own when one message cannot hold it with the rest. */
  #keepApart(before: number): void {
    if (this.#writer.length <= MESSAGE_BYTES || before === 0) return;
    const message = this.#seal(before);
    this.#cut.push(message);
  }

  #seal(length: number): Message {
    const message = { bytes: this.#writer.take(length), turns: this.#turns };
    if (message.turns.length > 0) this.#turns = [];
    this.#bytesBeyondWriter += length;
    return message;
  }
}
