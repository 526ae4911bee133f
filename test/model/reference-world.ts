/**
 * The dumb reference: time, gates, turns. After every command and every moment at which something was due it looks at
 * everything again and starts what may start. It knows the contract and docs/SPEC.md, and nothing of the core.
 */
import type {
  Bytes,
  CoordinatorSettings,
  DeliveredItem,
  Delivery,
  ItemRef,
  LossCause,
  Refusal,
} from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { type End, isSame } from './reference-dependencies.js';
import { noteError } from './reference-room.js';
import { leaves, notifyLost, takes, warn } from './reference-sessions.js';
import {
  type CallerEntry,
  delayedUntil,
  type Entry,
  type ItemRecord,
  isCounted,
  isHeldBack,
  isPresent,
  type Lane,
  type LiveTurn,
  type ModelQueue,
  type ModelSession,
  type ModelStream,
  nameOf,
  type SettlingCall,
  stateOf,
  type Timer,
  turnView,
  type WaitingAcquire,
  type WaitingAwait,
  type WaitingSubmit,
} from './reference-state.js';

const REMEMBERED_SETTLEMENTS = 8;
const NOBODY_KNOWS = 1_000;

export interface HowItEnded {
  readonly cause: LossCause;
  readonly call?: SettlingCall;
  readonly manner?: string;
  readonly answer?: unknown;
  /** The stream whose call it was. */
  readonly by?: ModelStream | undefined;
}

export class World {
  readonly queues: ModelQueue[] = [];
  acquires: WaitingAcquire[] = [];
  awaits: WaitingAwait[] = [];
  submits: WaitingSubmit[] = [];
  sessions: ModelSession[] = [];
  serial = 0;
  #timers: Timer[] = [];
  /** What has ended, of which those that wait for it were not told yet. */
  #news: { readonly ref: ItemRef; readonly end: End }[] = [];
  readonly #undelivered: (() => void)[] = [];
  #now: number;
  readonly #holdEnds: number;
  #lastToken: number;
  #readiness = 0;
  #wake: (() => void) | undefined;

  constructor(
    readonly settings: CoordinatorSettings,
    readonly clock: Clock,
  ) {
    this.#now = clock.now();
    this.#holdEnds = this.#now + settings.startupHold;
    this.#lastToken = (clock.wall() - Date.UTC(2025, 0, 1)) * 4_096;
    for (const name of settings.queues.keys()) this.queue(name);
  }

  get now(): number {
    return this.#now;
  }

  /** A moment by the wall clock, as answers show it. */
  wall = (at: number): number => this.clock.wall() - this.clock.now() + at;

  queue(name: string): ModelQueue {
    const known = this.queues.find((queue) => queue.name === name);
    if (known !== undefined) return known;
    const policy = this.settings.queues.get(name) ?? this.settings.defaultPolicy;
    const queue: ModelQueue = {
      name,
      policy,
      maxInFlight: policy.maxInFlight,
      rate: policy.rate,
      paused: false,
      lanes: [],
      items: [],
      dead: [],
      done: [],
      bucketFullAt: 0,
      gave: 0,
      gateTimer: undefined,
    };
    this.queues.push(queue);
    return queue;
  }

  /** The lane of a key; every keyless item has its own. */
  lane(queue: ModelQueue, key: string): Lane {
    const known = key === '' ? undefined : queue.lanes.find((lane) => lane.key === key);
    return known ?? this.newLane(queue, key);
  }

  newLane(queue: ModelQueue, key: string): Lane {
    const lane: Lane = {
      queue,
      key,
      turn: undefined,
      line: [],
      lastStart: Number.NEGATIVE_INFINITY,
      parked: undefined,
      readyAt: undefined,
      readyFor: undefined,
      wake: undefined,
      settlements: [],
    };
    queue.lanes.push(lane);
    return lane;
  }

  laneOfToken(queue: ModelQueue, key: string, token: number): Lane | undefined {
    const knows = (lane: Lane) => lane.turn?.token === token || lane.settlements.some((one) => one.token === token);
    return queue.lanes.find((lane) => lane.key === key && (key !== '' || knows(lane)));
  }

  waiting(queue: ModelQueue): number {
    return queue.lanes.reduce((sum, lane) => sum + lane.line.length, 0);
  }

  // ---- time

  /** Every command comes in through here: first what is over, then the command, then whatever may start. */
  step<T>(command: () => T): T {
    this.#catchUp();
    const value = command();
    this.#comeToRest();
    this.#arm();
    return value;
  }

