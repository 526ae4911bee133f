import type {
  AckRequest,
  CoordinatorSettings,
  DeliverAnswer,
  DeliverRequest,
  FarEnd,
  FollowUp,
  ItemRef,
  Parcel,
  Refusal,
  Reply,
  SubmitRequest,
} from '../coordinator.js';
import type { Policy } from '../core/contract/policy.js';
import type { Row } from '../core/contract/rows.js';
import type { QueueRemains } from '../core/contract/views.js';
import type { Effect } from '../core/core.js';
import { type Clock, withinTime } from './clock.js';
import { LocalCoordinator, type LocalOptions } from './coordinator.js';
import { storeUnavailable } from './durable/availability.js';
import type { Held } from './durable/held.js';

/** Its write may have happened: whoever is the home now knows. */
const UNKNOWN = storeUnavailable(
  'this sidecar is not the home of the partition any more, and it is not known what became of the call',
);

/** What became of a queue that was to leave. */
type Vacated = { readonly remains: QueueRemains } | { readonly left: Promise<number | undefined> };

/** All that a home cannot do without. */
export type HomeOptions = LocalOptions & Required<Pick<LocalOptions, 'clock' | 'journal' | 'partition' | 'gate'>>;

/**
 * The coordinator of one partition of a cluster: it can be silenced and let speak again, emptied into the store, and given up.
 */
export class HomeCoordinator extends LocalCoordinator {
  readonly #clock: Clock;
  /** Those that the settings name: queues come and go. */
  readonly #queues: Map<string, Policy>;
  #isHere: ((followUp: FollowUp) => boolean) | undefined;
  #isAbandoned = false;

  constructor(settings: CoordinatorSettings, options: HomeOptions) {
    const queues = new Map(settings.queues);
    super({ ...settings, queues }, options);
    this.#clock = options.clock;
    this.#queues = queues;
  }

  /** Every call is refused before it changes anything, and nothing happens by itself. What leaves, the gate decides. */
  shut(refusal: Refusal): void {
    if (this.availability !== undefined) this.availability.shut = refusal;
    this.loop.pause();
  }

