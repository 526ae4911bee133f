/** Which items wait for which others to be done. */

import type { AfterRef, ItemRef } from '../contract/model.js';
import type { EndRow } from '../contract/rows.js';
import type { AfterView } from '../contract/views.js';
import { append, isLinked, Link, unlink } from '../structures/link.js';
import { Dependency, type End, type Item, NO_DEPENDENCIES, Prerequisite, type Waits } from './records.js';

/** Of another group: its home is asked how it ends, and no end here concerns it. One for each item that waits. */
export class FarPrerequisite extends Prerequisite {
  get isFar(): boolean {
    return true;
  }
}

const NOTHING: readonly Prerequisite[] = Object.freeze([]);

/** Whether the item may not start yet for that. */
export function isHeldBack({ waits }: Item): boolean {
  return waits !== undefined && (waits.left > 0 || waits.dependencyFailed);
}

/** What has not ended of what an item waits for: what a row says of it, so that after a restart it waits as before. */
export function waitsFor({ waits }: Item): readonly AfterRef[] {
  if (waits === undefined) return [];
  return openOf(waits).map((on) => {
    const { queue, itemId } = on;
    return isFar(on) ? { queue, itemId, isFar: true } : { queue, itemId };
  });
}

function isFar(on: Prerequisite): on is FarPrerequisite {
  return on instanceof FarPrerequisite;
}

/** How many of the items that one waits for are named to people. */
const AWAITED_TOLD = 10;

/** What an item waits for, by name; there may be a hundred. */
export function awaitedBy({ waits }: Item): AfterView | undefined {
  if (waits === undefined || waits.left === 0) return undefined;
  const first = openOf(waits).slice(0, AWAITED_TOLD);
  return { first: first.map(({ queue, itemId }) => ({ queue, itemId })), count: waits.left };
}

/** What has not ended, or ended without the item having learnt of it yet, in the order in which it was named. */
export function openOf({ dependencies }: Waits): readonly Prerequisite[] {
  return dependencies.filter(isLinked).map(({ on }) => on);
}

/**
 * All dependencies, found from what is waited for. The end of a step notifies the items that wait for what ended in it;
 * if there are very many, some in the next steps. Until then the ended one stands in a list of its own.
 *
 * To add, notify or drop one takes a constant time. They are kept by the name of the queue, not in the queue: an item
 * may wait for one of a queue that nobody has used yet.
 *
 * Items of other groups are apart from that: each is expected for one item, and ends when its home has said so. Two items that
 * name the same one may mean two, of which the second came when the first was forgotten.
 */
export class Dependencies {
  readonly #awaited = new Map<string, Map<string, Prerequisite>>();
  /** Of other groups, and not known to have ended. */
  readonly far = new Set<FarPrerequisite>();
  readonly #ended = new Link();
  /** What ended in this step. {@link takeUntold} empties it. */
  #endedNow: Prerequisite[] = [];
  #size = 0;
  /** Called when all items have learnt of an end that is kept on disk for them. */
  onAllTold: ((ended: Prerequisite) => void) | undefined = undefined;

  constructor(private readonly items: { itemSeq: number }) {}

  /** Dependencies that are linked: what they wait for has not ended, or their item has not learnt of it. */
  get size(): number {
    return this.#size;
  }

