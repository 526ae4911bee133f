/** Output of a command, line by line: a test waits for the line that it expects. */
export class HeardLines {
  /** What both streams had, as it came: lines of two streams have no order between them. */
  readonly lines: string[] = [];
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  /** The first line that has this in it, now or later. Rejects when everything has ended without it. */
  async said(words: string | RegExp): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => (typeof words === 'string' ? line.includes(words) : words.test(line)));
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`ended without "${words}":\n${this.lines.join('\n')}`);
      await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    }
  }

  protected get isOver(): boolean {
    return this.#isOver;
  }

  protected heard(line: string, stream: 'stdout' | 'stderr'): void {
    this[stream].push(line);
    this.lines.push(line);
    this.#wake();
  }

  /** No line follows. */
  protected over(): void {
    this.#isOver = true;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
