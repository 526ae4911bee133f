import { submit } from './admission/submit.js';
import { ack } from './calls/ack.js';
import { acquire, enQueue } from './calls/acquire.js';
import { AdminCalls } from './calls/admin/admin-calls.js';
import { coordinatorStats, liveTurns, memoryItems, queueNumbers, standing } from './calls/admin/stats.js';
import { deQueue } from './calls/dequeue.js';
import { type CalledOff, callOff, cancel, refuseAwaits, startDraining } from './calls/drain.js';
import { nack } from './calls/nack.js';
import { renew } from './calls/renew.js';
import { closeStream, hello, helloNow, openStream } from './calls/sessions.js';
import { undeliverable } from './calls/undeliverable.js';
import type * as model from './contract/model.js';
import type { SessionListener } from './contract/notices.js';
import type { Row } from './contract/rows.js';
import type { CoordinatorSettings } from './contract/settings.js';
import type * as views from './contract/views.js';
import { finishStep } from './dispatch/step-end.js';
import { Changes } from './durability/changes.js';
import { type Batch, collect, collectAll } from './durability/collect.js';
import { type Past, Restoring, type Stranded } from './durability/restore.js';
import { reserved, written } from './durability/written.js';
import { awaitItem } from './items/await.js';
import type { Effect } from './state/effects.js';
import { markRoomElsewhere } from './state/marks.js';
import { Outbox } from './state/outbox.js';
import { findOrMakeQueue, findQueue, isRefusal, mayBeDurable } from './state/queues.js';
import type { Stream, WaitingCall } from './state/records.js';
import type { SharedUse } from './state/shared-use.js';
import { CoreState, type Start } from './state/state.js';
import { after, isOver } from './structures/due.js';
import { fire, HOUSEKEEPING } from './time.js';

export type { Walk } from './calls/admin/admin-calls.js';
export type { Batch } from './durability/collect.js';
export type { Stranded } from './durability/restore.js';
export type { Effect } from './state/effects.js';
export type { WaitingLeaderCall } from './state/leader-group.js';
export type { Stream, WaitingCall } from './state/records.js';
export { SharedUse } from './state/shared-use.js';
export type { Start } from './state/state.js';

/**
 * The core: all lanes, their lines, leases and waits, as a function of commands and time. Every method is one step: it
 * takes `now` (monotonic, ms, never smaller than before), changes the state, and leaves effects to be taken with
 * {@link Core.takeEffect} and carried out in order. It has no clock, timer, promise or I/O of its own.
 *
 * Most calls bring a `reply`. A call that is answered or refused leaves an effect for it. A call that has to wait
 * returns a {@link WaitingCall}, which {@link Core.cancel} takes; its answer follows as an effect (I7).
 *
 * With a journal some effects wait for the disk: {@link Core.takeHeld} gives those, in order, and whoever runs the core
 * carries them out after the batch that {@link Core.collect} made is flushed (S47).
 *
 * Life of a core: `restore` and `finishRestore` (with a journal), `stoodStill`, then steps; `drain` and `close` at the
 * end.
 */
export class Core extends AdminCalls {
  /** Set from the first row until everything is restored. */
  #restoring: Restoring | undefined;
  /** Unset: there is no journal. */
  readonly #changes: Changes | undefined;

  constructor(settings: CoordinatorSettings, start: Start) {
    const effects = new Outbox();
    const changes = start.durable === true ? new Changes(effects, start.now, start.partition !== undefined) : undefined;
    super(new CoreState(settings, start, effects, changes));
    this.#changes = changes;
    // People who look for a queue that the configuration names find it, used or not.
    for (const name of settings.queues.keys()) findOrMakeQueue(this.state, name, start.now);
    this.state.wheel.schedule(this.state.housekeeping, after(start.now, HOUSEKEEPING));
  }

  /** For tests that recount what is kept twice (`test/support/recount.ts`). Nothing else may look. */
  get inside(): CoreState {
    return this.state;
  }