  /** Items have still to learn that something ended. */
  get hasNews(): boolean {
    return isLinked(this.#ended);
  }

  /** Somebody waits for it. */
  find({ queue, itemId }: ItemRef): Prerequisite | undefined {
    return this.#awaited.get(queue)?.get(itemId);
  }

  /** How many of the items of this queue are waited for, or ended and are not known to have by all. */
  countOf(queue: string): number {
    let count = this.#awaited.get(queue)?.size ?? 0;
    for (const ended of this.allEnded()) if (ended.queue === queue && !isFar(ended)) count += 1;
    return count;
  }

  /** What is waited for and has not ended. It may end while it is looked at. */
  *all(): Generator<Prerequisite, undefined> {
    for (const ofQueue of this.#awaited.values()) yield* ofQueue.values();
  }

  /** What ended, while items have still to learn of it. */
  *allEnded(): Generator<Prerequisite, undefined> {
    for (let next = this.#ended.next; next instanceof Prerequisite; next = next.next) yield next;
  }

  /** The item begins to wait for these. */
  add(item: Item, waits: Waits, refs: readonly AfterRef[]): void {
    waits.dependencies = refs.map((ref) => {
      const dependency = new Dependency(item, this.#awaitedAs(ref));
      append(dependency.on.dependencies, dependency);
      if (item.stored !== undefined) dependency.on.onDisk += 1;
      return dependency;
    });
    waits.left = refs.length;
    this.#size += refs.length;
  }

  /** Some item waits for another: only then anybody need be told of an end. */
  get areAwaited(): boolean {
    return this.#awaited.size > 0;
  }

  /** It has ended: the items that wait for it will be notified. */
  end(queue: string, itemId: string, end: End): void {
    if (this.#awaited.size === 0) return;
    const ended = this.find({ queue, itemId });
    if (ended !== undefined) this.#end(ended, end);
  }

  /** Its home has said so. @returns false: nobody waits for it any more */
  endFar(ended: FarPrerequisite, end: End): boolean {
    if (!this.far.has(ended)) return false;
    this.#end(ended, end);
    return true;
  }

  #end(ended: Prerequisite, end: End): void {
    this.#forget(ended);
    this.items.itemSeq += 1;
    this.#isEnded(ended, end, this.items.itemSeq);
    this.#endedNow.push(ended);
  }

  /**
   * After a restart: it had ended as its row says, and items that came before had not learnt of it.
   * @returns whether any of them is left to be notified
   */
  endedAs({ queue, id, end, seq }: EndRow): boolean {
    const awaited = this.find({ queue, itemId: id });
    if (awaited === undefined) return false;
    const ended = new Prerequisite(queue, id);
    let next = awaited.dependencies.next;
    while (next instanceof Dependency && next.item.seq < seq) {
      const dependency = next;
      next = next.next;
      unlink(dependency);
      dependency.on = ended;
      append(ended.dependencies, dependency);
      if (dependency.item.stored === undefined) continue;
      awaited.onDisk -= 1;
      ended.onDisk += 1;
    }
    if (!isLinked(awaited.dependencies)) this.#forget(awaited);
    if (!isLinked(ended.dependencies)) return false;
    this.#isEnded(ended, end, seq);
    ended.kept = true;
    return true;
  }

  /**
   * What ended in this step while items on disk have not learnt of it: a crash must not make them wait for ever. After one, homes
   * elsewhere are asked again.
   */
  takeUntold(): readonly Prerequisite[] {
    if (this.#endedNow.length === 0) return NOTHING;
    const untold = this.#endedNow.filter((ended) => isLinked(ended) && ended.onDisk > 0 && !isFar(ended));
    this.#endedNow = [];
    for (const ended of untold) ended.kept = true;
    return untold;
  }

  /**
   * It waited in memory only, and is on disk from now on.
   * @param keep what of it has ended already, and is to be written too
   */
  isOnDisk({ dependencies }: Waits, keep: (ended: Prerequisite) => void): void {
    for (const { on } of dependencies.filter(isLinked)) {
      on.onDisk += 1;
      if (on.end === undefined || on.kept || isFar(on)) continue;
      on.kept = true;
      keep(on);
    }
  }

  /** The first dependency on what has ended. */
  firstNews(): Dependency | undefined {
    const ended = this.#ended.next;
    const first = ended instanceof Prerequisite ? ended.dependencies.next : undefined;
    return first instanceof Dependency ? first : undefined;
  }

  /**
   * The item waits for this one no more. A prerequisite for which nobody waits is forgotten: one that has ended leaves
   * the list of news, and its row goes if it has one.
   */
  drop(dependency: Dependency): void {
    if (!isLinked(dependency)) return;
    const { item, on } = dependency;
    unlink(dependency);
    this.#size -= 1;
    if (item.stored !== undefined) on.onDisk -= 1;
    if (item.waits !== undefined) {
      item.waits.left -= 1;
      item.waits.changed = true;
      if (item.waits.left === 0) item.waits.dependencies = NO_DEPENDENCIES;
    }
    if (isLinked(on.dependencies)) return;
    if (on.end === undefined) return this.#forget(on);
    unlink(on);
    if (on.kept) this.onAllTold?.(on);
  }

  /** The item waits for nothing any more. */
  dropAll({ waits }: Item): void {
    if (waits === undefined) return;
    for (const dependency of waits.dependencies) this.drop(dependency);
    waits.left = 0;
    waits.dependencyFailed = false;
  }

  #awaitedAs(ref: AfterRef): Prerequisite {
    if (ref.isFar !== true) return this.find(ref) ?? this.#expect(ref);
    const far = new FarPrerequisite(ref.queue, ref.itemId);
    this.far.add(far);
    return far;
  }

  #expect({ queue, itemId }: ItemRef): Prerequisite {
    const awaited = new Prerequisite(queue, itemId);
    const ofQueue = this.#awaited.get(queue);
    if (ofQueue === undefined) this.#awaited.set(queue, new Map([[itemId, awaited]]));
    else ofQueue.set(itemId, awaited);
    return awaited;
  }

  #isEnded(ended: Prerequisite, end: End, seq: number): void {
    ended.end = end;
    ended.seq = seq;
    append(this.#ended, ended);
  }

  #forget(awaited: Prerequisite): void {
    if (isFar(awaited)) return void this.far.delete(awaited);
    const { queue, itemId } = awaited;
    const ofQueue = this.#awaited.get(queue);
    if (ofQueue?.delete(itemId) && ofQueue.size === 0) this.#awaited.delete(queue);
  }
}
