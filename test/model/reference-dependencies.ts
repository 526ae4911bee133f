/** The dumb reference: items that wait for others (S60 to S68). */
import type { ItemRef, NewItem, SubmitResult } from '../../src/coordinator.js';
import type { ItemRecord, ModelQueue } from './reference-state.js';
import type { World } from './reference-world.js';

export type Standing = 'open' | 'unknown' | End;
export type End = 'done' | 'dead' | 'superseded' | 'discarded' | 'declined';

/** An item of a call, and whether a line grows by it. */
export interface Wanted {
  readonly queue: string;
  readonly item: NewItem;
  readonly place: 'known' | 'none' | 'taken' | 'replaced';
}

export function standingOf(world: World, { queue, itemId }: ItemRef): Standing {
  const state = world.findItem(world.queue(queue), itemId)?.state ?? 'unknown';
  return state === 'waiting' || state === 'in_flight' ? 'open' : state;
}

/** S63, S65: whether what the call wants to wait for is a reason to refuse it. */
export function waitsWrongly(world: World, all: readonly Wanted[]): boolean {
  const wanted = all.filter(({ place }) => place !== 'known');
  const isNew = (ref: ItemRef) => wanted.some((one) => isSame(refOf(one), ref));
  for (const one of wanted) {
    if (one.place === 'none') continue;
    for (const ref of one.item.after ?? []) {
      if (isSame(ref, refOf(one))) return true;
      if (one.item.afterUnknown === 'refuse' && !isNew(ref) && standingOf(world, ref) === 'unknown') return true;
    }
  }
  return wanted.some((one) => standsBehindDependant(world, one)) || hasCircle(world, wanted);
}

function standsBehindDependant(world: World, one: Wanted): boolean {
  if (one.place !== 'taken' || one.item.key === '') return false;
  const { line } = world.lane(world.queue(one.queue), one.item.key);
  return line.some((entry) => entry.kind === 'item' && entry.after.some((ref) => isSame(ref, refOf(one))));
}

/** From each item of the call, whether anything that it waits for, however far, is the item itself. */
function hasCircle(world: World, wanted: readonly Wanted[]): boolean {
  return wanted.some((one) => {
    const reached: ItemRef[] = [];
    const next = [...waysFrom(world, wanted, refOf(one))];
    for (let ref = next.pop(); ref !== undefined; ref = next.pop()) {
      const here = ref;
      if (reached.some((other) => isSame(other, here))) continue;
      reached.push(here);
      next.push(...waysFrom(world, wanted, here));
    }
    return reached.some((ref) => isSame(ref, refOf(one)));
  });
}

function waysFrom(world: World, wanted: readonly Wanted[], ref: ItemRef): readonly ItemRef[] {
  const index = wanted.findIndex((one) => isSame(refOf(one), ref));
  const one = wanted[index];
  if (one === undefined) return world.findItem(world.queue(ref.queue), ref.itemId)?.after ?? [];
  const after = one.place === 'none' ? [] : (one.item.after ?? []);
  if (one.place !== 'taken' || one.item.key === '') return after;
  // Of its key the one that the call has before it stands before it in the line.
  const before = wanted
    .slice(0, index)
    .filter(({ queue, item, place }) => queue === one.queue && item.key === one.item.key && place !== 'none')
    .map(refOf);
  return [...after, ...before.slice(-1)];
}

function refOf({ queue, item }: Pick<Wanted, 'queue' | 'item'>): ItemRef {
  return { queue, itemId: item.itemId ?? '' };
}

export function isSame(one: ItemRef, other: ItemRef): boolean {
  return one.queue === other.queue && one.itemId === other.itemId;
}

/** What of a call was kept that waits for others, and what of it was declined (S64). */
export class Arrived {
  readonly #waiting: ItemRecord[] = [];
  readonly #done: ItemRef[] = [];

  constructor(private readonly world: World) {}

  kept(item: ItemRecord): void {
    if (item.after.length > 0) this.#waiting.push(item);
  }

  declined(queue: ModelQueue, result: SubmitResult): void {
    if (result.decision === 'accept') return;
    const { itemId, reason } = result;
    if (reason !== 'already_done') return;
    this.#done.push({ queue: queue.name, itemId });
    this.world.ended(queue.name, itemId, 'done');
  }

  #isDone(ref: ItemRef): boolean {
    return this.#done.some((one) => isSame(one, ref));
  }

  /** All of the call is there. */
  complete(): void {
    for (const item of this.#waiting) {
      if (item.state !== 'waiting') continue;
      const refs = item.after;
      item.after = [];
      for (const ref of refs) {
        let standing = standingOf(this.world, ref);
        if (standing === 'unknown' && this.#isDone(ref)) standing = 'done';
        if (standing === 'unknown' && item.content.afterUnknown === 'refuse') standing = 'declined';
        if (standing === 'open' || standing === 'unknown') item.after.push(ref);
        else if (this.world.isFatal(item, standing)) {
          this.world.doom(item, ref, standing);
          break;
        }
      }
      this.world.lookAt(item);
    }
  }
}

/** S67: what an item came after, as far as that goes back with it or is open. Of items of one key the line decides. */
export function awaitedAgain(world: World, item: ItemRecord, back: readonly ItemRecord[]): ItemRef[] {
  const { queue, content, serial, submittedAt } = item;
  return (content.after ?? []).filter((ref) => {
    const together = ref.queue === queue.name ? back.find(({ id }) => id === ref.itemId) : undefined;
    const other = together ?? world.findItem(world.queue(ref.queue), ref.itemId);
    if (other === undefined || !(other === together || isOpen(other))) return false;
    if (other.queue === queue && content.key !== '' && other.content.key === content.key) return false;
    return other.serial < serial || other.submittedAt === submittedAt;
  });
}

function isOpen({ state }: ItemRecord): boolean {
  return state === 'waiting' || state === 'in_flight';
}
