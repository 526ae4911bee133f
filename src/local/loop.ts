import type { AckRequest, Refusal, SubmitRequest, Turn } from '../coordinator.js';
import type { CoordinatorSettings } from '../core/contract/settings.js';
import type { SlowTurn } from '../core/contract/views.js';
import { Core, type Effect, type SharedUse, type Start } from '../core/core.js';
import type { Clock } from './clock.js';
import { type Held, turnsOf } from './durable/held.js';
import type { EmitState } from './durable/state.js';
import { Store } from './durable/store.js';
import type { Gate } from './gate.js';
import type { Journal } from './journal/journal.js';
import { Watches } from './watches.js';

/** Timers taken in hand in one go: about a millisecond. */
const BUDGET = 1_000;

interface LoopOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** Unset: nothing outlives the process. */
  readonly journal: Journal | undefined;
  readonly emit: EmitState;
  /** All tokens of earlier homes are smaller, whatever the rows say. Unset: the rows say it. */
  readonly tokenFloor: number | undefined;
  readonly partition: Start['partition'];
  /** What all cores of this process use together. Unset: there is one. */
  readonly shared: SharedUse | undefined;
  /** In front of everything that leaves. Only with a journal. */
  readonly gate: Gate | undefined;
  /** Told of turns that were held for longer than `slow_hold`. */
  readonly onSlow: ((turn: SlowTurn) => void) | undefined;
  /** Called for queues that got an idempotency key and remember none. */
  readonly onUnusedKey: ((queue: string) => void) | undefined;
}

/**
 * The one loop that owns time and effects: it asks the core when it next needs time, waits for that, and carries
 * effects out in order. One timer, however many leases there are.
 */
export class Loop {
  /** With a journal: one that is not used, until what is on the disk is there. */
  core: Core;
  readonly watches: Watches;
  /** What is durable goes through it; unset: nothing is. */
  readonly store: Store | undefined;
  /** Called after every step: drain waits with it until no turn is live. */
  onStepEnd: (() => void) | undefined;
  /** In a cluster: says which follow-ups of an Ack go to which other partition, or why they cannot. */
  placesFollowUps: ((request: AckRequest) => AckRequest | Refusal) | undefined;
  /** In a cluster: there are parcels for this partition that can be sent. */
  onParcels: ((target: number) => void) | undefined;
  /** In a cluster: says which items of a Submit wait for items of other groups, or why they cannot. */
  placesAfter: ((request: SubmitRequest) => SubmitRequest | Refusal) | undefined;
  /** In a cluster: there are items that wait for such. */
  onFar: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #gate: Gate | undefined;
  /** For how long the clock of the core stood still, ms. */
  #stoodStill = 0;
  /** When the armed timer goes off; Infinity: none is armed. */
  #armedAt = Number.POSITIVE_INFINITY;
  #disarm: (() => void) | undefined;
  #carrying = false;
  #running = false;
  #isEnded = false;
  /** It is going to. */
  #looksForRoom = false;

  constructor(
    private readonly settings: CoordinatorSettings,
    private readonly options: LoopOptions,
  ) {
    const { clock, journal, emit, gate } = options;
    this.#clock = clock;
    this.#gate = gate;
    this.core = this.makeCore(undefined);
    this.watches = new Watches((anybody) => {
      this.core.watching = anybody;
    });
    this.store = journal === undefined ? undefined : new Store(this, journal, clock, settings, emit, gate);
  }

  /**
   * @param written all tokens of the runs before are smaller, by the rows; unset: they say nothing
   * @param now when its time begins, or stands still until {@link start}
   */
  makeCore(written: number | undefined, now = this.options.clock.now()): Core {
    const { clock, seed, journal, partition, tokenFloor: claimed } = this.options;
    const wall = clock.wall() - clock.now() + now;
    const tokenFloor = written === undefined ? claimed : Math.max(written, claimed ?? written);
    const kept = { durable: journal !== undefined, keepsContents: journal?.keepsContents === true };
    const start: Start = { now, wall, seed, ...kept, tokenFloor, partition };
    return new Core(this.settings, start);
  }

