/** The memory of everything that a core holds, recounted thing by thing: it believes no running sum. */
import { bytesOfTexts, COSTS, TURN_COST } from '../../src/core/state/held.js';
import type { Caller, Item, Lane, Queue } from '../../src/core/state/records.js';
import type { Settlement } from '../../src/core/state/settlement.js';
import type { CoreState } from '../../src/core/state/state.js';

/** @param weightOf of an item, as it is charged */
export function recountMemory(state: CoreState, weightOf: (item: Item) => number): number {
  return new Memory(state, weightOf).sum();
}

class Memory {
  #bytes = 0;

  constructor(
    private readonly state: CoreState,
    private readonly weightOf: (item: Item) => number,
  ) {}

  sum(): number {
    const { state } = this;
    for (const queue of state.queues.values()) this.#queue(queue);
    for (const { id } of state.sessions.values()) this.#bytes += COSTS.session + id.length;
    this.#bytes += state.openStreams * COSTS.stream;
    for (const parcel of state.outgoing.all()) {
      this.#bytes += parcel.bytes;
      for (const { item } of parcel.followUps) this.#bytes += item.key.length + TURN_COST;
    }
    this.#dispatchTickets();
    this.#leaders();
    this.#remembered();
    return this.#bytes;
  }

  /** What is remembered of items is counted by the caches alone: what they let go of late is theirs to know. */
  #remembered(): void {
    const { bytes, size, named, numbered, nameBytes } = this.state.results;
    this.#bytes += bytes + nameBytes + size * COSTS.result;
    this.#bytes += named * COSTS.rememberedText + numbered * COSTS.rememberedNumber;
  }

  #queue(queue: Queue): void {
    this.#bytes += COSTS.queue;
    for (const lane of lanesOf(queue)) this.#lane(lane);
    for (const letter of queue.deadLetters.values()) {
      const { queue: to = '', itemId = '' } = letter.destination ?? {};
      this.#bytes += this.weightOf(letter.item) + COSTS.letter + letter.key.length + to.length + itemId.length;
    }
    for (const item of queue.items.scan()) this.#bytes += this.weightOf(item);
    for (const caller of queue.callers) this.#caller(caller);
    for (const waiter of queue.waiters) {
      const { request, queues } = waiter;
      if (queues[0] !== queue) continue;
      this.#bytes += COSTS.acquire + request.consumerId.length + (request.ticket?.length ?? 0);
      for (const name of request.queues) this.#bytes += COSTS.acquireQueue + name.length;
    }
    for (const { bytes, request } of queue.roomWaiters) {
      this.#bytes += COSTS.room + bytes;
      for (const { key } of request.items) this.#bytes += key.length;
    }
    for (const [id, waiters] of queue.awaits) this.#bytes += waiters.size * (COSTS.await_item + 2 * id.length);
  }

  #caller({ consumerId, idempotencyKey }: Caller): void {
    this.#bytes += COSTS.caller + consumerId.length + (idempotencyKey?.length ?? 0);
  }

  #lane(lane: Lane): void {
    const { spare, phase, key } = lane;
    this.#bytes += COSTS.lane + key.length;
    if (spare !== undefined) {
      this.#bytes += spare.consumerId.length;
      if (spare.assignment.kind === 'caller') this.#bytes += spare.assignment.idempotencyKey?.length ?? 0;
    }
    for (const ticket of lane.tickets?.keys() ?? []) this.#bytes += COSTS.keyTicket + ticket.length;
    for (const settlement of settlementsOf(lane)) this.#settlement(settlement);
    if (phase.at !== 'HELD' || phase.assignment.kind !== 'items' || !phase.assignment.done) return;
    for (const item of phase.assignment.items) this.#bytes += this.weightOf(item);
  }

  #settlement({ ticket, ending }: Settlement): void {
    this.#bytes += COSTS.settlement + (ticket?.length ?? 0);
    if (ending.ended !== 'settled' || ending.call !== 'ack') return;
    for (const result of ending.followUps ?? []) {
      const other = result.decision === 'accept' ? result.supersededId : result.survivorId;
      this.#bytes += COSTS.followUpResult + result.itemId.length + (other?.length ?? 0);
    }
  }

  #dispatchTickets(): void {
    const tickets = new Set<{ readonly consumerId: string; readonly id: string }>();
    for (const queue of this.state.queues.values()) {
      for (const { ticket } of queue.waiters) if (ticket !== undefined) tickets.add(ticket);
      for (const { phase } of lanesOf(queue))
        if (phase.at === 'HELD' && typeof phase.ticket === 'object') tickets.add(phase.ticket);
    }
    for (const { consumerId, id } of tickets) this.#bytes += COSTS.dispatchTicket + 2 * (consumerId.length + id.length);
  }

  #leaders(): void {
    const { leaders } = this.state;
    for (const group of leaders.groups.values()) {
      this.#bytes += COSTS.group + group.name.length + group.state.length;
      this.#bytes += group.watchers.size * COSTS.watcher;
      for (const id of group.backOffs.keys()) this.#bytes += COSTS.backOff + id.length;
      const { term } = group;
      if (term !== undefined) this.#bytes += COSTS.term;
      const held = term === undefined ? [] : [term.candidate];
      for (const { id, metadata } of [...held, ...group.candidates.values()])
        this.#bytes += COSTS.candidate + id.length + bytesOfTexts(metadata);
    }
  }
}

function* settlementsOf({ settlements: oldest }: Lane): Generator<Settlement> {
  if (oldest === undefined) return;
  let settlement = oldest;
  do {
    yield settlement;
    settlement = settlement.newer;
  } while (settlement !== oldest);
}

/** Those of keys, and keyless ones as far as anybody can find them. A dead letter may have a lane of its own, which is none. */
function lanesOf(queue: Queue): ReadonlySet<Lane> {
  const lanes = new Set<Lane>(queue.lanes.values());
  for (const lane of queue.keyless.values()) lanes.add(lane);
  for (const lane of queue.keylessParked) lanes.add(lane);
  for (const item of queue.items.scan()) lanes.add(item.lane);
  return lanes;
}
