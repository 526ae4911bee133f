import type { Calls, Coordinator, CoordinatorSettings, Refusal, TurnRef } from '../../coordinator.js';
import type { Clock } from '../../local/clock.js';
import type { Homes } from '../partitions/homes.js';
import type { PartitionMap } from '../partitions/partition-map.js';
import { Gates, type HeldCall } from './gates.js';
import { LiveTurns } from './live-turns.js';
import type { OpenCall } from './open-call.js';
import { type Source, Target } from './target.js';

/** Turns that nobody learnt of are ended by their home, if there is one again by then, ms. */
export const UNDELIVERED_FOR = 10_000;

export interface RouterOptions {
  readonly homes: Homes;
  readonly map: PartitionMap;
  readonly clock: Clock;
  /** Limits, and how long calls wait that do not say it. */
  readonly settings: CoordinatorSettings;
  /** Of this process: ids that are made here begin with it, and it decides between hellos of one moment. */
  readonly incarnation: string;
  /** A failure of our own. @returns the id under which the log says it. Unset: it ends the process */
  readonly failed?: (error: unknown) => string;
}

/** What every call is routed by. As a source of calls: those that come on no session. */
export class Router implements Source {
  readonly homes: Homes;
  readonly clock: Clock;
  readonly settings: CoordinatorSettings;
  readonly incarnation: string;
  readonly gates: Gates;
  /** Of calls about leaders. */
  readonly leaderGates: Gates;
  readonly turns: LiveTurns;
  map: PartitionMap;
  #calls: Calls | undefined;
  /** Set: no new work is taken any more, for this reason. */
  ended: Refusal | undefined;
  isClosed = false;
  /** Set while it drains: something has ended that it waits for. */
  onEnded: (() => void) | undefined;
  /** Calls that homes have and have not answered, of those that hold up a drain. */
  #asked = 0;
  readonly #targets: (Target | undefined)[] = [];
  /** Calls that wait. */
  readonly #open = new Set<OpenCall>();
  #ids = 0;
  #stamp = 0;

  constructor({ homes, map, clock, settings, incarnation, failed }: RouterOptions) {
    this.homes = homes;
    this.map = map;
    this.clock = clock;
    this.settings = settings;
    this.incarnation = incarnation;
    this.turns = new LiveTurns(clock, (queue) => (settings.queues.get(queue) ?? settings.defaultPolicy).lease);
    const fails = failed ?? ((error: unknown) => thrown(clock, error));
    this.gates = new Gates(clock, homes, fails);
    this.leaderGates = new Gates(clock, homes, fails);
  }

  get calls(): Calls {
    if (this.#calls === undefined) throw new TypeError('the router has no calls yet');
    return this.#calls;
  }

  /** Set before anything is asked. */
  set calls(calls: Calls) {
    this.#calls = calls;
  }

  target(partition: number): Target | undefined {
    const home = this.homes.home(partition);
    const known = this.#targets[partition];
    if (known !== undefined && known.home === home) return known;
    if (home === undefined) return undefined;
    const target = new Target(partition, home, home);
    this.#targets[partition] = target;
    return target;
  }

  track(call: OpenCall): void {
    this.#open.add(call);
  }

  untrack(call: OpenCall): void {
    this.#open.delete(call);
    this.onEnded?.();
  }

  asks({ holdsUpDrain }: OpenCall): void {
    if (holdsUpDrain) this.#asked += 1;
  }

  /** It was answered, refused, sent back or given up. */
  asked({ holdsUpDrain }: OpenCall): void {
    if (holdsUpDrain) this.#asked -= 1;
    this.onEnded?.();
  }

  /** Whether a call is open that a drain has to wait for. */
  get isBusy(): boolean {
    if (this.#asked > 0) return true;
    for (const { holdsUpDrain } of this.#open) if (holdsUpDrain) return true;
    return false;
  }

  /** Refuses calls that wait: those for new work, or all. */
  endAll(refusal: Refusal, closing: boolean): void {
    for (const call of [...this.#open]) if (this.#open.has(call)) call.end(refusal, closing);
  }

  /** Unique over all sidecars and their runs. */
  newId(): string {
    this.#ids += 1;
    return `${this.incarnation}-${this.#ids.toString(36)}`;
  }

  /** Larger than any before it, and than `least`. */
  stamp(least = 0): { readonly at: number; readonly by: string } {
    this.#stamp = Math.max(Math.floor(this.clock.wall()), this.#stamp + 1, least + 1);
    return { at: this.#stamp, by: this.incarnation };
  }

  /** As {@link Coordinator.undeliverable}: each home is told of its own. */
  undeliverable(turns: readonly TurnRef[], unwanted = false): void {
    const [first] = turns;
    if (first === undefined) return;
    for (const { token } of turns) this.turns.ended(token);
    this.onEnded?.();
    for (const [partition, some] of byPartition(turns, (turn) => this.partitionOf(turn))) {
      const target = this.target(partition);
      if (target !== undefined) target.home.undeliverable(some, unwanted);
      else this.gates.hold(this, partition, new Undelivered(this, partition, some, unwanted));
    }
  }

  partitionOf({ queue, key, token }: TurnRef): number {
    return this.map.ofTurn(queue, key, token);
  }
}

export function byPartition<T>(all: readonly T[], partitionOf: (one: T) => number): ReadonlyMap<number, T[]> {
  const parts = new Map<number, T[]>();
  for (const one of all) {
    const partition = partitionOf(one);
    const part = parts.get(partition);
    if (part === undefined) parts.set(partition, [one]);
    else part.push(one);
  }
  return parts;
}

function thrown(clock: Clock, error: unknown): string {
  clock.soon(() => {
    throw error;
  });
  return '-';
}

/** If no home comes in time they end as those of any worker that is gone: with their lease or their session. */
class Undelivered implements HeldCall {
  readonly isOver = false;
  readonly deadline: number;

  constructor(
    private readonly router: Router,
    private readonly partition: number,
    private readonly turns: readonly TurnRef[],
    private readonly unwanted: boolean,
  ) {
    this.deadline = router.clock.now() + UNDELIVERED_FOR;
  }

  ask(): boolean {
    const home: Coordinator | undefined = this.router.target(this.partition)?.home;
    home?.undeliverable(this.turns, this.unwanted);
    return home !== undefined;
  }

  giveUp(): void {}
}
