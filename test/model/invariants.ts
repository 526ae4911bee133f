/** What must be true after every step, whatever the reference thinks. I1, I3 and I5 are the ledger's. */
import assert from 'node:assert/strict';
import type { AckAnswer, AcquireAnswer, Delivery, ItemState, Policy } from '../../src/coordinator.js';
import type { Command, QueueName, Scenario } from './commands.js';
import type { Seen } from './people.js';
import type { Made, Side } from './sending.js';

const FINISHED: readonly ItemState[] = ['done', 'superseded', 'discarded', 'unknown'];

/** Follows one coordinator from outside through a scenario. */
export class Invariants {
  readonly #states = new Map<string, ItemState>();
  readonly #wasOut = new Set<string>();
  readonly #lookedAt = new Set<Made>();

  constructor(
    private readonly scenario: Scenario,
    private readonly side: Side,
  ) {}

  check(queue: QueueName, seen: Seen): void {
    const policy = this.scenario.policies[queue];
    this.#lookAtDeliveries();
    for (const { id, state } of seen.items) {
      if (state === 'unknown') this.#wasOut.delete(`${queue}/${id}`);
      // One that waited for what died dies without ever being out, and may be redriven.
      if (state === 'dead') this.#wasOut.add(`${queue}/${id}`);
    }
    this.#bounded(queue, seen, policy);
    this.#nobodyIsHeldUp(queue, seen, policy);
    this.#nothingIsLost(queue, seen);
  }

  /** Items that were handed out, be it to nobody, may come back. */
  #lookAtDeliveries(): void {
    for (const made of this.side.made) {
      if (made.call.open || this.#lookedAt.has(made)) continue;
      this.#lookedAt.add(made);
      for (const { turn, items } of deliveriesIn(made.call.outcome)) {
        for (const { itemId } of items) this.#wasOut.add(`${turn.queue}/${itemId}`);
      }
    }
  }

  /**
   * I2. Callers of Acquire with a key are not counted, callers whose call broke off are not either (S574), and neither
   * can be told apart: scenarios with them say nothing.
   */
  #bounded(queue: string, { keys }: Seen, { waitingPerKey, whenFull }: Partial<Policy>): void {
    const isSilent = (command: Command) => bringsItsOwnMessage(command) || breaksOff(command);
    if (typeof waitingPerKey !== 'number' || this.scenario.commands.some(isSilent)) return;
    for (const { line } of keys) {
      const counted = line.filter(({ kind, id }) => kind === 'caller' || !this.#wasOut.has(`${queue}/${id}`));
      assert.ok(counted.length <= waitingPerKey, `I2: ${counted.length} wait in a line (${whenFull})`);
    }
  }

  /** I4, seen from outside: no key waits for a worker while a worker waits for a key and no gate is between them. */
  #nobodyIsHeldUp(queue: string, { keys, counts }: Seen, { rate, maxInFlight }: Partial<Policy>): void {
    const gated = counts.paused || this.scenario.startupHold > 0 || rate !== undefined;
    const isLimit = ({ type }: Command) => type === 'maxInFlight' || type === 'rate';
    const limited = maxInFlight !== undefined || this.scenario.commands.some(isLimit);
    if (gated || limited || !this.side.made.some((made) => made.asksFor.includes(queue) && made.call.open)) return;
    for (const { state, line } of keys) assert.ok(state !== 'READY', `I4: ${line[0]?.id} waits and so does a worker`);
  }

  /** I6: from one look to the next, an item goes where items may go. */
  #nothingIsLost(queue: string, { items }: Seen): void {
    for (const { id, state } of items) {
      const before = this.#states.get(`${queue}/${id}`) ?? 'unknown';
      const mayVanish = FINISHED.includes(before) || this.#hasShortMemory(queue);
      assert.ok(state !== 'unknown' || mayVanish, `I6: ${id} was ${before} and is lost`);
      assert.ok(
        before !== 'done' || FINISHED.includes(state) || this.#hasShortMemory(queue) || this.#mayRevive(queue),
        `I6: ${id} is done twice`,
      );
      this.#states.set(`${queue}/${id}`, state);
    }
  }

  /** What was done because it was handed out is not, when it turns out later that the answer was lost (S13, S22). */
  #mayRevive(queue: string): boolean {
    const atMostOnce = this.scenario.policies[queue as QueueName].delivery === 'at_most_once'; // as below
    const isLost = (command: Command) =>
      command.type === 'break' ? command.unsent : 'deliverable' in command && !command.deliverable;
    return atMostOnce && this.scenario.commands.some(isLost);
  }

  /** Items may finish, be forgotten and come anew between two looks. */
  #hasShortMemory(queue: string): boolean {
    return (this.scenario.policies[queue as QueueName].resultTtl ?? 0) < 60_000; // the callers give names of queues
  }
}

function deliveriesIn(outcome: Made['call']['outcome']): readonly Delivery[] {
  if (outcome === undefined || !('answer' in outcome)) return [];
  const answer = outcome.answer as Partial<AckAnswer & AcquireAnswer>; // one of the answers; others lack both fields
  return answer.deliveries ?? answer.next?.deliveries ?? [];
}

function breaksOff({ type }: Command): boolean {
  return type === 'cancel' || type === 'break';
}

function bringsItsOwnMessage(command: Command): boolean {
  if (command.type === 'acquire') return command.key !== undefined;
  return command.type === 'ack' && command.next?.key !== undefined;
}