  /**
   * Time begins to pass.
   * @param since when the core was made, by the clock: until now its time stood still
   */
  start(core: Core, since: number): void {
    this.core = core;
    if (this.#isEnded) return;
    this.#stoodStill = this.#clock.now() - since;
    this.#running = true;
    const { shared } = this.options;
    if (shared !== undefined) core.join(shared, () => this.#lookForRoomSoon());
    this.#arm();
  }

  /** It comes from inside a step of another core. */
  #lookForRoomSoon(): void {
    if (this.#looksForRoom) return;
    this.#looksForRoom = true;
    this.#clock.soon(() => {
      this.#looksForRoom = false;
      if (!this.#running) return;
      this.core.lookForRoom(this.now());
      this.afterStep();
    });
  }

  /** It does not pass beyond what the gate allows: a turn does not end while its holder cannot be answered (S51). */
  now(): number {
    const now = this.#clock.now();
    return (this.#gate === undefined ? now : Math.min(now, this.#gate.until)) - this.#stoodStill;
  }

  /** Nothing is due any more, until {@link resume}. */
  pause(): void {
    this.#running = false;
    this.#disarm?.();
    this.#disarm = undefined;
  }

  /** @param stoodStill for how long the gate let no time pass, ms */
  resume(stoodStill: number): void {
    if (this.#isEnded) return;
    this.#stoodStill += stoodStill;
    this.core.stoodStill(stoodStill);
    this.#running = true;
    // Others may have given up what Submits wait for here.
    if (this.options.shared !== undefined) this.core.lookForRoom(this.now());
    this.#arm();
    this.afterStep();
  }

  /**
   * It is not used any more, also if what is on the disk comes only now: what it used of the limits is free for the other cores
   * of the process.
   */
  end(): void {
    this.#isEnded = true;
    this.pause();
    const { shared } = this.options;
    if (shared !== undefined) this.core.leave(shared);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Call it after every step: carries out the effects, and arms the timer for the next due time. */
  afterStep(): void {
    if (this.store !== undefined) this.#afterStepWith(this.store);
    else if (!this.#carrying) this.#carryOut(undefined);
    if (this.#wakeAt() < this.#armedAt) this.#arm();
    this.onStepEnd?.();
  }

  #afterStepWith(store: Store): void {
    store.afterStep();
    while (!this.#carrying && (this.core.hasEffects || !store.ready.isEmpty) && this.#mayAnswer()) {
      this.#carryOut(store);
      // What could not be delivered was a step, too.
      store.afterStep();
    }
  }

  #mayAnswer(): boolean {
    return this.#gate === undefined || this.#gate.mayAnswer();
  }

  /** A caller that is answered may call again at once: the effects of that step follow these, in the same loop. */
  #carryOut(store: Store | undefined): void {
    this.#carrying = true;
    try {
      if (store === undefined) this.#carryAll();
      else this.#carryAllWith(store);
    } finally {
      this.#carrying = false;
    }
  }

  /** Nothing is durable: no effect waits, and what items carry is at hand. */
  #carryAll(): void {
    for (let next = this.core.takeEffect(); next !== undefined; next = this.core.takeEffect()) this.#carry(next);
  }

  /**
   * Effects that wait for nothing go before those that waited for the disk. The gate is asked for each: a process may be stopped
   * for seconds between two of them. What it does not let out stays where it is.
   */
  #carryAllWith(store: Store): void {
    const next = () => (this.#mayAnswer() ? (this.core.takeEffect() ?? store.ready.take()) : undefined);
    for (let held = next(); held !== undefined; held = next()) this.#carryWith(store, held);
  }

  #carryWith(store: Store, held: Held): void {
    if (held.kind === 'flush_waiter') held.flushed(undefined);
    else if (store.isGone(held)) this.#undeliverable(turnsOf(held), store.isLeft(held));
    else this.#carry(store.fill(held));
  }

  #carry(effect: Effect): void {
    switch (effect.kind) {
      case 'enqueue': {
        const { to, answer } = effect;
        if (!to.answer(answer) && answer.decision === 'accept') this.core.undeliverable([answer.turn], this.now());
        return;
      }
      case 'dequeue':
        effect.to.answer(effect.answer);
        return;
      case 'acquire':
        if (!effect.to.answer(effect.answer)) this.#undeliverable(turnsOf(effect));
        return;
      case 'ack':
        if (!effect.to.answer(effect.answer)) this.#undeliverable(turnsOf(effect));
        return;
      default:
        this.#answer(effect);
    }
  }

  /** An effect that gives no turn: nothing has to be undone if it does not arrive. */
  #answer(effect: Exclude<Effect, { readonly kind: 'enqueue' | 'dequeue' | 'acquire' | 'ack' }>): void {
    switch (effect.kind) {
      case 'submit':
        effect.to.answer(effect.answer);
        return;
      case 'nack':
        effect.to.answer(effect.answer);
        return;
      case 'renew':
        effect.to.answer(effect.answer);
        return;
      case 'await':
        effect.to.answer(effect.answer);
        return;
      case 'hello':
        effect.to.answer(effect.answer);
        return;
      case 'candidate':
        effect.to.answer(effect.answer);
        return;
      case 'reported':
        effect.to.answer(effect.answer);
        return;
      case 'leader':
        effect.to.answer(effect.answer);
        return;
      case 'yielded':
        effect.to.answer(effect.answer);
        return;
      case 'withdrawn':
        effect.to.answer();
        return;
      case 'deliver':
        effect.to.answer(effect.answer);
        return;
      case 'parcels':
        this.onParcels?.(effect.target);
        return;
      case 'awaits_far':
        this.onFar?.();
        return;
      case 'notice':
        effect.to.notice(effect.notice);
        return;
      case 'replaced':
        effect.to.replaced();
        return;
      case 'refuse':
        effect.to.refuse(effect.refusal);
        return;
      case 'event':
        this.watches.emit(effect.event);
        return;
      case 'slow':
        this.options.onSlow?.(effect.turn);
        return;
      case 'unused_key':
        this.options.onUnusedKey?.(effect.queue);
    }
  }

  #undeliverable(turns: readonly Turn[], unwanted = false): void {
    if (turns.length > 0) this.core.undeliverable(turns, this.now(), unwanted);
  }

  #wakeAt(): number {
    const { wakeAt } = this.core;
    return this.store === undefined ? wakeAt : Math.min(wakeAt, this.store.wakeAt);
  }

  #arm(): void {
    this.#disarm?.();
    this.#disarm = undefined;
    const wakeAt = this.#wakeAt();
    this.#armedAt = wakeAt;
    if (!this.#running || wakeAt === Number.POSITIVE_INFINITY) return;
    this.#disarm = this.#clock.after(Math.max(0, wakeAt - this.now()), () => this.#tick());
  }

  #tick(): void {
    // Asking the gate may end it: then it is armed again when time goes on.
    if (!this.#running || !this.#mayAnswer()) return;
    this.#disarm = undefined;
    // Held back while ticking: every step would arm a timer of its own.
    this.#armedAt = Number.NEGATIVE_INFINITY;
    const now = this.now();
    this.core.setWallOffset(this.#clock.wall() - now);
    const more = this.core.tick(now, BUDGET);
    this.afterStep();
    // In between, calls are served: a mass expiry never stalls them for longer than one budget.
    if (more) this.#clock.soon(() => this.#tick());
    else this.#arm();
  }
}
