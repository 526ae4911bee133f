/**
 * Turns of the session that have no holder here: their answers were lost with a stream. Each is given back, but not while an
 * open call with a ticket may still be answered with it.
 */
import type { TurnRef } from '../words/worker-words.js';
import type { WorkerCommand } from './command.js';
import { turnName } from './given-turns.js';

interface Group {
  /** Open calls that may claim the turns of the group. */
  claimants: number;
  readonly orphans: Set<Orphan>;
}

interface Orphan {
  readonly turn: TurnRef;
  /** Groups that still have claimants. */
  blockers: number;
}

export class Orphans {
  readonly #groups = new Map<string, Group>();
  readonly #claimants = new Map<WorkerCommand, readonly string[]>();
  readonly #orphans = new Map<string, Orphan>();

  /**
   * @param open calls that may be answered with a turn from before
   * @param giveBack called once for every turn that no call claimed, for some of them before this returns
   */
  constructor(
    turns: readonly TurnRef[],
    open: Iterable<WorkerCommand>,
    private readonly giveBack: (turn: TurnRef) => void,
  ) {
    for (const command of open) this.#addClaimant(command);
    for (const turn of turns) this.#addOrphan(turn);
  }

  /** No orphan is left. */
  get isEmpty(): boolean {
    return this.#orphans.size === 0;
  }

  /** One more, of which a notice told. `open` are the calls that may be answered with it now. */
  add(turn: TurnRef, open: Iterable<WorkerCommand>): void {
    for (const command of open) if (!this.#claimants.has(command)) this.#addClaimant(command);
    this.#addOrphan(turn);
  }

  /** An answer or a notice named the turn after all. */
  claimed(turn: TurnRef): void {
    const orphan = this.#orphans.get(turnName(turn));
    if (orphan === undefined) return;
    this.#orphans.delete(turnName(turn));
    for (const name of groupsOf(turn)) this.#groups.get(name)?.orphans.delete(orphan);
  }

  /** It is answered, or given up before it was sent: it claims nothing any more. */
  done(command: WorkerCommand): void {
    const names = this.#claimants.get(command);
    if (names === undefined) return;
    this.#claimants.delete(command);
    for (const name of names) this.#leave(name);
  }

  #addClaimant(command: WorkerCommand): void {
    const claim = command.claim();
    if (claim === undefined) return;
    const { queues, key } = claim;
    const names = key === undefined ? [...queues] : queues.map((queue) => keyGroup(queue, key));
    this.#claimants.set(command, names);
    for (const name of names) {
      const group = this.#groups.get(name);
      if (group === undefined) this.#groups.set(name, { claimants: 1, orphans: new Set() });
      else group.claimants += 1;
    }
  }

  #addOrphan(turn: TurnRef): void {
    const groups = groupsOf(turn).flatMap((name) => this.#groups.get(name) ?? []);
    if (groups.length === 0) return this.giveBack(turn);
    const orphan = { turn, blockers: groups.length };
    this.#orphans.set(turnName(turn), orphan);
    for (const group of groups) group.orphans.add(orphan);
  }

  #leave(name: string): void {
    const group = this.#groups.get(name);
    if (group === undefined) return;
    group.claimants -= 1;
    if (group.claimants > 0) return;
    this.#groups.delete(name);
    for (const orphan of group.orphans) {
      orphan.blockers -= 1;
      if (orphan.blockers > 0) continue;
      this.#orphans.delete(turnName(orphan.turn));
      this.giveBack(orphan.turn);
    }
  }
}

/** The groups of calls that ask for any key of the queue, and for this key. */
function groupsOf({ queue, key }: TurnRef): readonly string[] {
  return [queue, keyGroup(queue, key)];
}

/** The name of a queue has no space. */
function keyGroup(queue: string, key: string): string {
  return `${queue} ${key}`;
}
