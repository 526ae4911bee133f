/** What a batch wants to wait for, looked at before anything of it is accepted. */
import { nameOf } from './dependants.js';
import { Dependency, openOf } from './dependencies.js';
import type { ItemRef, NewItem, Refusal } from './model.js';
import type { Queue } from './queue.js';
import { badRequest, RETRY_SOON } from './refusals.js';
import { standingOf } from './standing.js';
import type { CoreState } from './state.js';

/** What is looked through for a cycle: one call must not hold up all others. */
const MOST_SEARCHED = 10_000;
/** Of a cycle that is told. */
const MOST_TOLD = 6;
/** Of an id that is told. */
const MOST_CHARACTERS = 48;

/** An item of the batch. */
interface Planned {
  readonly queue: string;
  readonly key: string;
  readonly after: readonly ItemRef[];
}

/** Of one batch, over all its queues. Made only for a batch that waits for something. */
export class AfterPlan {
  readonly #batch = new Map<string, Planned>();
  /** What items of the batch wait for, and the first of those that do. */
  readonly #awaited = new Map<string, Planned>();

  constructor(
    private readonly state: CoreState,
    private readonly now: number,
  ) {}

  /** Unset: nothing of the batch waits for anything. */
  static of(state: CoreState, items: readonly NewItem[], now: number): AfterPlan | undefined {
    return items.some(({ after }) => after !== undefined) ? new AfterPlan(state, now) : undefined;
  }

  /**
   * Looks at an item that will be kept.
   * @param inLine it will stand behind all that wait in its lane now
   * @returns how many it has to wait for, at most; or why it can never be accepted
   */
  check(queue: Queue, item: NewItem, inLine: boolean, field: string): number | Refusal {
    return this.#unknown(queue, item, field) ?? this.#circular(queue, item, inLine, field) ?? item.after?.length ?? 0;
  }

  /** From now on others of the batch may wait for it. @param kept false: it will be declined */
  add({ name }: Queue, { itemId, key, after = [] }: NewItem, kept: boolean): void {
    const planned: Planned = { queue: name, key, after: kept ? after : [] };
    if (itemId !== undefined) this.#batch.set(nameOf({ queue: name, itemId }), planned);
    for (const ref of planned.after) {
      const awaited = nameOf(ref);
      if (!this.#awaited.has(awaited)) this.#awaited.set(awaited, planned);
    }
  }

  #unknown(queue: Queue, { itemId, after = [], afterUnknown }: NewItem, field: string): Refusal | undefined {
    const { queues, settings } = this.state;
    for (const [index, ref] of after.entries()) {
      const at = `${field}.after[${index}]`;
      if (ref.itemId === itemId && ref.queue === queue.name)
        return badRequest(at, `${told(ref)} is the item itself: it can wait only for others`);
      if (!queues.has(ref.queue) && !settings.autoCreate && !settings.queues.has(ref.queue))
        return { kind: 'no_such_queue', queue: ref.queue };
      if (afterUnknown === 'wait' || this.#batch.has(nameOf(ref))) continue;
      if (standingOf(this.state, ref, this.now) === 'unknown') return badRequest(at, `${told(ref)} ${UNKNOWN}`);
    }
    return undefined;
  }

  /** Only an item for which somebody waits already, before it is known, can close a cycle. */
  #circular(queue: Queue, item: NewItem, inLine: boolean, field: string): Refusal | undefined {
    const { itemId, key, after = [] } = item;
    if (itemId === undefined) return undefined;
    const self = { queue: queue.name, itemId };
    const inBatch = this.#awaited.get(nameOf(self));
    const awaited = this.state.dependencies.find(self);
    if (inBatch === undefined && awaited === undefined) return undefined;
    if (inLine && key !== '') {
      const before = this.#waitsInLane(self, key);
      if (before !== undefined) return badRequest(`${field}.key`, behindDependant(key, before));
    }
    return after.length === 0 ? undefined : this.#searchCycle(self, after, field);
  }

  /** Who stands in the same line before it and waits for it: neither could ever start. */
  #waitsInLane(self: ItemRef, key: string): string | undefined {
    const planned = this.#awaited.get(nameOf(self));
    if (planned?.queue === self.queue && planned.key === key) return 'an item of the same call';
    const awaited = this.state.dependencies.find(self);
    let left = MOST_SEARCHED;
    for (let next = awaited?.dependencies.next; next instanceof Dependency && left > 0; next = next.next) {
      const { lane, id } = next.item;
      if (lane.key === key && lane.queue.name === self.queue) return `item ${id}`;
      left -= 1;
    }
    return undefined;
  }

  /** Depth first, from what it waits for to what that waits for, for the item itself. */
  #searchCycle(self: ItemRef, after: readonly ItemRef[], field: string): Refusal | undefined {
    const seen = new Set<string>();
    const path: Step[] = [];
    for (const [index, first] of after.entries()) {
      path.push({ ref: first, rest: this.#afterOf(first) });
      for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
        const ref = step.rest.pop();
        if (ref === undefined) {
          path.pop();
          continue;
        }
        if (ref.queue === self.queue && ref.itemId === self.itemId)
          return badRequest(`${field}.after[${index}]`, circle([self, ...path.map((one) => one.ref), self]));
        const name = nameOf(ref);
        if (seen.has(name)) continue;
        seen.add(name);
        if (seen.size > MOST_SEARCHED) return TOO_MANY;
        path.push({ ref, rest: this.#afterOf(ref) });
      }
    }
    return undefined;
  }

  #afterOf(ref: ItemRef): ItemRef[] {
    const planned = this.#batch.get(nameOf(ref));
    if (planned !== undefined) return [...planned.after];
    const item = this.state.queues.get(ref.queue)?.items.get(ref.itemId);
    return item?.waits === undefined ? [] : [...openOf(item.waits)];
  }
}

/** Where the search stands: an item, and what of what it waits for is not looked at yet. */
interface Step {
  readonly ref: ItemRef;
  readonly rest: ItemRef[];
}

const UNKNOWN = 'is not known here, or no more; allowed: an item that is known, or any with after_unknown: wait';

function told({ queue, itemId }: ItemRef): string {
  return `item ${shortened(itemId)} of queue ${queue}`;
}

/** Descriptions of several have to fit into the trailers of a call. Cut between characters. */
function shortened(id: string): string {
  return id.length <= MOST_CHARACTERS ? id : `${[...id].slice(0, MOST_CHARACTERS).join('')}…`;
}

function behindDependant(key: string, before: string): string {
  return `${before} waits for this one and stands before it in the line of key ${key}: neither could ever start`;
}

function circle(items: readonly ItemRef[]): string {
  const more = items.length - MOST_TOLD;
  const names = items.map(told);
  const shown = more > 0 ? [...names.slice(0, MOST_TOLD - 1), `${more} others`, ...names.slice(-1)] : names;
  return `${shown.join(' waits for ')}: none of them could ever start`;
}

const TOO_MANY: Refusal = Object.freeze({
  kind: 'limit',
  subject: 'dependencies',
  limit: MOST_SEARCHED,
  description: `more than ${MOST_SEARCHED} items had to be looked at to see that none waits for another in a circle`,
  retryAfter: RETRY_SOON,
});
