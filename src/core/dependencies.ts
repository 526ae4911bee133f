/** Which items wait for which others to be done. */
import type { Item } from './line.js';
import { append, isLinked, Link, unlink } from './link.js';
import type { ItemRef } from './model.js';
import type { AfterView } from './views.js';

/** How something that was waited for ended. */
export type End = 'done' | 'dead' | 'superseded' | 'discarded' | 'declined';

/** What is waited for: an item that is not finished, or an id of which nothing is known yet. */
export class Prerequisite extends Link implements ItemRef {
  /** Those that wait for it, in the order in which they began to. */
  readonly dependencies = new Link();
  /** Unset: it has not ended. */
  end: End | undefined = undefined;
  constructor(
    readonly queue: string,
    readonly itemId: string,
  ) {
    super();
  }
}

/** One item waits for another. It is linked as long as it does. */
export class Dependency extends Link {
  constructor(
    readonly item: Item,
    readonly on: Prerequisite,
  ) {
    super();
  }
}

/** What an item was submitted to wait for, and what of it is left. */
export class Waits {
  /** How many have not ended, as far as the item was told. */
  left: number;
  dependencies: readonly Dependency[] = NONE;
  /** One of them ended and was not done: for that the item has to become a dead letter as soon as it can. */
  doomed = false;
  /** Less is left than there was when it arrived. */
  changed = false;
  /** @param after as it was submitted: it is part of what the item is */
  constructor(readonly after: readonly ItemRef[]) {
    // Held back from the beginning, though nothing is linked before all that arrives with it is there.
    this.left = after.length;
  }
}

const NONE: readonly Dependency[] = Object.freeze([]);

/** Whether the item may not start yet for that. */
export function isHeldBack({ waits }: Item): boolean {
  return waits !== undefined && (waits.left > 0 || waits.doomed);
}

/** What has not ended of what an item waits for: what a row says of it, so that after a restart it waits as before. */
export function waitsFor({ waits }: Item): readonly ItemRef[] {
  if (waits === undefined) return [];
  return openOf(waits).map(({ queue, itemId }) => ({ queue, itemId }));
}

/** Items that one of them waits for, of which people are told. */
const AWAITED_TOLD = 10;

/** What an item waits for, by name; there may be a hundred. */
export function awaitedBy({ waits }: Item): AfterView | undefined {
  if (waits === undefined || waits.left === 0) return undefined;
  const first = openOf(waits).slice(0, AWAITED_TOLD);
  return { first: first.map(({ queue, itemId }) => ({ queue, itemId })), count: waits.left };
}

/** What has not ended, or of which the item was not told yet, in the order in which it was named. */
export function openOf({ dependencies }: Waits): readonly Prerequisite[] {
  return dependencies.filter(isLinked).map(({ on }) => on);
}

/**
 * All dependencies, found from what is waited for. Whoever waits is told at the end of the step in which that ended, and
 * of very many some in the next steps: until then an ended one stands in a list of its own.
 *
 * Each takes a constant time to be added, told and dropped. By the name of the queue, not in it: what is waited for may
 * be of a queue that nobody has used yet.
 */
export class Dependencies {
  readonly #awaited = new Map<string, Map<string, Prerequisite>>();
  readonly #ended = new Link();
  #size = 0;

  /** How many have not been told. */
  get size(): number {
    return this.#size;
  }

  /** Something ended of which not everybody was told. */
  get hasNews(): boolean {
    return isLinked(this.#ended);
  }

  /** Somebody waits for it. */
  find({ queue, itemId }: ItemRef): Prerequisite | undefined {
    return this.#awaited.get(queue)?.get(itemId);
  }

  /** What is waited for and has not ended. It may end while it is looked at. */
  *all(): Generator<Prerequisite, undefined> {
    for (const ofQueue of this.#awaited.values()) yield* ofQueue.values();
  }

  /** The item begins to wait for these. */
  add(item: Item, waits: Waits, refs: readonly ItemRef[]): void {
    waits.dependencies = refs.map((ref) => {
      const dependency = new Dependency(item, this.find(ref) ?? this.#expect(ref));
      append(dependency.on.dependencies, dependency);
      return dependency;
    });
    waits.left = refs.length;
    this.#size += refs.length;
  }

  /** It has ended: those that wait for it are to be told. */
  end(queue: string, itemId: string, end: End): void {
    if (this.#awaited.size === 0) return;
    const ended = this.find({ queue, itemId });
    if (ended === undefined) return;
    this.#forget(ended);
    ended.end = end;
    append(this.#ended, ended);
  }

  /** The first whose item was not told yet that what it waits for has ended. */
  firstNews(): Dependency | undefined {
    const ended = this.#ended.next;
    const first = ended instanceof Prerequisite ? ended.dependencies.next : undefined;
    return first instanceof Dependency ? first : undefined;
  }

  /** The item waits for this one no more. */
  drop(dependency: Dependency): void {
    if (!isLinked(dependency)) return;
    const { item, on } = dependency;
    unlink(dependency);
    this.#size -= 1;
    if (item.waits !== undefined) {
      item.waits.left -= 1;
      item.waits.changed = true;
      if (item.waits.left === 0) item.waits.dependencies = NONE;
    }
    if (isLinked(on.dependencies)) return;
    if (on.end === undefined) this.#forget(on);
    else unlink(on);
  }

  /** The item waits for nothing any more. */
  dropAll({ waits }: Item): void {
    if (waits === undefined) return;
    for (const dependency of waits.dependencies) this.drop(dependency);
    waits.left = 0;
    waits.doomed = false;
  }

  #expect({ queue, itemId }: ItemRef): Prerequisite {
    const awaited = new Prerequisite(queue, itemId);
    const ofQueue = this.#awaited.get(queue);
    if (ofQueue === undefined) this.#awaited.set(queue, new Map([[itemId, awaited]]));
    else ofQueue.set(itemId, awaited);
    return awaited;
  }

  #forget({ queue, itemId }: Prerequisite): void {
    const ofQueue = this.#awaited.get(queue);
    if (ofQueue?.delete(itemId) && ofQueue.size === 0) this.#awaited.delete(queue);
  }
}
