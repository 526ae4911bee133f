import type { Calls, Coordinator, Pending, Refusal, Reply, Waiting } from '../../coordinator.js';
import type { PartitionMap } from '../partitions/partition-map.js';
import type { Gates, HeldCall } from './gates.js';
import type { OpenCall } from './open-call.js';
import type { Router } from './router.js';
import type { Source, Target } from './target.js';

/** How long a call that does not wait is held for want of a home, ms. */
export const PATIENCE = 2_000;

/** Its home has it, and this sidecar ends before it has said what became of it. */
const UNKNOWN: Refusal = Object.freeze({
  kind: 'store_unavailable',
  description:
    'this sidecar ends and has not heard from the home of the partition: the call may have been carried out; repeat it with the same ids (ticket, item_id, token)',
  retryAfter: 1_000,
});

/**
 * A call about one partition: it goes to its home, and to the next one if that is not the home any more. One object, because
 * there is one for every call.
 */
export abstract class RoutedCall<A> implements Reply<A>, Pending, HeldCall, OpenCall {
  #target: Target | undefined;
  #pending: Waiting;
  /** Held, or at the home; `bounced`: it did not take it, and is still in the middle of saying so. */
  #at: 'begun' | 'asking' | 'asked' | 'bounced' | 'held' | 'over' = 'begun';
  /** When it began, as far as that matters: its wait counts from then. */
  #since: number | undefined;
  #isTracked = false;
  /** Why it was called off here. */
  #ending: Refusal | undefined;
  /** A home may have carried it out: it was asked again since. */
  #unknown: Refusal | undefined;
  #repeatUntil: number | undefined;
  /** Given up in the middle of being asked: its place there, too? */
  #leaves = false;
  /** By which it is about this partition. */
  readonly #map: PartitionMap;

  constructor(
    protected readonly router: Router,
    protected readonly source: Source,
    readonly partition: number,
    private readonly reply: Reply<A>,
  ) {
    this.#map = router.map;
  }

  /** The drain refuses it. What ends turns, or only looks, goes on. */
  protected abstract readonly isNewWork: boolean;

  /** Asked once more it is known again, and answered as it was. */
  protected get mayRepeat(): boolean {
    return false;
  }

  get holdsUpDrain(): boolean {
    return true;
  }

  /** @param elapsed ms for which the call has waited already */
  protected abstract send(calls: Calls, elapsed: number, to: Reply<A>, home?: Coordinator): Waiting;

  /** Where it goes depends on where a queue lives. */
  protected get isRouted(): boolean {
    return true;
  }

  /** Before it is asked again, after a home has sent it away, ms. */
  protected pause(): number {
    return 0;
  }

  /** Where it waits for a home. */
  protected get gates(): Gates {
    return this.router.gates;
  }

  /** How long it may be held from its beginning, ms. */
  protected patience(): number {
    return PATIENCE;
  }

  get isOver(): boolean {
    return this.#at === 'over';
  }

  get deadline(): number {
    return this.#repeatUntil ?? this.#begun() + this.patience();
  }

