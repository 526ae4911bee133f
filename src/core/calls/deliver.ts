/**
 * Parcels of another partition arrive: follow-ups of its Acks. Each is accepted once, whatever is sent again: the stamp up to
 * which all are here is written in the batch that has what they brought. So nothing rests on any memory, of whichever side.
 */
import { CapacityPlan, countsLanes, lackRefusal, lacks } from '../admission/capacity.js';
import { BatchWaits } from '../admission/dependants.js';
import { DependencyCheck, isConcerned } from '../admission/dependency-check.js';
import { keepAsLetter } from '../admission/lost-follow-up.js';
import { submitItem } from '../admission/submit.js';
import type { FollowUp, Refusal, Reply } from '../contract/model.js';
import type { DeliverAnswer, DeliverRequest, Parcel } from '../contract/parcels.js';
import { DRAINING, lettersFull } from '../contract/refusals.js';
import { mostMemoryOf } from '../items/content.js';
import { hasRoomForLetters } from '../items/dead-letter.js';
import { catchUpItems } from '../lane/current-lanes.js';
import type { Account } from '../state/accounts.js';
import { keepRoom, roomKeptFrom, roomTaken } from '../state/kept-room.js';
import { BEYOND, giveWay } from '../state/memory-budget.js';
import { findOrMakeQueue } from '../state/queues.js';
import { Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { followUpId } from '../structures/own-id.js';

/** Whether a follow-up belongs to this partition, by the routes as they are now: a core does not know of queues that left before it began. */
export type IsHere = (followUp: FollowUp) => boolean;

/**
 * Accepts parcels in their order, as far as there is room. What can be accepted later holds up those behind it, because they are to
 * stay in order; what never can becomes a dead letter.
 *
 * Refusals, when not even the first is accepted: DRAINING, NO_SUCH_QUEUE, QUEUE_FULL, MEMORY_FULL, LIMIT. All of them may end.
 */
export function deliver(
  state: CoreState,
  { source, parcels, isCounted = false }: DeliverRequest,
  reply: Reply<DeliverAnswer>,
  now: number,
  isHere: IsHere,
): void {
  const before = state.outgoing.inbox.get(source) ?? 0;
  let upTo = before;
  let stopped: Refusal | undefined;
  let isElsewhere = false;
  for (const parcel of parcels) {
    if (parcel.stamp <= upTo) continue;
    isElsewhere = !parcel.followUps.every(isHere);
    state.outgoing.heldUp.delete(source);
    stopped = isElsewhere ? undefined : accept(state, source, parcel, now, isCounted ? ALL : BEYOND);
    // It leaves just now.
    isElsewhere ||= stopped?.kind === 'no_home';
    if (stopped !== undefined && !isElsewhere) noteHeldUp(state, source, parcel, stopped, now);
    if (isElsewhere || stopped !== undefined) break;
    upTo = parcel.stamp;
  }
  if (upTo > before) {
    state.outgoing.inbox.set(source, upTo);
    state.changes?.inbox(source);
  }
  const isAnyHere = (parcels[0]?.stamp ?? 0) <= upTo;
  // Also what is known already may be in a batch that is not written yet.
  if (stopped === undefined || isElsewhere || isAnyHere)
    state.effects.push({ kind: 'deliver', to: reply, answer: { upTo, isElsewhere } }, true);
  else state.effects.push({ kind: 'refuse', to: reply, refusal: stopped }, true);
}

/** Of the limits of memory, beyond them: what comes counts already. */
const ALL = Number.POSITIVE_INFINITY;

/** All follow-ups of a parcel, or none. @returns why none is */
function accept(state: CoreState, source: number, parcel: Parcel, now: number, beyond: number): Refusal | undefined {
  if (state.draining) return DRAINING;
  const plan = new ParcelPlan(state, source, parcel.stamp, now, beyond, state.accounts.of(parcel.principal));
  for (const { queue: name, item } of parcel.followUps) {
    const queue = findOrMakeQueue(state, name, now);
    if (!(queue instanceof Queue)) return queue;
    // S91: what is over by the clock ends before anything is counted.
    catchUpItems(state, queue, [item], now);
    plan.queues.push(queue);
  }
  let lack = plan.check(parcel.followUps);
  if (lack?.kind === 'memory_full' && lack.subject === 'memory_bytes') {
    // What the plan found may be forgotten now: it is made again.
    giveWay(state, mostMemoryOf(parcel.followUps));
    lack = plan.check(parcel.followUps);
  }
  if (lack === undefined) plan.apply(parcel.followUps);
  return lack;
}

/** So many items of a parcel that is held up are known by name, of each partition: they are charged to nothing. */
const MOST_NAMED = 10;

function noteHeldUp(
  { outgoing }: CoreState,
  source: number,
  { followUps }: Parcel,
  refusal: Refusal,
  now: number,
): void {
  const items = followUps.slice(0, MOST_NAMED).map(({ queue, item: { key, itemId } }) => ({ queue, key, itemId }));
  outgoing.heldUp.set(source, { items, why: reasonOf(refusal), at: now });
}

class ParcelPlan {
  /** Of each follow-up, in their order. */
  readonly queues: Queue[] = [];
  /** Why a follow-up, by its place, can never be accepted. */
  readonly #wrong = new Map<number, string>();
  /** Together they cannot wait for what they name: each is looked at by itself. */
  #areApart = false;

  constructor(
    private readonly state: CoreState,
    private readonly source: number,
    private readonly stamp: number,
    private readonly now: number,
    private readonly beyond: number,
    /** Of the Ack: what its follow-ups are charged to. */
    private readonly account: Account | undefined,
  ) {}

  check(followUps: readonly FollowUp[]): Refusal | undefined {
    this.#wrong.clear();
    const { state, now } = this;
    const concerned = followUps.some(({ queue, item }) => isConcerned(state, queue, item));
    const after = concerned ? new DependencyCheck(state, now) : undefined;
    const plans = new Map<Queue, CapacityPlan>();
    const mustCountLanes = countsLanes(state, followUps.length);
    for (const [at, { item }] of followUps.entries()) {
      const queue = this.#queueAt(at);
      const plan = plans.get(queue) ?? new CapacityPlan(queue, now, after, mustCountLanes, undefined, true);
      plans.set(queue, plan);
      const refusal = plan.add(item, `follow_ups[${at}].item`);
      if (refusal !== undefined) this.#wrong.set(at, whyOf(refusal));
    }
    const found = after?.check() ?? 0;
    if (typeof found !== 'number' && found.kind === 'limit') return found;
    this.#areApart = typeof found !== 'number';
    const dependencies = typeof found === 'number' ? found : countAfter(followUps);
    return this.#lack(plans, dependencies) ?? this.#lackOfLetters(followUps);
  }

  /** As for the follow-ups of an Ack, but for a queue that has less room than one parcel needs: there it comes alone. */
  #lack(plans: ReadonlyMap<Queue, CapacityPlan>, dependencies: number): Refusal | undefined {
    let bytes = 0;
    let lanes = 0;
    let keyBytes = 0;
    for (const [queue, { need }] of plans) {
      bytes += need.bytes;
      lanes += need.lanes;
      keyBytes += need.keyBytes;
      const kept = roomKeptFrom(this.state, queue, this.source);
      const isAlone = need.entries > queue.policy.maxWaiting && queue.waiting + kept === 0;
      const entries = isAlone ? 0 : need.entries;
      const all = { ...need, entries, bytes, keyBytes, lanes, dependencies };
      const lack = lacks(this.state, queue, all, kept, this.beyond);
      if (lack === 'queue') this.#keepRoom(plans);
      if (lack !== undefined) return lackRefusal(this.state, queue, lack, 0);
    }
    return undefined;
  }

  #keepRoom(plans: ReadonlyMap<Queue, CapacityPlan>): void {
    const [first, ...others] = [...plans].filter(([, { need }]) => need.entries > 0);
    if (first === undefined || others.length > 0) return;
    const [queue, { need }] = first;
    // It comes when nothing waits.
    if (need.entries > queue.policy.maxWaiting) return;
    keepRoom(this.state, this.source, queue, need.entries, this.now);
  }

  #lackOfLetters(followUps: readonly FollowUp[]): Refusal | undefined {
    const letters = new Map<Queue, number>();
    for (const at of followUps.keys()) {
      if (!this.#areApart && !this.#wrong.has(at)) continue;
      const queue = this.#queueAt(at);
      letters.set(queue, (letters.get(queue) ?? 0) + 1);
    }
    for (const [queue, count] of letters) {
      if (!hasRoomForLetters(queue, count)) return lettersFull(queue.name, queue.policy.maxDeadLetters);
    }
    return undefined;
  }

  /** Precondition: {@link check} found nothing, in this very step. */
  apply(followUps: readonly FollowUp[]): void {
    const { state, source, now, account } = this;
    roomTaken(state, source, now);
    const batch = this.#areApart ? undefined : BatchWaits.of(followUps.map(({ item }) => item));
    for (const [at, { item }] of followUps.entries()) {
      const queue = this.#queueAt(at);
      const wrong = this.#wrong.get(at) ?? (this.#areApart ? this.#wrongAlone(queue, item, at) : undefined);
      if (wrong !== undefined)
        keepAsLetter(state, queue, item, wrong, followUpId(this.stamp, at), now, undefined, account);
      else if (this.#areApart) this.#submitAlone(queue, item);
      else submitItem(state, queue, item, now, batch, undefined, account);
    }
    batch?.complete(state, now);
  }

  #wrongAlone(queue: Queue, item: FollowUp['item'], at: number): string | undefined {
    const { state, now } = this;
    const after = new DependencyCheck(state, now);
    const plan = new CapacityPlan(queue, now, after, false, undefined, true);
    const refusal = plan.add(item, `follow_ups[${at}].item`);
    if (refusal !== undefined) return whyOf(refusal);
    const found = after.check();
    return typeof found === 'number' ? undefined : whyOf(found);
  }

  #submitAlone(queue: Queue, item: FollowUp['item']): void {
    const batch = BatchWaits.of([item]);
    submitItem(this.state, queue, item, this.now, batch, undefined, this.account);
    batch?.complete(this.state, this.now);
  }

  #queueAt(at: number): Queue {
    const queue = this.queues[at];
    if (queue === undefined) throw new TypeError(`follow-up ${at} without its queue`);
    return queue;
  }
}

function countAfter(followUps: readonly FollowUp[]): number {
  return followUps.reduce((sum, { item }) => sum + (item.after?.length ?? 0), 0);
}

function reasonOf(refusal: Refusal): string {
  return 'description' in refusal ? refusal.description : refusal.kind;
}

/** For `last_error` of a dead letter. */
function whyOf(refusal: Refusal): string {
  if (refusal.kind === 'no_such_queue')
    return `a follow-up that waits for an item of ${refusal.queue}, which is no queue`;
  const first = refusal.kind === 'bad_request' ? refusal.violations[0] : undefined;
  return `a follow-up that could not be accepted: ${first === undefined ? refusal.kind : `${first.field}: ${first.description}`}`;
}
