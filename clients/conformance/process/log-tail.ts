/** The last lines that a process wrote, to tell what went wrong. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const REMEMBERED = 40;
const LONGEST_LINE = 2_000;

export class LogTail {
  readonly #lines: string[] = [];
  readonly #waiting = new Set<(line: string) => void>();

  constructor(output: Readable, onLine: (line: string) => void = () => undefined) {
    createInterface({ input: output }).on('line', (line) => {
      this.#lines.push(line.slice(0, LONGEST_LINE));
      if (this.#lines.length > REMEMBERED) this.#lines.shift();
      onLine(line);
      for (const look of this.#waiting) look(line);
    });
  }

  /** Resolves with the next line that fits. */
  next(fits: (line: string) => boolean): Promise<string> {
    return new Promise((resolve) => {
      const look = (line: string): void => {
        if (!fits(line)) return;
        this.#waiting.delete(look);
        resolve(line);
      };
      this.#waiting.add(look);
    });
  }

  toString(): string {
    return this.#lines.join('\n');
  }
}
