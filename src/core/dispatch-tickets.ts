import type { AcquireWaiter } from './acquire-waiter.js';
import type { Lane } from './lane.js';

/** What a ticket of dispatch stands for: the turns it was given that still live, or the call that waits for some. */
export class DispatchTicket {
  waiter: AcquireWaiter | undefined = undefined;
  readonly lanes = new Map<number, Lane>();
  constructor(
    readonly id: string,
    readonly consumerId: string,
  ) {}
}

/** Tickets of dispatch belong to their consumer. Bounded: each stands for a live turn or for a call that waits. */
export class DispatchTickets {
  readonly #tickets = new Map<string, DispatchTicket>();

  get(consumerId: string, id: string): DispatchTicket | undefined {
    return this.#tickets.get(name(consumerId, id));
  }

  open(consumerId: string, id: string): DispatchTicket {
    const known = this.get(consumerId, id);
    if (known !== undefined) return known;
    const ticket = new DispatchTicket(id, consumerId);
    this.#tickets.set(name(consumerId, id), ticket);
    return ticket;
  }

  /** It stands for something again. */
  keep(ticket: DispatchTicket): void {
    this.#tickets.set(name(ticket.consumerId, ticket.id), ticket);
  }

  /** To be called when a turn of the ticket ended or its call was answered: what stands for nothing is forgotten. */
  release(ticket: DispatchTicket): void {
    if (ticket.waiter === undefined && ticket.lanes.size === 0)
      this.#tickets.delete(name(ticket.consumerId, ticket.id));
  }
}

/** Ids hold no NUL: sizes are known, so the pair is unambiguous. */
function name(consumerId: string, id: string): string {
  return `${consumerId.length}:${consumerId}${id}`;
}