  /**
   * The store may have lost another home meanwhile, with all that it wrote, and workers know its tokens: those that are given
   * from now on are larger.
   * @returns what has to be written down before it goes on: all tokens up to the next time are smaller
   */
  raiseTokens(): number {
    return this.loop.core.raiseTokens(this.#clock.wall());
  }

  /**
   * Goes on; what was held leaves. The gate is open.
   * @param stoodStill for how long the gate let no time pass, ms
   * @param reserved what {@link raiseTokens} said, if that is written down
   */
  reopen(stoodStill: number, reserved?: number): void {
    if (reserved !== undefined) this.loop.core.reserved(reserved);
    if (this.availability !== undefined) this.availability.shut = undefined;
    this.loop.store?.retryNow();
    this.loop.resume(stoodStill);
  }

  /**
   * Writes all that has changed, and lets the answers leave that waited for it. Precondition: it is shut.
   * @returns whether nothing is left; false: not within so many ms
   */
  async empty(timeout: number): Promise<boolean> {
    const { store } = this.loop;
    if (store === undefined) return true;
    let isEmpty = false;
    const writing = store.writeAll().then((isWritten) => {
      isEmpty = isWritten && store.isIdle;
    });
    await withinTime(this.#clock, timeout, writing);
    return isEmpty;
  }

  /**
   * A queue leaves, if nothing of it is here: calls about it are refused with `refusal` from now on, before they change anything.
   * May be called again.
   * @returns `remains`: what is here, so it stays. `left`: resolves when that it has left is written, with the last token that
   *   was given; unset: it is not known whether it is
   */
  vacate(queue: string, acceptLoss: boolean, refusal: Refusal): Vacated {
    const { loop } = this;
    const { core } = loop;
    const remains = core.vacate(queue, acceptLoss, refusal, loop.now());
    loop.afterStep();
    if (remains !== undefined) return { remains };
    const { lastToken } = core;
    const written = loop.store?.whenWritten(queue) ?? Promise.resolve(undefined);
    return { left: written.then((trouble) => (trouble === undefined ? lastToken : undefined)) };
  }

  /** It belongs elsewhere, or will: calls about it are refused. */
  putAway(queue: string, refusal: Refusal): void {
    this.loop.core.putAway(queue, refusal);
    this.#queues.delete(queue);
  }

  /** A queue is elsewhere by now: what was only remembered of it here goes. */
  forget(queue: string): void {
    const { loop } = this;
    if (!loop.core.has(queue)) return;
    loop.core.forget(queue, loop.now());
    loop.afterStep();
  }

  /**
   * A queue is routed here.
   * @param policy unset: as every queue that the settings do not name
   * @param above where it was, no larger token was given
   */
  receive(queue: string, policy: Policy | undefined, above: number): void {
    const { loop } = this;
    if (policy === undefined) this.#queues.delete(queue);
    else this.#queues.set(queue, policy);
    loop.core.receive(queue, above, loop.now());
    loop.afterStep();
  }

  /**
   * @param places which follow-ups of an Ack go to which other partition, or why they cannot
   * @param isHere whether one from another partition belongs to this one
   * @param onParcels there are some for this partition that can be sent
   */
  sendBy(
    places: (request: AckRequest) => AckRequest | Refusal,
    isHere: (followUp: FollowUp) => boolean,
    onParcels: (target: number) => void,
  ): void {
    this.loop.placesFollowUps = places;
    this.#isHere = isHere;
    this.loop.onParcels = onParcels;
  }

  /**
   * @param places which items of a Submit wait for items of other groups, or why they cannot
   * @param onFar items here began to wait for such
   */
  askBy(places: (request: SubmitRequest) => SubmitRequest | Refusal, onFar: () => void): void {
    this.loop.placesAfter = places;
    this.loop.onFar = onFar;
  }

  /** What items here wait for in other groups. The same object as long as it is waited for, one for each item that waits. */
  get far(): ReadonlySet<ItemRef> {
    return this.loop.core.far;
  }

  /** The home of one of {@link far} said how it ended. May be told again, and late. */
  farEnded(ref: ItemRef, end: FarEnd): void {
    const { loop } = this;
    loop.core.farEnded(ref, end, loop.now());
    loop.afterStep();
  }

  deliver(request: DeliverRequest, reply: Reply<DeliverAnswer>): void {
    const { availability, loop } = this;
    const refusal = availability?.closed ?? availability?.durableClosed;
    if (refusal !== undefined) return reply.refuse(refusal);
    loop.core.deliver(request, reply, loop.now(), this.#isHere);
    loop.afterStep();
  }

  /** Partitions for which follow-ups of Acks are kept, and how many parcels that are. */
  get outgoing(): { readonly targets: readonly number[]; readonly size: number } {
    return this.loop.core.outgoing;
  }

  /** The next ones for this partition that can be sent. */
  parcelsFor(target: number): readonly Parcel[] {
    return this.loop.core.parcelsFor(target);
  }

  /** The partition has all parcels up to this stamp. */
  delivered(target: number, upTo: number): void {
    const { loop } = this;
    loop.core.delivered(target, upTo, loop.now());
    loop.afterStep();
  }

  /** The next parcel for this partition has a queue that is not there. @returns false: by these routes it is */
  sendElsewhere(target: number, targetOf: (followUp: FollowUp) => number): boolean {
    const { loop } = this;
    const isSent = loop.core.sendElsewhere(target, targetOf, loop.now());
    loop.afterStep();
    return isSent;
  }

  /** The partition has no such queue, which the parcel of this stamp names. @returns false: all is as it was */
  notTaken(target: number, stamp: number, queue: string): boolean {
    const { loop } = this;
    const isLetter = loop.core.notTaken(target, stamp, queue, loop.now());
    loop.afterStep();
    return isLetter;
  }

  /** All rows as they are now, whether they are written or not, and the instant of that. */
  snapshot(): { readonly rows: readonly Row[]; readonly instant: number } {
    return this.loop.core.rows(this.loop.now());
  }

  /**
   * Somebody else is, or will be, the home: nothing is written any more, and nothing that was decided is told. Who waits for a
   * decision is refused with `waiting`, and asks there; who was decided about does not learn what.
   */
  abandon(waiting: Refusal): void {
    if (this.#isAbandoned) return;
    this.#isAbandoned = true;
    const { loop } = this;
    const { core, store } = loop;
    this.shut(waiting);
    const decided: Held[] = [...(store?.abandon() ?? [])];
    for (let next = core.takeEffect(); next !== undefined; next = core.takeEffect()) decided.push(next);
    core.drain(loop.now());
    core.close();
    for (const effect of decided) this.#refuse(effect, UNKNOWN);
    // Of those whom the end met, who waited has changed nothing.
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#refuse(next, next.kind === 'refuse' ? waiting : UNKNOWN);
    }
    loop.watches.end();
    loop.end();
  }

  /** What was given up is not written, and its journal is not this one's to close. */
  override close(): Promise<void> {
    return this.#isAbandoned ? Promise.resolve() : super.close();
  }

  #next(): Effect | undefined {
    const { core } = this.loop;
    return core.takeEffect() ?? core.takeHeld();
  }

  #refuse(effect: Held, refusal: Refusal): void {
    if (effect.kind === 'flush_waiter') return effect.flushed(refusal);
    if (!('to' in effect) || effect.kind === 'notice' || effect.kind === 'replaced') return;
    if (this.loop.store?.isGone(effect) !== true) effect.to.refuse(refusal);
  }
}
