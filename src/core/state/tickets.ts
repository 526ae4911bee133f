/**
 * Tickets: a client names one to come back to what it has, when an answer was lost or it asks again.
 *
 * A ticket of a key (`lane.tickets`, written here only) stands for a caller's place in the line, then for its turn. A
 * ticket of dispatch stands for a call that waits, then for the turns that it was given. Either is known exactly as long
 * as it stands for something, so there are never more of them than places, turns and calls that wait. How its turn
 * ended is found among the settlements of the lane.
 */
import { COSTS } from './held.js';
import { type AcquireWaiter, type Caller, DispatchTicket, type Lane, type Turn } from './records.js';

/** The ticket of a caller, if it has one, stands for its place. */
export function keepPlace(tickets: DispatchTickets, caller: Caller): void {
  if (caller.ticket !== undefined) keep(tickets, caller.lane, caller.ticket, caller);
}

export function forgetPlace(tickets: DispatchTickets, { lane, ticket }: Caller): void {
  if (ticket !== undefined) forget(tickets, lane, ticket);
}

/** The ticket of a turn, if it has one, stands for it. */
export function keepTurn(tickets: DispatchTickets, turn: Turn): void {
  const { lane, ticket } = turn;
  if (typeof ticket === 'string') keep(tickets, lane, ticket, turn);
  else if (ticket !== undefined) tickets.addTurn(ticket, turn.token, lane);
}

export function forgetTurn(tickets: DispatchTickets, { lane, ticket, token }: Turn): void {
  if (typeof ticket === 'string') forget(tickets, lane, ticket);
  else if (ticket !== undefined) tickets.endTurn(ticket, token);
}

function keep(tickets: DispatchTickets, lane: Lane, ticket: string, to: Caller | Turn): void {
  lane.tickets ??= new Map();
  if (!lane.tickets.has(ticket)) tickets.bytes += COSTS.keyTicket + ticket.length;
  lane.tickets.set(ticket, to);
}

function forget(tickets: DispatchTickets, lane: Lane, ticket: string): void {
  if (lane.tickets?.delete(ticket) !== true) return;
  tickets.bytes -= COSTS.keyTicket + ticket.length;
  if (lane.tickets.size === 0) lane.tickets = undefined;
}

/** Tickets of dispatch, by their consumer and id. */
export class DispatchTickets {
  readonly #tickets = new Map<string, DispatchTicket>();
  /** What all tickets cost in memory, those of keys too. */
  bytes = 0;

  /** How many are known. */
  get size(): number {
    return this.#tickets.size;
  }

  /** The one that is known, or a new one, which is known once it stands for something. */
  open(consumerId: string, id: string): DispatchTicket {
    return this.#tickets.get(name(consumerId, id)) ?? new DispatchTicket(id, consumerId);
  }

  addTurn(ticket: DispatchTicket, token: number, lane: Lane): void {
    this.#keep(ticket);
    ticket.lanes.set(token, lane);
  }

  endTurn(ticket: DispatchTicket, token: number): void {
    if (ticket.lanes.delete(token)) this.#tidy(ticket);
  }

  /** Precondition: no other call waits with it. */
  addWaiter(ticket: DispatchTicket, waiter: AcquireWaiter): void {
    this.#keep(ticket);
    ticket.waiter = waiter;
  }

  endWaiter(ticket: DispatchTicket): void {
    ticket.waiter = undefined;
    this.#tidy(ticket);
  }

  #keep(ticket: DispatchTicket): void {
    if (!isIdle(ticket)) return;
    this.bytes += costOfTicket(ticket);
    this.#tickets.set(name(ticket.consumerId, ticket.id), ticket);
  }

  #tidy(ticket: DispatchTicket): void {
    if (!isIdle(ticket)) return;
    this.bytes -= costOfTicket(ticket);
    this.#tickets.delete(name(ticket.consumerId, ticket.id));
  }
}

/** Its names stand in it, and joined in the index. */
export function costOfTicket({ consumerId, id }: DispatchTicket): number {
  return COSTS.dispatchTicket + 2 * (consumerId.length + id.length);
}

function isIdle({ waiter, lanes }: DispatchTicket): boolean {
  return waiter === undefined && lanes.size === 0;
}

/** Ids hold no NUL: sizes are known, so the pair is unambiguous. */
function name(consumerId: string, id: string): string {
  return `${consumerId.length}:${consumerId}${id}`;
}
