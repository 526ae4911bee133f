/** Streams that are open and would never end by themselves: a server that shuts down waits for them for ever. */
export interface Endable {
  end(): void;
}

export class OpenStreams {
  readonly #open = new Set<Endable>();

  add(stream: Endable): void {
    this.#open.add(stream);
  }

  remove(stream: Endable): void {
    this.#open.delete(stream);
  }

  endAll(): void {
    for (const stream of this.#open) stream.end();
    this.#open.clear();
  }
}
