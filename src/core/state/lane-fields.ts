import { Timer } from '../structures/timing-wheel.js';

/** What most lanes have nothing of: apart from the lane, so that they pay one pointer for it (ADR 055). */
export class LaneFields<Ticketed> extends Timer {
  #rare: RareOfLane<Ticketed> | undefined = undefined;

  /** Places and turns of this key by their ticket. Unset: none. */
  get tickets(): Map<string, Ticketed> | undefined {
    return this.#rare?.tickets;
  }

  set tickets(tickets: Map<string, Ticketed> | undefined) {
    if (tickets === undefined && this.#rare === undefined) return;
    this.#rare ??= new RareOfLane();
    this.#rare.tickets = tickets;
  }

  /** When the last turn started; kept only for `min_interval`. */
  get startedAt(): number | undefined {
    return this.#rare?.startedAt;
  }

  set startedAt(startedAt: number | undefined) {
    this.#rare ??= new RareOfLane();
    this.#rare.startedAt = startedAt;
  }
}

class RareOfLane<Ticketed> {
  tickets: Map<string, Ticketed> | undefined = undefined;
  startedAt: number | undefined = undefined;
}