  /** Call it once. */
  begin(): Waiting {
    const { router, partition } = this;
    if (router.ended !== undefined && (this.isNewWork || router.isClosed) && !router.homes.isHere(partition)) {
      this.#at = 'over';
      this.reply.refuse(router.ended);
      return undefined;
    }
    if (this.gates.isShut(this.source, partition) || !this.ask()) this.#hold();
    if (this.isOver || (this.#pending === undefined && this.#at === 'asked')) return undefined;
    this.#begun();
    this.#track();
    return this;
  }

  ask(): boolean {
    // Nobody has taken it, and queues may be elsewhere by now.
    if (this.#map !== this.router.map && this.isRouted) return this.#beginAnew();
    const target = this.source.target(this.partition);
    if (target === undefined) return false;
    this.#target = target;
    this.#at = 'asking';
    target.open += 1;
    this.router.asks(this);
    const waiting = this.#send(target);
    // It may have been answered, sent back or given up by now.
    if (this.isOver) waiting?.cancel(this.#leaves);
    if (this.#at !== 'asking') return this.#at !== 'bounced';
    this.#at = 'asked';
    this.#pending = waiting;
    return true;
  }

  answer(value: A): boolean {
    if (!this.#finish()) return false;
    return this.reply.answer(value);
  }

  refuse(refusal: Refusal): void {
    if (refusal.kind === 'no_home') this.#bounce();
    else if (refusal.kind === 'store_unavailable' && this.mayRepeat && !this.router.isClosed) this.#repeat(refusal);
    else if (this.#finish()) this.reply.refuse((refusal.kind === 'cancelled' && this.#ending) || refusal);
  }

  giveUp(refusal: Refusal): void {
    // That nothing was changed is not known.
    if (this.#finish()) this.reply.refuse(this.#unknown ?? refusal);
  }

  cancel(leave = false): void {
    const pending = this.#pending;
    this.#leaves = leave;
    if (this.#finish()) pending?.cancel(leave);
  }

  callOff(leave = false): boolean {
    if (this.isOver) return false;
    const pending = this.#pending;
    if (this.#at !== 'held') {
      // Its answer only waits for the disk.
      if (pending === undefined) return false;
      if (pending.callOff === undefined) pending.cancel(leave);
      else if (!pending.callOff(leave)) return false;
    }
    this.#finish();
    return true;
  }

  end(refusal: Refusal, closing: boolean): void {
    if (!(closing || this.isNewWork)) return;
    // A home elsewhere says by itself whether it could be called off.
    this.#ending = refusal;
    if (this.callOff()) this.reply.refuse(this.#unknown ?? refusal);
    else if (closing && this.#finish()) this.reply.refuse(UNKNOWN);
  }

  /** It is at its home and waits there: not any more. What that means for its answer is the home's to say. */
  protected stopWaiting(): void {
    if (this.#at === 'asked') this.#pending?.callOff?.();
  }

  /** As a call of its own: about another partition, or about several. It is known by this one. */
  #beginAnew(): true {
    if (this.#isTracked) this.router.untrack(this);
    this.#isTracked = false;
    this.#at = 'asking';
    const elapsed = this.router.clock.now() - this.#begun();
    const waiting = this.send(this.source.calls, elapsed, {
      // What has to be noted of an answer, the other one has noted.
      answer: (value) => this.#finish() && this.reply.answer(value),
      // Of homes there is none for it as long as it might wait.
      refuse: (refusal) => this.giveUp(refusal),
    });
    if (this.isOver) waiting?.cancel(this.#leaves);
    else this.#at = 'asked';
    this.#pending = waiting;
    return true;
  }

  /** @throws what the home throws: then it is over, and whoever asked tells the caller */
  #send(target: Target): Waiting {
    const since = this.#since;
    try {
      const elapsed = since === undefined ? 0 : this.router.clock.now() - since;
      return this.send(target.calls, elapsed, this, target.home);
    } catch (error) {
      this.#leave();
      if (!this.isOver) this.#at = 'bounced';
      throw error;
    }
  }

  #begun(): number {
    this.#since ??= this.router.clock.now();
    return this.#since;
  }

  #track(): void {
    if (this.#isTracked) return;
    this.#isTracked = true;
    this.router.track(this);
  }

  #hold(): void {
    this.#at = 'held';
    this.#track();
    this.gates.hold(this.source, this.partition, this);
  }

  /** It has time anew, but once: the first home may have had it for long. */
  #repeat(refusal: Refusal): void {
    if (this.isOver) return;
    this.#repeatUntil ??= this.router.clock.now() + PATIENCE;
    this.#unknown = refusal;
    this.#bounce();
  }

  /** Nothing was changed there: it is asked again, at the home that is. */
  #bounce(): void {
    if (this.isOver) return;
    const isAsking = this.#at === 'asking';
    this.#leave();
    this.#at = 'bounced';
    if (isAsking) return;
    const pause = this.pause();
    if (pause === 0) return this.#hold();
    this.#at = 'held';
    this.#track();
    this.router.clock.after(pause, () => {
      if (this.#at === 'held') this.gates.hold(this.source, this.partition, this);
    });
  }

  #leave(): void {
    if (this.#target !== undefined) this.router.asked(this);
    this.#target?.done();
    this.#target = undefined;
    this.#pending = undefined;
  }

  /** @returns false: it was over before */
  #finish(): boolean {
    if (this.#at === 'over') return false;
    this.#leave();
    this.#at = 'over';
    if (this.#isTracked) this.router.untrack(this);
    return true;
  }
}
