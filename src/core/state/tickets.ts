import { type AcquireWaiter, DispatchTicket, type Lane } from './records.js';

/**
 * Tickets of dispatch belong to their consumer. Bounded: each stands for a live turn or for a call that waits, and is
 * known exactly as long as it does. So whoever holds one while that changes need not look whether it is known still.
 */
export class DispatchTickets {
  readonly #tickets = new Map<string, DispatchTicket>();

  /** How many are known. */
  get size(): number {
    return this.#tickets.size;
  }

  /** The one that is known, or a new one, which is known once it stands for something. */
  open(consumerId: string, id: string): DispatchTicket {
    return this.#tickets.get(name(consumerId, id)) ?? new DispatchTicket(id, consumerId);
  }

  /** It stands for this turn. */
  addTurn(ticket: DispatchTicket, token: number, lane: Lane): void {
    this.#keep(ticket);
    ticket.lanes.set(token, lane);
  }

  endTurn(ticket: DispatchTicket, token: number): void {
    if (ticket.lanes.delete(token)) this.#tidy(ticket);
  }

  /** It stands for this call. Precondition: for no other. */
  addWaiter(ticket: DispatchTicket, waiter: AcquireWaiter): void {
    this.#keep(ticket);
    ticket.waiter = waiter;
  }

  endWaiter(ticket: DispatchTicket): void {
    ticket.waiter = undefined;
    this.#tidy(ticket);
  }

  #keep(ticket: DispatchTicket): void {
    if (isIdle(ticket)) this.#tickets.set(name(ticket.consumerId, ticket.id), ticket);
  }

  #tidy(ticket: DispatchTicket): void {
    if (isIdle(ticket)) this.#tickets.delete(name(ticket.consumerId, ticket.id));
  }
}

function isIdle({ waiter, lanes }: DispatchTicket): boolean {
  return waiter === undefined && lanes.size === 0;
}

/** Ids hold no NUL: sizes are known, so the pair is unambiguous. */
function name(consumerId: string, id: string): string {
  return `${consumerId.length}:${consumerId}${id}`;
}
