/** A line of numbers whose head is taken in constant time. */
export class Fifo {
  #items: number[] = [];
  #taken = 0;

  get isEmpty(): boolean {
    return this.#taken === this.#items.length;
  }

  push(item: number): void {
    this.#items.push(item);
  }

  shift(): number | undefined {
    const item = this.#items[this.#taken];
    if (item === undefined) return undefined;
    this.#taken += 1;
    if (this.#taken >= 1_024 && this.#taken * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}