  /** Nothing happens by itself before this moment. It may be too early, never too late. */
  get wakeAt(): number {
    return this.state.wheel.wakeAt;
  }

  /** How many turns live, over all queues; terms of leaders too, where nothing of them is kept. */
  get liveTurns(): number {
    return liveTurns(this.state) + (this.#changes === undefined ? this.state.leaders.terms : 0);
  }

  get memoryItems(): number {
    return memoryItems(this.state);
  }

  /** Whether {@link Core.takeEffect} has one. */
  get hasEffects(): boolean {
    return !this.state.effects.isEmpty;
  }

  /** The next effect of the steps so far that waits for nothing, in order; taken out. */
  takeEffect(): Effect | undefined {
    return this.state.effects.shift();
  }

  /** Whether {@link Core.takeHeld} has one. */
  get hasHeld(): boolean {
    return this.state.effects.hasHeld;
  }

  /** The next effect, in order, that has to wait until all that has changed so far is on disk; taken out. */
  takeHeld(): Effect | undefined {
    return this.state.effects.shiftHeld();
  }

  /** How many rows have changed since they were collected. */
  get changes(): number {
    return this.#changes?.size ?? 0;
  }

  /** Somebody waits for what has changed to be on disk. */
  get urgent(): boolean {
    return this.#changes?.urgent ?? false;
  }

  /** By when what has changed is to be written, though nobody waits for it; Infinity: nothing has. */
  get flushBy(): number {
    return this.#changes?.flushBy ?? Number.POSITIVE_INFINITY;
  }

  /** Too much waits to be written: who asked for `interval` or `count` waits for the disk, too. */
  set behind(behind: boolean) {
    if (this.#changes !== undefined) this.#changes.isBehind = behind;
  }

  /**
   * All that has changed since the last time, as it is now. Whoever takes it has to see to it that it is written,
   * before any newer one: what it holds is marked as changed no more. A write that failed is repeated with the same
   * batch.
   */
  collect(now: number): Batch {
    const changes = this.#changes;
    if (changes === undefined)
      return { changes: [], instant: now + this.state.epoch, items: [], floor: undefined, outgoing: [] };
    return collect(this.state, changes, now);
  }

  /** All rows as they are now, for a store that is written anew. Precondition: contents are kept in memory. */
  rows(now: number): { readonly rows: readonly Row[]; readonly instant: number } {
    const rows = this.#changes === undefined ? [] : collectAll(this.state, this.#changes);
    return { rows, instant: now + this.state.epoch };
  }

  /**
   * The batch is flushed: contents of items that are in it leave the memory, unless they are to stay there, and tokens that
   * it reserved may be given.
   */
  written(batch: Batch): void {
    const changes = this.#changes;
    if (changes !== undefined) written(this.state, changes, batch);
  }

  /** Takes rows in, in the order of `TABLES`: first of all. @param past of the run that wrote them, for every slice */
  restore(rows: readonly Row[], now: number, past: Past): void {
    this.#restoring ??= new Restoring(this.state, past, now);
    this.#restoring.add(rows, now);
  }

  /**
   * Queues whose rows must not be dropped, though the configuration does not let them be durable any more. To be asked
   * when all rows were given: if there are any, the start has to be refused.
   */
  get stranded(): readonly Stranded[] {
    return this.#restoring?.stranded ?? [];
  }

  /**
   * All rows were given: brings lanes into their states and arms timers, `budget` of them at most.
   * @returns whether more is left: to be called again before the first step
   */
  finishRestore(now: number, budget: number): boolean {
    if (this.#restoring?.finish(now, budget) === true) return true;
    this.#restoring = undefined;
    return false;
  }

  /** Memory of everything that is held, bytes; while it is restored of everything that was restored so far. */
  get memoryBytes(): number {
    return this.state.memoryBytes + (this.#restoring?.uncountedBytes ?? 0);
  }

  /** Whether calls about the queue of this name may have to wait for the disk. It need not exist. */
  isDurable(queue: string): boolean {
    return mayBeDurable(this.state, queue);
  }

  /**
   * For so long its time stood still, ms. What it writes down is by the clock that went on: a delay that begins now must not
   * look older at the next start. While it is restored: before the first batch is collected.
   */
  stoodStill(ms: number): void {
    this.state.epoch += ms;
  }

  /**
   * From now on its limits are those of all cores that have joined (S273). What was restored may exceed them.
   *
   * @param wake called from a step of another core: there may be room for Submits that wait here, {@link lookForRoom} is due
   */
  join(shared: SharedUse, wake: () => void): void {
    shared.join(this.state, this.state.settings.limits, wake);
  }

  /** It is dropped: others may use what it used. */
  leave(shared: SharedUse): void {
    shared.leave(this.state);
  }

  /** Submits that wait for room are looked at: other cores use less than before. */
  lookForRoom(now: number): void {
    this.begin(now);
    markRoomElsewhere(this.state);
    this.finish(undefined, now);
  }

  /** Tokens are above this clock from now on. @returns what is to be written down before, for {@link Core.reserved} */
  raiseTokens(wall: number): number {
    this.state.tokens.raise(wall);
    return this.state.tokens.reserved;
  }

  /** It is written down, in no batch, that all tokens up to the next time are smaller. */
  reserved(floor: number): void {
    if (this.#changes !== undefined) reserved(this.state, this.#changes, floor);
  }

  /** Adding this to `now` gives the wall clock; only for instants in answers. */
  setWallOffset(offset: number): void {
    this.state.wallOffset = offset;
  }

  /** Why the disk takes nothing now; unset: it does. Only for answers to people. */
  set diskTrouble(reason: string | undefined) {
    this.state.diskTrouble = reason;
  }

  set watching(watching: boolean) {
    this.state.watching = watching;
  }

  /**
   * Lets time pass: what is due happens, `budget` timers at most, in the order of their moments. Then the step is
   * finished. A late tick loses nothing: a call on a key first ends what is over for it (S1).
   * @returns whether something due may be left
   */
  tick(now: number, budget: number): boolean {
    const { changes, wheel, share } = this.state;
    share?.enter();
    const more = wheel.advance(now, budget, (timer) => {
      changes?.begin(now);
      fire(this.state, timer, now);
    });
    changes?.begin(now);
    finishStep(this.state, now);
    return more || isOver(wheel.wakeAt, now);
  }

  /** A call that names this queue was turned away before the core, because the disk takes nothing. */
  countUnavailable(queue: string): void {
    const known = this.state.queues.get(queue);
    if (known !== undefined) known.counters.rejected.store_unavailable += 1;
  }

  // Each call says on which stream it came, if it did: turns are given on it, and ends that it brings about are no news to it.

  /** @returns the caller, if the call waits in the line */
  enQueue(request: model.EnQueueRequest, reply: model.Reply<model.EnQueueAnswer>, now: number, on?: Stream) {
    this.begin(now);
    return this.finish(enQueue(this.state, request, reply, now, on), now);
  }

  deQueue(request: model.DeQueueRequest, reply: model.Reply<model.DeQueueAnswer>, now: number, on?: Stream): void {
    this.begin(now);
    deQueue(this.state, request, reply, now, on);
    this.finish(undefined, now);
  }

  /** @returns the waiter, if the call waits for room (S30) */
  submit(request: model.SubmitRequest, reply: model.Reply<model.SubmitAnswer>, now: number) {
    this.begin(now);
    return this.finish(submit(this.state, request, reply, now), now);
  }

  /** @returns the caller or the waiter, if the call waits for a turn */
  acquire(request: model.AcquireRequest, reply: model.Reply<model.AcquireAnswer>, now: number, stream?: Stream) {
    this.begin(now);
    return this.finish(acquire(this.state, request, { kind: 'acquire', reply, stream }, now), now);
  }

  /** The Ack itself never waits. @returns what waits for its `next`, if anything does */
  ack(request: model.AckRequest, reply: model.Reply<model.AckAnswer>, now: number, on?: Stream) {
    this.begin(now);
    return this.finish(ack(this.state, request, reply, now, on), now);
  }

  nack(request: model.NackRequest, reply: model.Reply<model.NackAnswer>, now: number, on?: Stream): void {
    this.begin(now);
    nack(this.state, request, reply, now, on);
    this.finish(undefined, now);
  }

  renew(request: model.RenewRequest, reply: model.Reply<model.RenewAnswer>, now: number, on?: Stream): void {
    this.begin(now);
    renew(this.state, request, reply, now, on);
    this.finish(undefined, now);
  }

  /** It starts nothing, so there is no step to finish. @returns the waiter, if the call waits */
  awaitItem(request: model.AwaitRequest, reply: model.Reply<model.AwaitAnswer>, now: number) {
    this.begin(now);
    const queue = findQueue(this.state, request.queue);
    if (!isRefusal(queue)) return awaitItem(this.state, queue, request, reply, now);
    this.state.effects.push({ kind: 'refuse', to: reply, refusal: queue }, false);
    return undefined;
  }

  openStream(listener: SessionListener): model.Result<Stream> {
    return openStream(this.state, listener);
  }

  hello(stream: Stream, request: model.HelloRequest, reply: model.Reply<model.HelloAnswer>, now: number): void {
    this.begin(now);
    hello(this.state, stream, request, reply, now);
    this.finish(undefined, now);
  }

  /** What a hello is answered that could not be answered when it was said. */
  helloNow(before: model.HelloAnswer, now: number): model.HelloAnswer {
    this.begin(now);
    return this.finish(helloNow(this.state, before, now), now);
  }

  /**
   * The stream broke. Its tied turns live on for the `ttl` of the session (S37). Waiting calls are not cancelled here.
   */
  closeStream(stream: Stream, now: number): void {
    this.begin(now);
    closeStream(this.state, stream, now);
    this.finish(undefined, now);
  }

  /** The one who asked (`reply`) is gone: no answer follows. With a ticket its place is kept, unless `leave`. */
  cancel(call: WaitingCall, reply: model.Reply<never>, leave: boolean, now: number): void {
    this.begin(now);
    cancel(this.state, call, reply, leave, now);
    this.finish(undefined, now);
  }

  /** The same, unless it is decided by now what the call comes to. */
  callOff(call: WaitingCall, reply: model.Reply<never>, leave: boolean, now: number): CalledOff {
    this.begin(now);
    return this.finish(callOff(this.state, call, reply, leave, now), now);
  }

  /** It is known that nobody learnt of these turns: they end, or are held for their ticket (S13). */
  undeliverable(turns: readonly model.TurnRef[], now: number, unwanted = false): void {
    this.begin(now);
    undeliverable(this.state, turns, unwanted, now);
    this.finish(undefined, now);
  }

  /** From now on only what ends turns is let in; who waits is refused. */
  drain(now: number): void {
    this.begin(now);
    startDraining(this.state, now);
    this.finish(undefined, now);
  }

  /** Calls that wait for an item are refused too, from now on at once: time passes no more. */
  close(): void {
    this.state.closed = true;
    refuseAwaits(this.state);
  }

  /** As {@link Core.stats} tells of all queues, one at a time: there may be very many. @param clock the same one each time */
  queueNumbers(clock: () => number): Generator<views.QueueNumbers, undefined> {
    return queueNumbers(this.state, clock);
  }

  /** All but the queues. */
  standing(): views.CoordinatorStanding {
    return standing(this.state);
  }

  stats(now: number): views.CoordinatorStats {
    return coordinatorStats(this.state, now);
  }

  /** Whether there is, or may be, a queue of this name. */
  mayUse(queue: string): model.Refusal | undefined {
    const found = findQueue(this.state, queue);
    return isRefusal(found) ? found : undefined;
  }
}
