/** Queues of all partitions, by name. */
import type { QueuePage, QueueView, Result, Unavailable } from '../../coordinator.js';
import type { AskedParts } from './asked-parts.js';
import { isAway, partial, why } from './asking.js';
import { mergeViews } from './stats.js';

/** Of each partition at a time: a page may have a thousand queues, and they are divided among all. */
const FEW = 64;

/** Only as many views are here as the page has, and a few of each partition. */
export async function listQueues(parts: AskedParts<'listQueues'>): Promise<Result<QueuePage>> {
  const { router, request } = parts;
  // A part that is not stuck may belong to a queue that is: then it is decided here, when all parts are.
  const homesPickOut = router.map.spreadQueues().next().done === true;
  const shelves = parts.partitions.map((partition) => new Shelf(parts, partition, homesPickOut));
  await Promise.all(shelves.map((shelf) => shelf.fill()));
  const queues: QueueView[] = [];
  let more = false;
  for (let name = nextName(shelves); name !== undefined; name = nextName(shelves)) {
    if (queues.length >= request.most) {
      more = true;
      break;
    }
    const parts: QueueView[] = [];
    for (const shelf of shelves) {
      const view = shelf.takeIf(name);
      if (view !== undefined) parts.push(view);
      if (shelf.isEmpty) await shelf.fill();
    }
    const [first, ...others] = parts;
    if (first === undefined) continue;
    const view = mergeViews([first, ...others]);
    // Where nothing of it was used yet, nothing is paused.
    const asked = router.map.isSpread(name) ? router.map.all(name).filter((part) => !shelves[part]?.refused) : [0];
    const whole = parts.length < asked.length ? { ...view, paused: false } : view;
    if (request.stuckFor === undefined || homesPickOut || isStuckView(whole, request.stuckFor)) queues.push(whole);
  }
  const refused = shelves.flatMap(({ refused: one }) => one ?? []);
  const forGood = refused.find(({ refusal }) => !isAway(refusal));
  if (forGood !== undefined) return { ok: false, refusal: forGood.refusal };
  const unavailable: Unavailable[] = refused.map(({ partition, refusal }) => ({ partition, why: why(refusal) }));
  const holds = shelves.flatMap(({ holdUntil }) => holdUntil ?? []);
  const holdUntil = holds.length === 0 ? undefined : Math.max(...holds);
  return { ok: true, value: { queues, more, holdUntil, ...partial(unavailable) } };
}

/** As a home decides it of its own, but for items that wait for others; a spread queue is what its parts are together. */
function isStuckView({ paused, deadLetters, states, oldestWaiting }: QueueView, waited: number): boolean {
  if (paused || deadLetters > 0 || states.PARK > 0) return true;
  return states.BLOCK + states.READY > 0 && (oldestWaiting ?? Number.NEGATIVE_INFINITY) >= waited;
}

function nextName(shelves: readonly Shelf[]): string | undefined {
  let next: string | undefined;
  for (const { name } of shelves) if (name !== undefined && (next === undefined || name < next)) next = name;
  return next;
}

/** Some queues of one partition. */
class Shelf {
  holdUntil: number | undefined;
  refused:
    | { readonly partition: number; readonly refusal: Extract<Result<never>, { ok: false }>['refusal'] }
    | undefined;
  #views: readonly QueueView[] = [];
  #at = 0;
  #after: string;
  #more = true;

  constructor(
    private readonly parts: AskedParts<'listQueues'>,
    private readonly partition: number,
    private readonly homesPickOut: boolean,
  ) {
    this.#after = parts.request.after;
  }

  get name(): string | undefined {
    return this.#views[this.#at]?.name;
  }

  get isEmpty(): boolean {
    return this.#at >= this.#views.length && this.#more;
  }

  takeIf(name: string): QueueView | undefined {
    const view = this.#views[this.#at];
    if (view?.name !== name) return undefined;
    this.#at += 1;
    return view;
  }

  /** Every partition has the queues that the configuration names; those of others are left out. */
  async fill(): Promise<void> {
    const { partition } = this;
    const { router, request } = this.parts;
    this.#views = [];
    this.#at = 0;
    while (this.#more && this.#views.length === 0) {
      const page = {
        nameContains: request.nameContains,
        after: this.#after,
        most: Math.min(request.most + 1, FEW),
        stuckFor: this.homesPickOut ? request.stuckFor : undefined,
      };
      const answer = await this.parts.ask(partition, page);
      if (!answer.ok) {
        this.refused = { partition, refusal: answer.refusal };
        this.#more = false;
        return;
      }
      const { queues, more, holdUntil } = answer.value;
      this.holdUntil = holdUntil ?? this.holdUntil;
      this.#more = more;
      this.#after = queues.at(-1)?.name ?? this.#after;
      const { map } = router;
      this.#views = queues.filter(({ name }) =>
        map.isSpread(name) ? map.all(name).includes(partition) : map.of(name, '') === partition,
      );
    }
  }
}
