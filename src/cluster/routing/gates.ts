/**
 * Calls that wait for their partition to have a home that takes them: in order, bounded, and each with its own end. They are
 * asked again when homes change, and every 50 ms besides, because not every change is told.
 */
import type { Refusal } from '../../coordinator.js';
import type { Clock } from '../../local/clock.js';
import type { Homes } from '../partitions/homes.js';
import type { Source } from './target.js';

/** Between two tries, ms. */
const AGAIN = 50;
/** Of one partition. */
const MOST_HELD = 10_000;
/** A call that is answered at once may bring the next one: so often before the clock is asked again. */
const ROUNDS = 100;

export interface HeldCall {
  /** By the clock: it is not held any longer. */
  readonly deadline: number;
  /** It was given up meanwhile: nothing is to be done. */
  readonly isOver: boolean;
  /** @returns false: nobody took it, it keeps its place */
  ask(): boolean;
  /** Its time is over, or there is no room for it. */
  giveUp(refusal: Refusal): void;
}

/** The calls of one source about one partition. */
interface Gate {
  readonly source: Source;
  readonly partition: number;
  calls: HeldCall[];
  /** It is being tried; `again`: something changed meanwhile. */
  trying: boolean;
  again: boolean;
}

export class Gates {
  readonly #gates = new Map<Source, Map<number, Gate>>();
  /** Calls by partition. */
  readonly #held = new Map<number, number>();
  /** Who else wants to be asked every 50 ms. */
  readonly #impatient = new Set<() => void>();
  #disarm: (() => void) | undefined;
  #armedAt = Number.POSITIVE_INFINITY;
  /** Why nothing is held any more. */
  #closed: Refusal | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly homes: Pick<Homes, 'whyNone' | 'home' | 'look'>,
    /** A failure of our own. @returns the id under which the log says it */
    private readonly failed: (error: unknown) => string,
  ) {}

  /** How many calls are held. */
  get size(): number {
    let size = 0;
    for (const held of this.#held.values()) size += held;
    return size;
  }

  /** Calls of the source about this partition are held: a newer one lines up behind them. */
  isShut(source: Source, partition: number): boolean {
    return this.#gates.size > 0 && this.#gates.get(source)?.has(partition) === true;
  }

  /** Until it is taken, given up, or over. */
  hold(source: Source, partition: number, call: HeldCall): void {
    const held = this.#held.get(partition) ?? 0;
    if (this.#closed !== undefined) return call.giveUp(this.#closed);
    if (held >= MOST_HELD) return call.giveUp(this.#full(partition));
    if (call.deadline <= this.clock.now()) return call.giveUp(this.refusal(partition));
    const gate = this.#gate(source, partition);
    gate.calls.push(call);
    this.#held.set(partition, held + 1);
    this.homes.look();
    this.#arm(call.deadline);
  }

  /** Homes of these partitions have changed. */
  changed(partitions: readonly number[]): void {
    const which = new Set(partitions);
    for (const gate of this.#all()) if (which.has(gate.partition)) this.#try(gate);
  }

  /** The source has somewhere to go with calls about this partition. */
  opened(source: Source, partition: number): void {
    const gate = this.#gates.get(source)?.get(partition);
    if (gate !== undefined) this.#try(gate);
  }

  /** `again` is called every 50 ms until it is taken back. */
  urge(again: () => void): void {
    this.#impatient.add(again);
    this.#arm(Number.POSITIVE_INFINITY);
  }

  rest(again: () => void): void {
    this.#impatient.delete(again);
  }

  /** Nothing is held any more. */
  close(refusal: Refusal): void {
    this.#closed = refusal;
    this.#disarm?.();
    this.#disarm = undefined;
    this.#impatient.clear();
    for (const gate of this.#all()) this.#giveUpAll(gate, refusal);
  }

  refusal(partition: number): Refusal {
    // A home that is known did not take it: it is on its way here or there.
    const why = this.homes.whyNone(partition);
    const description = `partition ${partition} has no home that takes calls now: ${why}`;
    return { kind: 'no_home', partition, description, retryAfter: RETRY };
  }

  #full(partition: number): Refusal {
    const description = `partition ${partition} has no home now, and ${MOST_HELD} calls wait for one here: no more may; ${this.homes.whyNone(partition)}`;
    return { kind: 'no_home', partition, description, retryAfter: RETRY };
  }

  #all(): Gate[] {
    return [...this.#gates.values()].flatMap((gates) => [...gates.values()]);
  }

  #gate(source: Source, partition: number): Gate {
    let gates = this.#gates.get(source);
    if (gates === undefined) {
      gates = new Map();
      this.#gates.set(source, gates);
    }
    let gate = gates.get(partition);
    if (gate === undefined) {
      gate = { source, partition, calls: [], trying: false, again: false };
      gates.set(partition, gate);
    }
    return gate;
  }

  /** Asks in order, until nobody takes one. Calls that come meanwhile line up behind. */
  #try(gate: Gate): void {
    gate.again = true;
    if (gate.trying) return;
    gate.trying = true;
    for (let round = 0; gate.again && gate.calls.length > 0 && round < ROUNDS; round += 1) {
      const { calls } = gate;
      gate.calls = [];
      gate.again = false;
      const left = this.#ask(gate, calls);
      this.#drop(gate, calls.length - left.length);
      // What came meanwhile is asked too, if nobody of those before it waits.
      if (left.length === 0) gate.again = true;
      gate.calls = [...left, ...gate.calls];
    }
    gate.trying = false;
    // What an answer led to: who was being asked was in no gate then.
    if (this.#closed !== undefined) this.#giveUpAll(gate, this.#closed);
    if (gate.calls.length === 0) this.#forget(gate);
  }

  #giveUpAll(gate: Gate, refusal: Refusal): void {
    const { calls } = gate;
    gate.calls = [];
    this.#drop(gate, calls.length);
    for (const call of calls) if (!call.isOver) call.giveUp(refusal);
  }

  /** @returns those that nobody took */
  #ask({ partition }: Gate, calls: readonly HeldCall[]): HeldCall[] {
    const left: HeldCall[] = [];
    for (const call of calls) {
      try {
        if (call.isOver) continue;
        if (call.deadline <= this.clock.now()) call.giveUp(this.refusal(partition));
        else if (left.length > 0 || !call.ask()) left.push(call);
      } catch (error) {
        // Others wait behind it, whose gate must be tried again.
        this.#fail(call, error);
      }
    }
    return left;
  }

  #fail(call: HeldCall, error: unknown): void {
    const description = `the call failed inside this sidecar; its log says more under the id ${this.failed(error)}`;
    try {
      call.giveUp({ kind: 'store_unavailable', description, retryAfter: RETRY_LATER });
    } catch (again) {
      this.failed(again);
    }
  }

  #drop({ partition }: Gate, count: number): void {
    const held = (this.#held.get(partition) ?? 0) - count;
    if (held > 0) this.#held.set(partition, held);
    else this.#held.delete(partition);
  }

  #forget(gate: Gate): void {
    const { source, partition } = gate;
    const gates = this.#gates.get(source);
    // Who walks over all of them may come to one that an answer emptied meanwhile: another one with calls may stand in its place.
    if (gates?.get(partition) !== gate) return;
    gates.delete(partition);
    if (gates.size === 0) this.#gates.delete(source);
  }

  #arm(deadline: number): void {
    if (this.#closed !== undefined) return;
    const now = this.clock.now();
    const at = Math.min(now + AGAIN, deadline);
    if (this.#disarm !== undefined && this.#armedAt <= at) return;
    this.#disarm?.();
    this.#armedAt = at;
    this.#disarm = this.clock.after(Math.max(0, at - now), () => this.#tick());
  }

  #tick(): void {
    this.#disarm = undefined;
    for (const gate of this.#all()) this.#try(gate);
    if (this.#gates.size > 0) this.homes.look();
    for (const again of [...this.#impatient]) again();
    if (this.#gates.size === 0 && this.#impatient.size === 0) return;
    let next = Number.POSITIVE_INFINITY;
    for (const { calls } of this.#all()) for (const { deadline } of calls) next = Math.min(next, deadline);
    this.#arm(next);
  }
}

/** ms */
const RETRY = 250;
const RETRY_LATER = 1_000;
