/** How many calls were sent to which member, for a metric. */

interface Linked {
  readonly incarnation: string;
  readonly address: string;
  /** Calls that went over the link. */
  readonly asked: number;
}

/** Names that are told apart; members beyond that are summed up. */
const MOST_NAMES = 64;
const OTHERS = 'other';

/** By name, because an incarnation ends with its process, and its host stays. */
export class Forwarded {
  /** Of incarnations that are linked. */
  readonly #names = new Map<string, string>();
  /** Over links that are gone. */
  readonly #before = new Map<string, number>();

  /** @param name unset: it is not known; then it is called by its address */
  linked(incarnation: string, name: string | undefined): void {
    if (name !== undefined) this.#names.set(incarnation, name);
  }

  /** The link ends: its calls stay counted. */
  released(link: Linked): void {
    const name = this.#bounded(this.#before, this.#nameOf(link));
    this.#before.set(name, (this.#before.get(name) ?? 0) + link.asked);
    this.#names.delete(link.incarnation);
  }

  counts(links: Iterable<Linked>): ReadonlyMap<string, number> {
    const counts = new Map(this.#before);
    for (const link of links) {
      const name = this.#bounded(counts, this.#nameOf(link));
      counts.set(name, (counts.get(name) ?? 0) + link.asked);
    }
    return counts;
  }

  #nameOf({ incarnation, address }: Linked): string {
    return this.#names.get(incarnation) ?? address;
  }

  #bounded(counts: ReadonlyMap<string, number>, name: string): string {
    return counts.has(name) || counts.size < MOST_NAMES ? name : OTHERS;
  }
}
