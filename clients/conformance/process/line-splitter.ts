/** Cuts what comes into lines, none longer than a bound: a player that never ends its line must not fill the memory. */

export const LONGEST_LINE = 64 * 1_048_576;

export class LineSplitter {
  #parts: string[] = [];
  #length = 0;

  constructor(
    private readonly onLine: (line: string) => void,
    private readonly onTooLong: () => void,
    private readonly longest = LONGEST_LINE,
  ) {}

  take(text: string): void {
    let from = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      this.#keep(text.slice(from, at));
      const line = this.#parts.join('');
      this.#parts = [];
      this.#length = 0;
      from = at + 1;
      this.onLine(line);
    }
    this.#keep(text.slice(from));
  }

  #keep(part: string): void {
    this.#length += part.length;
    if (this.#length > this.longest) {
      this.#parts = [];
      this.#length = 0;
      return this.onTooLong();
    }
    this.#parts.push(part);
  }
}
