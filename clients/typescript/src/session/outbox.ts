import type { Command } from './command.js';
import type { SessionStream } from './network.js';
import type { OpenCommands } from './open-commands.js';

/** Bounds of one message. The sidecar takes up to 4 MiB; beyond some hundred commands a larger one is not faster. */
const COMMANDS_PER_MESSAGE = 1_024;
const BYTES_PER_MESSAGE = 1_048_576;

/** Commands that are open and not yet written to the stream, in order. */
export class Outbox {
  #waiting: Command[] = [];
  /** What the session asks itself goes first: it is little, and other things depend on it in time. */
  #urgent: Command[] = [];
  #at = 0;
  #blocked = false;

  constructor(private readonly open: OpenCommands) {}

  get isEmpty(): boolean {
    return this.#at >= this.#waiting.length && this.#urgent.length === 0;
  }

  push(command: Command): void {
    this.#waiting.push(command);
  }

  pushUrgent(command: Command): void {
    this.#urgent.push(command);
  }

  /** A new stream: what was not written to the old one is asked for anew by its owner. */
  clear(): void {
    this.#waiting = [];
    this.#urgent = [];
    this.#at = 0;
    this.#blocked = false;
  }

  /** The stream takes messages again. */
  unblock(): void {
    this.#blocked = false;
  }

  /** Writes as much as the stream takes. */
  flush(stream: SessionStream, now: number): void {
    while (!this.#blocked) {
      const batch = this.#batch(now);
      if (batch.length === 0) return;
      this.#blocked = !stream.write(batch);
    }
  }

  #batch(now: number): readonly Command[] {
    const batch = this.#urgent.filter((command) => this.open.has(command));
    if (this.#urgent.length > 0) this.#urgent = [];
    let bytes = batch.reduce((sum, command) => sum + command.bytes, 0);
    while (this.#at < this.#waiting.length && batch.length < COMMANDS_PER_MESSAGE) {
      const command = this.#waiting[this.#at];
      // Abandoned before it was sent: the sidecar need not know of it.
      if (command === undefined || !this.open.has(command)) {
        this.#at += 1;
        continue;
      }
      if (batch.length > 0 && bytes + command.bytes > BYTES_PER_MESSAGE) break;
      this.#at += 1;
      bytes += command.bytes;
      batch.push(command);
    }
    for (const command of batch) command.sentAt = now;
    this.#forget();
    return batch;
  }

  /** What was written is let go of in large pieces, so that the front of a long queue is not moved for every batch. */
  #forget(): void {
    if (this.#at < this.#waiting.length && this.#at < 4 * COMMANDS_PER_MESSAGE) return;
    this.#waiting = this.#waiting.slice(this.#at);
    this.#at = 0;
  }
}