  /** Due times are whole milliseconds, rounded up (S1). */
  timer(moment: number, run: () => void): Timer {
    const timer = { at: Math.ceil(moment), run };
    this.#timers.push(timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    this.#timers = this.#timers.filter((one) => one !== timer);
  }

  #nextTimer(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.at < next.at) next = timer;
    return next;
  }

  #catchUp(): void {
    for (let next = this.#nextTimer(); next !== undefined && next.at <= this.clock.now(); next = this.#nextTimer()) {
      this.#now = Math.max(this.#now, next.at);
      this.cancel(next);
      next.run();
      // What is due at one moment is one step.
      if (this.#nextTimer()?.at !== next.at) this.#comeToRest();
    }
    this.#now = this.clock.now();
  }

  /** An answer that could not be delivered is known only after the command that made it. */
  #comeToRest(): void {
    this.finishStep();
    for (let next = this.#undelivered.shift(); next !== undefined; next = this.#undelivered.shift()) {
      next();
      this.finishStep();
    }
  }

  #arm(): void {
    this.#wake?.();
    const next = this.#nextTimer();
    this.#wake = next && this.clock.after(next.at - this.#now, () => this.step(() => undefined));
  }

  // ---- readiness and gates

  /** To be called after every change of a lane: keeps the order of readiness and the end of its delay. */
  changed(lane: Lane): void {
    // A keyless item that is gone leaves nothing behind that could be stopped.
    if (lane.key === '' && lane.turn === undefined && lane.line.length === 0) lane.parked = undefined;
    this.#letDie(lane);
    const state = stateOf(lane, this.#now);
    const head = lane.line[0];
    if (state === 'READY' && head?.kind === 'caller' && (this.#isOver(lane, head) || this.#alreadyDone(lane, head)))
      return;
    const readyFor = state === 'READY' ? head?.kind : undefined;
    // Ready for a gate is not ready for a worker: it lines up anew.
    if (lane.readyFor !== readyFor) lane.readyAt = readyFor && ++this.#readiness;
    lane.readyFor = readyFor;
    const delayed = state === 'DELAY' && delayedUntil(lane) < Number.POSITIVE_INFINITY;
    const wakeAt = delayed ? delayedUntil(lane) : undefined;
    if (lane.wake?.at === wakeAt) return;
    this.cancel(lane.wake);
    lane.wake = wakeAt === undefined ? undefined : this.timer(wakeAt, () => this.#awake(lane));
  }

  /** Its ticket ends in this moment: it has no time to be given anything. */
  #isOver(lane: Lane, head: CallerEntry): boolean {
    if (head.call !== undefined || head.end > this.#now) return false;
    this.remove(lane, head);
    return true;
  }

  #awake(lane: Lane): void {
    lane.wake = undefined;
    this.changed(lane);
    this.promote(lane);
  }

  /** When `rate` allows the next turn. */
  #rateOpens(queue: ModelQueue): number {
    const { rate } = queue;
    return rate === undefined ? 0 : queue.bucketFullAt - ((rate.burst - 1) * 1_000) / rate.perSecond;
  }

  #liveTurns(queue: ModelQueue): number {
    return queue.lanes.filter((lane) => lane.turn !== undefined).length;
  }

  gateOpen(queue: ModelQueue): boolean {
    return this.#gateOpens(queue) <= this.#now;
  }

  /** Infinity: nobody knows when. The first gate that is closed is the one that is told of. */
  #gateOpens(queue: ModelQueue): number {
    if (queue.paused) return Number.POSITIVE_INFINITY;
    if (this.#now < this.#holdEnds) return this.#holdEnds;
    const full = this.#liveTurns(queue) >= (queue.maxInFlight ?? Number.POSITIVE_INFINITY);
    return full ? Number.POSITIVE_INFINITY : this.#rateOpens(queue);
  }

  /** Whether the next turn of this key could start if its live one were not. */
  couldStartInstead(lane: Lane): boolean {
    const { turn } = lane;
    lane.turn = undefined;
    const could = delayedUntil(lane) <= this.#now && this.gateOpen(lane.queue);
    lane.turn = turn;
    return could;
  }

  /** The freed place is the next one's own: it does not line up at the gate for it. */
  takeOver(lane: Lane): void {
    this.endTurn(lane, { cause: 'taken_over' });
    this.changed(lane);
    while (lane.turn === undefined && lane.readyAt !== undefined && lane.line[0]?.kind === 'caller') this.#start(lane);
    this.settle();
  }

  retryAfter(lane: Lane): number {
    const delay = delayedUntil(lane) - this.#now;
    const gate = this.#gateOpens(lane.queue) - this.#now;
    const left = lane.parked !== undefined ? 0 : delay > 0 ? delay : gate;
    return left > 0 && left < Number.POSITIVE_INFINITY ? left : NOBODY_KNOWS;
  }

  #watchGate(queue: ModelQueue): void {
    const opens = Math.max(this.#holdEnds, this.#rateOpens(queue));
    const at = opens > this.#now ? Math.ceil(opens) : undefined;
    if (queue.gateTimer?.at === at) return;
    this.cancel(queue.gateTimer);
    queue.gateTimer = at === undefined ? undefined : this.timer(at, () => this.#gateOpened(queue));
  }

  #gateOpened(queue: ModelQueue): void {
    queue.gateTimer = undefined;
  }

  // ---- whatever may start, starts

  /** The end of a step: those are told who waited for what ended, and whatever may start by that starts, and so on. */
  finishStep(): void {
    do {
      this.#tellNews();
      this.#startAll();
    } while (this.#serveSubmits() || this.#news.length > 0);
    for (const queue of this.queues) this.#watchGate(queue);
  }

  /** Until nothing moves any more; in the middle of a step nobody is told what ended. */
  settle(): void {
    do this.#startAll();
    while (this.#news.length === 0 && this.#serveSubmits());
    for (const queue of this.queues) this.#watchGate(queue);
  }

  /** As {@link settle}, but room is given to nobody yet. */
  startReady(): void {
    this.#startAll();
  }

  #startAll(): void {
    for (;;) {
      const lane = this.#firstThatMayStart();
      if (lane === undefined) return;
      this.#start(lane);
    }
  }

  // ---- what waits for others

  ended(queue: string, itemId: string, end: End): void {
    this.#news.push({ ref: { queue, itemId }, end });
  }

  /** In the order in which things ended, and of each in the order of submission. */
  #tellNews(): void {
    for (let news = this.#news.shift(); news !== undefined; news = this.#news.shift()) {
      const { ref, end } = news;
      const told = this.queues
        .flatMap((queue) => queue.lanes.flatMap((lane) => lane.line))
        .filter((entry) => entry.kind === 'item')
        .filter(({ after }) => after.some((one) => isSame(one, ref)))
        .sort((one, other) => one.serial - other.serial);
      for (const item of told) {
        item.after = item.after.filter((one) => !isSame(one, ref));
        if (this.isFatal(item, end)) this.doom(item, ref, end);
        else this.lookAt(item);
      }
    }
  }

  isFatal(item: ItemRecord, end: End): boolean {
    return end !== 'done' && item.queue.policy.onDependencyDead === 'dead';
  }

  lookAt(item: ItemRecord): void {
    const lane = this.#laneOf(item);
    if (lane !== undefined) this.changed(lane);
  }

  /** S62. */
  doom(item: ItemRecord, { queue, itemId }: ItemRef, end: End): void {
    const lane = this.#laneOf(item);
    if (lane === undefined) throw new Error('it waits');
    item.after = [];
    item.doomed = true;
    const ended = end === 'dead' ? 'became a dead letter' : `was ${end}`;
    noteError(this, item, `item ${itemId} of queue ${queue}, which had to be done before it, ${ended}`);
    const { policy, dead } = item.queue;
    const stops = policy.onDeadLetter === 'park' && lane.key !== '';
    if (stops || dead.length >= policy.maxDeadLetters) return this.changed(lane);
    this.#die(lane, [item], () => 'dependency');
    item.doomed = false;
    this.remove(lane, item);
  }

  /** The head has to die and nobody holds the key: if there is room for it, else the key stops. */
  #letDie(lane: Lane): void {
    for (;;) {
      const head = lane.line[0];
      if (lane.turn !== undefined || lane.parked !== undefined || head?.kind !== 'item' || !head.doomed) return;
      if (this.#die(lane, [head], () => 'dependency') === 0) continue;
      head.doomed = false;
      lane.line.shift();
    }
  }

  #laneOf(item: ItemRecord): Lane | undefined {
    return item.queue.lanes.find((lane) => lane.line.includes(item));
  }

  /** The head of this line, if it is a caller who stands behind nobody at the gate. */
  promote(lane: Lane): void {
    while (lane.line[0]?.kind === 'caller' && this.#firstThatMayStart() === lane) this.#start(lane);
  }

  #firstThatMayStart(): Lane | undefined {
    const ready = this.queues.flatMap((queue) => queue.lanes).filter((lane) => lane.readyAt !== undefined);
    ready.sort((one, other) => orderOf(one) - orderOf(other));
    return ready.find(
      (lane) => this.gateOpen(lane.queue) && (lane.line[0]?.kind === 'caller' || this.#acquireFor(lane) !== undefined),
    );
  }

  #acquireFor({ queue }: Lane): WaitingAcquire | undefined {
    return this.acquires.find(({ request }) => request.queues.includes(queue.name));
  }

  #start(lane: Lane): void {
    const head = lane.line[0];
    if (head === undefined) throw new Error('a ready lane has a head');
    if (this.#alreadyDone(lane, head)) return;
    if (head.kind === 'caller') this.#startCaller(lane, head);
    else this.#startItems(lane);
  }

  /** S17, the second check: true when the head was finished without a turn. */
  #alreadyDone(lane: Lane, head: Entry): boolean {
    const key = head.kind === 'item' ? head.content.idempotencyKey : head.idempotencyKey;
    const done = key === undefined ? undefined : this.done(lane, key);
    if (done === undefined) return false;
    lane.line.shift();
    if (head.kind === 'item') this.finish(lane.queue, head, 'done', done.result);
    else {
      this.cancel(head.timer);
      head.call?.decline('already_done', undefined, undefined, done.result);
    }
    this.changed(lane);
    return true;
  }

  #newTurn(
    lane: Lane,
    part: Pick<LiveTurn, 'items' | 'attempt' | 'caller' | 'dispatchTicket' | 'consumerId' | 'lease'>,
  ): LiveTurn {
    const turn: LiveTurn = {
      ...part,
      token: ++this.#lastToken,
      startedAt: this.#now,
      until: 0,
      holdUntil: Number.POSITIVE_INFINITY,
      heldForTicket: undefined,
      answers: 0,
      session: undefined,
      stream: undefined,
      tiedAt: undefined,
      leaseNotice: undefined,
      holdNotice: undefined,
      toldOfHold: false,
      toldAt: undefined,
      renewals: 0,
      timer: undefined,
    };
    const { rate } = lane.queue;
    if (rate !== undefined) {
      lane.queue.bucketFullAt = Math.max(this.#now, lane.queue.bucketFullAt) + 1_000 / rate.perSecond;
    }
    lane.turn = turn;
    lane.lastStart = this.#now;
    return turn;
  }

  /** Its life begins: lease and `max_hold` run from here. The lease is that which its call said. */
  handOver(lane: Lane, turn: LiveTurn, stream: ModelStream | undefined, lease: number | undefined): void {
    takes(this, turn, stream, lease);
    turn.heldForTicket = undefined;
    turn.startedAt = this.#now;
    turn.holdUntil = Math.ceil(this.#now + (lane.queue.policy.maxHold ?? Number.POSITIVE_INFINITY));
    this.extend(lane, turn, turn.lease);
  }

  extend(lane: Lane, turn: LiveTurn, lease: number): void {
    const end = turn.session === undefined ? this.#now + lease : sessionEnd(turn.session);
    this.liveUntil(lane, turn, Math.min(end, turn.holdUntil));
    warn(this, lane, turn, lease);
  }

  /** S12, S13: kept for the ticket of one who is not there. */
  hold(lane: Lane, turn: LiveTurn, until = this.#now + lane.queue.policy.ticketTtl): void {
    leaves(this, turn);
    turn.answers = 0;
    turn.heldForTicket = turn.caller?.ticket ?? turn.dispatchTicket;
    this.liveUntil(lane, turn, until);
  }

  liveUntil(lane: Lane, turn: LiveTurn, moment: number): void {
    const until = Math.ceil(moment);
    this.cancel(turn.timer);
    turn.until = until;
    turn.timer = until === Number.POSITIVE_INFINITY ? undefined : this.timer(until, () => this.#expire(lane, turn));
  }

  #startCaller(lane: Lane, entry: CallerEntry): void {
    lane.line.shift();
    this.cancel(entry.timer);
    const turn = this.#newTurn(lane, {
      items: [],
      attempt: 0,
      caller: entry,
      dispatchTicket: undefined,
      consumerId: entry.consumerId,
      lease: entry.lease ?? lane.queue.policy.lease,
    });
    if (entry.call === undefined) this.hold(lane, turn, entry.end);
    else this.#giveToCaller(lane, turn, entry);
    this.changed(lane);
  }

  #giveToCaller(lane: Lane, turn: LiveTurn, entry: CallerEntry): void {
    this.handOver(lane, turn, entry.call?.stream, entry.lease);
    this.told([{ lane, turn }], entry.call?.accept(turnView(lane, turn, this)) !== false);
  }

  /** The turns of one answer, and whether it arrived. */
  told(turns: readonly { readonly lane: Lane; readonly turn: LiveTurn }[], arrived: boolean): void {
    for (const { turn } of turns) turn.answers += 1;
    if (arrived) return;
    this.#undelivered.push(() => {
      for (const { lane, turn } of turns) this.lost(lane, turn);
    });
  }

  /** S13. The turn may have ended meanwhile. If no other answer told of it nobody knows of it, so nobody is told. */
  lost(lane: Lane, turn: LiveTurn): void {
    if (lane.turn !== turn) return;
    if (turn.heldForTicket === undefined) turn.answers -= 1;
    if (turn.answers > 0) return;
    leaves(this, turn);
    if ((turn.caller?.ticket ?? turn.dispatchTicket) !== undefined) this.hold(lane, turn);
    else this.#giveBackUnseen(lane, givenBack(turn));
  }

  #giveBackUnseen(lane: Lane, how: HowItEnded, discard = false): number {
    const { items } = this.endTurn(lane, how);
    const back = items.filter((item) => this.#revive(lane, item));
    return discard ? this.#drop(lane, back) : this.#giveBack(lane, back);
  }

  /** S588: what would go back. */
  #drop(lane: Lane, items: readonly ItemRecord[]): number {
    for (const item of items) {
      item.attempts -= 1;
      this.finish(lane.queue, item, 'discarded', undefined);
    }
    this.changed(lane);
    return items.length;
  }

  /** S22: what is held for a ticket was handed to nobody. */
  takeAway(lane: Lane, how: HowItEnded, discard = false): number {
    if (lane.turn?.heldForTicket !== undefined) return this.#giveBackUnseen(lane, how, discard);
    return discard ? this.#drop(lane, this.#unfinished(this.endTurn(lane, how))) : this.release(lane, how);
  }

  /** at_most_once: it was done because it was handed out, and it was not. Once that is forgotten, it stays done. */
  #revive(lane: Lane, item: ItemRecord): boolean {
    if (item.forgetAt === undefined) return true;
    if (item.forgetAt <= this.#now) return false;
    const { done } = lane.queue;
    lane.queue.done = done.filter((one) => one.key !== lane.key || one.idempotencyKey !== item.content.idempotencyKey);
    item.forgetAt = undefined;
    return true;
  }

  /** The call that waits longest there takes what it may get of all of its queues, and is answered. */
  #startItems(first: Lane): void {
    const acquire = this.#acquireFor(first);
    if (acquire === undefined) throw new Error('somebody asked for this');
    const basket: { lane: Lane; turn: LiveTurn; delivery: Delivery }[] = [];
    for (let lane: Lane | undefined = first; lane && basket.length < acquire.request.maxTurns; ) {
      lane = this.#nextFor(acquire);
      const head = lane?.line[0];
      if (lane === undefined || head === undefined || this.#alreadyDone(lane, head)) continue;
      const turn = this.#startTurnOfItems(lane, acquire);
      basket.push({ lane, turn, delivery: this.delivery(lane, turn) });
    }
    if (basket.length === 0) return;
    this.acquires = this.acquires.filter((one) => one !== acquire);
    this.cancel(acquire.timer);
    this.told(basket, acquire.answer(basket.map(({ delivery }) => delivery)));
  }

  /** S573: of the queues in which nobody waits longer the one that gave least recently, and its first key. */
  #nextFor(acquire: WaitingAcquire): Lane | undefined {
    const lanes = acquire.request.queues
      .map((name) => this.#firstReadyOf(this.queue(name)))
      .filter((lane) => lane?.readyFor === 'item')
      .filter((lane) => lane !== undefined && this.#acquireFor(lane) === acquire && this.gateOpen(lane.queue));
    lanes.sort((one, other) => (one?.queue.gave ?? 0) - (other?.queue.gave ?? 0) || orderOf(one) - orderOf(other));
    return lanes[0];
  }

  /** However much a worker may take, a caller of the queue that was ready earlier comes in between (S7, S125). */
  #firstReadyOf({ lanes }: ModelQueue): Lane | undefined {
    const ready = lanes.filter((lane) => lane.readyAt !== undefined);
    return ready.sort((one, other) => orderOf(one) - orderOf(other))[0];
  }

  #startTurnOfItems(lane: Lane, { request, stream }: WaitingAcquire): LiveTurn {
    const items = this.#takeItems(lane, request.maxItemsPerTurn);
    const turn = this.#newTurn(lane, {
      items,
      attempt: items[0]?.attempts ?? 0,
      caller: undefined,
      dispatchTicket: request.ticket,
      consumerId: request.consumerId,
      lease: request.lease ?? lane.queue.policy.lease,
    });
    lane.queue.gave = turn.token;
    this.handOver(lane, turn, stream, request.lease);
    this.changed(lane);
    return turn;
  }

  #takeItems(lane: Lane, most: number): ItemRecord[] {
    const taken: ItemRecord[] = [];
    const keys = new Set<string>();
    for (let head = lane.line[0]; taken.length < most && head?.kind === 'item'; head = lane.line[0]) {
      const { idempotencyKey } = head.content;
      if (isHeldBack(head) || head.notBefore > this.#now || (idempotencyKey !== undefined && keys.has(idempotencyKey)))
        break;
      if (this.#alreadyDone(lane, head)) continue;
      if (idempotencyKey !== undefined) keys.add(idempotencyKey);
      lane.line.shift();
      taken.push(head);
      this.#handOut(lane, head);
    }
    return taken;
  }

  #handOut(lane: Lane, item: ItemRecord): void {
    item.attempts += 1;
    item.state = 'in_flight';
    if (lane.queue.policy.delivery !== 'at_most_once') return;
    this.remember(lane, item.content.idempotencyKey, undefined);
    this.finish(lane.queue, item, 'done', undefined);
  }

  delivery(lane: Lane, turn: LiveTurn): { turn: ReturnType<typeof turnView>; items: DeliveredItem[] } {
    return { turn: turnView(lane, turn, this), items: turn.items.map((item) => this.delivered(item)) };
  }

  delivered(item: ItemRecord): DeliveredItem {
    const { payload, headers, idempotencyKey } = item.content;
    const attempt = item.attempts;
    return { itemId: item.id, payload, headers, idempotencyKey, submittedAt: this.wall(item.submittedAt), attempt };
  }

  #serveSubmits(): boolean {
    const blocked = new Set<ModelQueue>();
    for (const submit of this.submits) {
      if (blocked.has(submit.queue)) continue;
      if (submit.attempt()) {
        this.cancel(submit.timer);
        this.submits = this.submits.filter((one) => one !== submit);
        return true;
      }
      blocked.add(submit.queue);
    }
    return false;
  }

  // ---- the end of turns

  #expire(lane: Lane, turn: LiveTurn): void {
    if (lane.turn !== turn) return;
    if (turn.heldForTicket !== undefined) this.takeAway(lane, { cause: 'lease_expired' });
    else this.retry(lane, { cause: 'lease_expired' }, `lease expired (held by ${turn.consumerId})`, 'crash');
    this.promote(lane);
  }

  /** What is over by the clock in this lane, though its own moment has not come up yet. */
  startIfFree(lane: Lane): void {
    const { turn, wake } = lane;
    if (turn !== undefined && turn.until <= this.#now) {
      this.cancel(turn.timer);
      this.#expire(lane, turn);
    } else if (wake !== undefined && wake.at <= this.#now) {
      this.cancel(wake);
      this.#awake(lane);
    }
    if (lane.readyFor === 'caller' && this.gateOpen(lane.queue)) this.finishStep();
  }

  /** Whoever calls this puts back what came back, and then says that the lane changed. */
  endTurn(lane: Lane, how: HowItEnded): LiveTurn {
    const { turn } = lane;
    if (turn === undefined) throw new Error('no turn to end');
    this.cancel(turn.timer);
    notifyLost(this, lane, turn, how.cause, how.by);
    lane.turn = undefined;
    leaves(this, turn);
    lane.settlements.push({
      token: turn.token,
      ticket: turn.caller?.ticket,
      cause: how.cause,
      call: how.call,
      manner: how.manner ?? '',
      answer: how.answer,
    });
    if (lane.settlements.length > REMEMBERED_SETTLEMENTS) lane.settlements.shift();
    return turn;
  }

  /** Items go back at the head, in order; no attempt counted. How many went back. */
  release(lane: Lane, how: HowItEnded): number {
    return this.#giveBack(lane, this.#unfinished(this.endTurn(lane, how)));
  }

  #giveBack(lane: Lane, items: readonly ItemRecord[]): number {
    for (const item of items) item.attempts -= 1;
    this.putBack(lane, items);
    return items.length;
  }

  /** Items go back for another attempt, or die. */
  retry(
    lane: Lane,
    how: HowItEnded,
    error: string,
    delay: number | 'crash' | undefined,
  ): { retryAt?: number; dead: number } {
    const items = this.#unfinished(this.endTurn(lane, how));
    for (const item of items) noteError(this, item, error);
    const isCrash = delay === 'crash';
    for (const item of items) item.crashes += isCrash ? 1 : 0;
    const { maxAttempts, maxCrashes = maxAttempts } = lane.queue.policy.retry;
    const dead = this.#die(lane, items, ({ attempts, crashes }) => {
      if (attempts >= maxAttempts) return 'max_attempts';
      return isCrash && crashes >= maxCrashes ? 'max_crashes' : undefined;
    });
    const back = items.filter((item) => item.state !== 'dead');
    const head = back[0];
    // A key that stops has no back-off: whoever resumes it wants it to go on.
    if (head !== undefined && lane.parked === undefined)
      head.notBefore = Math.ceil(this.#now + ((isCrash ? undefined : delay) ?? this.#backOff(lane, head)));
    this.putBack(lane, back);
    return head === undefined || lane.parked !== undefined ? { dead } : { retryAt: head.notBefore, dead };
  }

  refuseForGood(lane: Lane, how: HowItEnded, error: string): number {
    const items = this.#unfinished(this.endTurn(lane, how));
    for (const item of items) noteError(this, item, error);
    const dead = this.#die(lane, items, () => 'refused');
    this.putBack(
      lane,
      items.filter((item) => item.state !== 'dead'),
    );
    return dead;
  }

  #unfinished(turn: LiveTurn): ItemRecord[] {
    return turn.items.filter((item) => item.state === 'in_flight');
  }

  #backOff(lane: Lane, item: ItemRecord): number {
    const { initial, factor, max } = lane.queue.policy.retry;
    return Math.ceil(Math.min(max, initial * factor ** (item.attempts - 1)));
  }

  #die(lane: Lane, items: ItemRecord[], causeOf: (item: ItemRecord) => ItemRecord['deathCause']): number {
    const { queue } = lane;
    let dead = 0;
    for (const item of items) {
      const cause = causeOf(item);
      if (cause === undefined) continue;
      if (queue.dead.length >= queue.policy.maxDeadLetters) {
        lane.parked ??= ++this.serial;
        continue;
      }
      dead += 1;
      item.deathCause = cause;
      item.diedAt = this.#now;
      item.state = 'dead';
      queue.dead.push(item);
      this.ended(queue.name, item.id, 'dead');
      this.#tellAwaits(item);
      if (queue.policy.onDeadLetter === 'park' && lane.key !== '') lane.parked ??= ++this.serial;
    }
    return dead;
  }

  /** S575. */
  putBack(lane: Lane, items: readonly ItemRecord[]): void {
    for (const item of items) {
      item.state = 'waiting';
      item.cameBack = true;
    }
    let hasWaiting = false;
    for (const item of items.toSorted((one, other) => one.serial - other.serial)) {
      hasWaiting ||= item.after.length > 0 || item.doomed;
      const isOlder = (entry: Entry) => entry.kind === 'item' && entry.serial < item.serial;
      const first = lane.line.findIndex((entry) => !isOlder(entry));
      const place = hasWaiting ? lane.line.findLastIndex(isOlder) + 1 : first;
      lane.line.splice(place < 0 ? lane.line.length : place, 0, item);
    }
    this.changed(lane);
  }

  finish(
    queue: ModelQueue,
    item: ItemRecord,
    state: 'done' | 'superseded' | 'discarded',
    result: Bytes | undefined,
  ): void {
    item.state = state;
    item.result = result;
    item.forgetAt = this.#now + queue.policy.resultTtl;
    item.after = [];
    item.doomed = false;
    this.ended(queue.name, item.id, state);
    this.#tellAwaits(item);
  }

  /** Its turn was acked; with at_most_once it was done before, and only a result may come yet. */
  finishWith(lane: Lane, item: ItemRecord, result: Bytes | undefined): void {
    const { queue } = lane;
    if (item.state === 'in_flight') this.finish(queue, item, 'done', result);
    else if (result === undefined) return;
    else if (this.findItem(queue, item.id) === item) this.finish(queue, item, 'done', result);
    this.remember(lane, item.content.idempotencyKey, result);
  }

  #tellAwaits(item: ItemRecord): void {
    const told = this.awaits.filter((one) => one.item === item);
    this.awaits = this.awaits.filter((one) => one.item !== item);
    for (const one of told) {
      this.cancel(one.timer);
      one.answer();
    }
  }

  findItem(queue: ModelQueue, id: string): ItemRecord | undefined {
    return queue.items.find((item) => item.id === id && (item.forgetAt ?? Number.POSITIVE_INFINITY) > this.#now);
  }

  // ---- idempotency

  done(lane: Pick<Lane, 'queue' | 'key'>, idempotencyKey: string): { result: Bytes | undefined } | undefined {
    return lane.queue.done.find(
      (one) => one.key === lane.key && one.idempotencyKey === idempotencyKey && one.until > this.#now,
    );
  }

  remember(lane: Lane, idempotencyKey: string | undefined, result: Bytes | undefined): void {
    const { queue } = lane;
    if (idempotencyKey === undefined || queue.policy.idempotencyTtl === 0) return;
    queue.done = queue.done.filter((one) => one.key !== lane.key || one.idempotencyKey !== idempotencyKey);
    queue.done.push({ key: lane.key, idempotencyKey, result, until: this.#now + queue.policy.idempotencyTtl });
  }

  // ---- lines

  /** What BLOCK would say to the entry at `index`. */
  place(lane: Lane, index: number): { ahead: number; retryAfter: number | undefined } {
    const ahead = (lane.turn === undefined ? 0 : 1) + index;
    return { ahead, retryAfter: ahead === 0 ? this.retryAfter(lane) : undefined };
  }

  insert(lane: Lane, entry: Entry, index: number): void {
    lane.line.splice(index, 0, entry);
    this.changed(lane);
  }

  remove(lane: Lane, entry: Entry): void {
    lane.line = lane.line.filter((one) => one !== entry);
    if (entry.kind === 'caller') this.cancel(entry.timer);
    this.changed(lane);
  }

  /** The newcomer stands where the victim stood; the key keeps its place in the order of readiness. */
  replace(lane: Lane, victim: Entry, newcomer: Entry): void {
    lane.line.splice(lane.line.indexOf(victim), 1, newcomer);
    if (victim.kind === 'caller') this.cancel(victim.timer);
    this.changed(lane);
    if (victim.kind === 'item') this.finish(lane.queue, victim, 'superseded', undefined);
    else victim.call?.decline('superseded', nameOf(newcomer), undefined, undefined);
  }

  queueFull(queue: ModelQueue): Refusal {
    const limit = queue.policy.maxWaiting;
    return { kind: 'queue_full', subject: queue.name, limit, description: '', retryAfter: NOBODY_KNOWS };
  }

  /** S3, S5 and S574: where a newcomer that is counted would stand. */
  placeFor(
    lane: Lane,
    kind: Entry['kind'],
  ): { full: false; index: number } | { full: true; victim: Entry | undefined; survivor: Entry | undefined } {
    const { line } = lane;
    const all = this.#hasRoom(lane, kind, line);
    const present = line.filter(isPresent);
    const room = all || (lane.queue.policy.whenFull === 'decline' && this.#hasRoom(lane, kind, present));
    if (!room) return { full: true, victim: line.filter(isCounted).at(-1), survivor: present.at(-1) };
    return { full: false, index: all ? line.length : line.findLastIndex(isPresent) + 1 };
  }

  #hasRoom({ queue }: Lane, kind: Entry['kind'], line: readonly Entry[]): boolean {
    const { waitingPerKey } = queue.policy;
    if (waitingPerKey === undefined) return kind === 'item' || line.length === 0;
    return waitingPerKey === 'unlimited' || line.filter(isCounted).length < waitingPerKey;
  }
}

/** Whoever did not learn of a turn may give it back nevertheless. */
function givenBack({ items }: LiveTurn): HowItEnded {
  if (items.length === 0)
    return { cause: 'settled', call: 'dequeue', manner: 'true', answer: { promoted: false, waiting: 0 } };
  return { cause: 'settled', call: 'nack', manner: 'release', answer: { retryAt: undefined, deadLettered: 0 } };
}

function orderOf(lane: Lane | undefined): number {
  return lane?.readyAt ?? 0;
}

function sessionEnd({ brokenAt, ttl }: ModelSession): number {
  return brokenAt === undefined ? Number.POSITIVE_INFINITY : Math.ceil(brokenAt + ttl);
}
