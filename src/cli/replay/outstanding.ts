import { pause, type TakenLine } from './engine.js';

/**
 * Submitted lines that may be without an end at once: bounds the memory here and in the sidecar, and the time that a
 * line spends in the backlog. Enough that one busy key leaves work for the other workers.
 */
const MOST = 10_000;

/** A line that was submitted and has had no end yet. */
interface OutstandingLine {
  readonly sequence: number;
  /** Which line of the input. */
  readonly line: number;
  readonly key: string;
  readonly at: number;
  /** A worker had it. */
  begun: boolean;
}

/** The lines between Submit and Ack, by their item ids, the oldest first. */
export class Outstanding {
  readonly #replay: string;
  readonly #lines = new Map<number, OutstandingLine>();
  readonly #perKey = new Map<string, number>();
  #wake = (): void => {};

  constructor(replay: string) {
    this.#replay = replay;
  }

  idOf(sequence: number): string {
    return `${this.#replay}-${sequence}`;
  }

  get size(): number {
    return this.#lines.size;
  }

  get oldest(): OutstandingLine | undefined {
    return this.#lines.values().next().value;
  }

  rest(): readonly OutstandingLine[] {
    return [...this.#lines.values()];
  }

  has(sequence: number): boolean {
    return this.#lines.has(sequence);
  }

  get(itemId: string): OutstandingLine | undefined {
    const prefix = `${this.#replay}-`;
    return itemId.startsWith(prefix) ? this.#lines.get(Number(itemId.slice(prefix.length))) : undefined;
  }

  /** Returns whether an earlier line of its key is still without an end: then this one has to wait. */
  add({ sequence, at, line }: TakenLine): boolean {
    const before = this.#perKey.get(line.key) ?? 0;
    this.#perKey.set(line.key, before + 1);
    this.#lines.set(sequence, { sequence, at, line: line.line, key: line.key, begun: false });
    return before > 0;
  }

  /** Returns whether it was there. */
  remove(itemId: string): boolean {
    const line = this.get(itemId);
    if (line === undefined) return false;
    this.#lines.delete(line.sequence);
    const left = (this.#perKey.get(line.key) ?? 1) - 1;
    if (left === 0) this.#perKey.delete(line.key);
    else this.#perKey.set(line.key, left);
    this.#wake();
    return true;
  }

  /** Resolves when there is room for more, or when the signal aborts. */
  async room(signal: AbortSignal): Promise<void> {
    while (this.#lines.size >= MOST && !signal.aborted) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await pause(2 ** 30, AbortSignal.any([signal, woken.signal]));
    }
  }
}
