/** Checks what a batch wants to wait for, before anything of it is accepted (S63 to S66). */

import type { AfterRef, ItemRef, NewItem, Refusal } from '../contract/model.js';
import { badRequest, MOST_FAR, tooManyFar } from '../contract/refusals.js';
import { standingOf } from '../items/item-status.js';
import { nameOf, told } from '../state/item-names.js';
import { Dependency, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { circleIn, farBehind, MOST_SEARCHED, type Planned, TOO_MANY } from './dependency-cycle.js';

/** Whether a batch has to be looked at for this item: it waits for others, or others may wait for it. */
export function isConcerned({ dependencies }: CoreState, queue: string, { itemId, after }: NewItem): boolean {
  if (after !== undefined) return true;
  return itemId !== undefined && dependencies.size > 0 && dependencies.find({ queue, itemId }) !== undefined;
}

/**
 * The check of one batch, over all its queues. Made only for a batch with an item that is concerned: other batches pay
 * nothing for dependencies.
 *
 * Order of use: {@link add} for every item in the order of the request, then {@link check} once.
 */
export class DependencyCheck {
  readonly #items: Planned[] = [];
  /** Those to which the client gave an id: only they can be named by others. */
  readonly #byName = new Map<string, Planned>();
  /** The last one so far in each lane of a key. */
  readonly #last = new Map<string, Planned>();

  constructor(
    private readonly state: CoreState,
    private readonly now: number,
  ) {}

  /**
   * Adds one more item of the batch. Precondition: its id is not known yet (known items are not looked at, S63).
   *
   * @param place as `CapacityPlan` expects it: `none` is declined, `replaced` takes the place of another item
   * @param field path of the item in the request
   */
  add({ name: queue }: Queue, item: NewItem, place: 'taken' | 'replaced' | 'none', field: string): void {
    const { key, itemId = '', after = [] } = item;
    const lane = nameOf({ queue, itemId: key });
    const planned: Planned = {
      field,
      ref: { queue, itemId },
      key,
      // What will be declined waits for nothing.
      after: place === 'none' ? [] : after,
      waitsForUnknown: item.afterUnknown === 'wait',
      before: place === 'taken' && key !== '' ? this.#last.get(lane) : undefined,
      behindAll: place === 'taken' && key !== '',
    };
    this.#items.push(planned);
    if (itemId !== '') this.#byName.set(nameOf(planned.ref), planned);
    if (place !== 'none') this.#last.set(lane, planned);
  }

  /**
   * Checks names first (the item itself, unknown items), then the line of the key, then cycles: the later checks cost
   * more. The number counts each name of each item that has not ended. It is an upper bound, because an item of the
   * batch that is named may be declined.
   *
   * @returns how many dependencies there will be, at most; or why the batch can never be accepted
   */
  check(): number | Refusal {
    let count = 0;
    for (const planned of this.#items) {
      for (const [index, ref] of planned.after.entries()) {
        const standing = this.#standingOf(ref);
        const refusal = this.#refusalOf(planned, ref, standing, `${planned.field}.after[${index}]`);
        if (refusal !== undefined) return refusal;
        if (standing === 'open' || standing === 'unknown') count += 1;
      }
    }
    const awaited = this.#items.filter(({ ref }) => this.state.dependencies.find(ref) !== undefined);
    for (const planned of awaited) {
      const refusal = this.#behindDependant(planned);
      if (refusal !== undefined) return refusal;
    }
    const items = awaited.length === 0 ? undefined : (ref: ItemRef) => this.#openItem(ref);
    const refusal = circleIn(this.#items, this.#byName, items) ?? this.#tooFar(awaited);
    return refusal ?? count;
  }

  #tooFar(awaited: readonly Planned[]): Refusal | undefined {
    const far = this.#items.reduce((sum, { after }) => sum + after.filter(({ isFar }) => isFar === true).length, 0);
    const { dependencies } = this.state;
    if (far > MOST_FAR) return badRequest('items', `${far} of other groups to wait for; allowed: ${MOST_FAR}`);
    if (far > 0 && dependencies.far.size + far > MOST_FAR) return tooManyFar();
    if (awaited.length === 0 || dependencies.far.size + far === 0) return undefined;
    return farBehind(awaited, this.#byName, (ref) => this.#openItem(ref));
  }

  /** An item of the batch counts as open, whatever is known of its id: it arrives with those that name it (S64). */
  #standingOf(ref: AfterRef): ReturnType<typeof standingOf> {
    // Its home was asked before, or will say that it knows nothing of it.
    if (ref.isFar === true) return 'open';
    return this.#byName.has(nameOf(ref)) ? 'open' : standingOf(this.state, ref, this.now);
  }

  #openItem({ queue, itemId }: ItemRef) {
    return this.state.queues.get(queue)?.items.get(itemId);
  }

  /**
   * BAD_REQUEST for the item itself and for what is unknown, NO_SUCH_QUEUE for a queue that there cannot be (S63, S65).
   */
  #refusalOf(
    planned: Planned,
    ref: ItemRef,
    standing: ReturnType<typeof standingOf>,
    field: string,
  ): Refusal | undefined {
    const { queues, settings } = this.state;
    if (ref.itemId === planned.ref.itemId && ref.queue === planned.ref.queue)
      return badRequest(field, `${told(ref)} is the item itself: it can wait only for others`);
    if (standing !== 'unknown') return undefined;
    if (!queues.has(ref.queue) && !settings.autoCreate && !settings.queues.has(ref.queue))
      return { kind: 'no_such_queue', queue: ref.queue };
    return planned.waitsForUnknown ? undefined : badRequest(field, `${told(ref)} ${UNKNOWN}`);
  }

  /**
   * Refuses an item that would stand behind one that waits for it, in the line of its own key: neither could ever start
   * (S65). The other waits for an id that was unknown: by `after_unknown: wait`, or after a restart (S69). An item that
   * takes the place of another is not behind all, and is not refused; nor is one whose line is empty. At most
   * {@link MOST_SEARCHED} dependants are looked at: where that is not enough to know, the refusal is `limit`.
   */
  #behindDependant({ ref, key, field, behindAll }: Planned): Refusal | undefined {
    if (!behindAll || this.state.queues.get(ref.queue)?.lanes.get(key)?.line === undefined) return undefined;
    let left = MOST_SEARCHED;
    let next = this.state.dependencies.find(ref)?.dependencies.next;
    for (; next instanceof Dependency; next = next.next) {
      if (left === 0) return TOO_MANY;
      const { lane, id } = next.item;
      if (lane.key === key && lane.queue.name === ref.queue) {
        const before = told({ queue: ref.queue, itemId: id });
        return badRequest(`${field}.key`, `${before} waits for this one, but stands before it in the line of its key`);
      }
      left -= 1;
    }
    return undefined;
  }
}

const UNKNOWN = 'is not known here, or no more; allowed: an item that is known, or any with after_unknown: wait';
