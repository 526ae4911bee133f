import type { AcquireAnswer, Delivery } from '../coordinator.js';
import { Core, type Effect, type Start } from '../core/core.js';
import type { CoordinatorSettings } from '../core/settings.js';
import type { Clock } from './clock.js';
import { Watches } from './watches.js';

/** Timers taken in hand in one go: about a millisecond. */
const BUDGET = 1_000;

/**
 * The one loop that owns time and effects: it asks the core when it next needs time, waits for that, and carries
 * effects out in order. One timer, however many leases there are.
 */
export class Loop {
  readonly core: Core;
  readonly watches: Watches;
  /** Looked at after every step: for who waits until no turn is live. */
  onSettled: (() => void) | undefined;
  /** When the armed timer goes off; Infinity: none is armed. */
  #armedAt = Number.POSITIVE_INFINITY;
  #disarm: (() => void) | undefined;
  #carrying = false;
  #closed = false;

  constructor(
    settings: CoordinatorSettings,
    private readonly clock: Clock,
    seed: number,
  ) {
    const start: Start = { now: clock.now(), wall: clock.wall(), seed };
    this.core = new Core(settings, start);
    this.watches = new Watches((anybody) => {
      this.core.watching = anybody;
    });
    this.#arm();
  }

  now(): number {
    return this.clock.now();
  }

  /** To be called after every step: carries out what it wants done, and sees to it that the next moment is not missed. */
  settle(): void {
    if (this.core.hasEffects && !this.#carrying) this.#carryOut();
    if (this.core.wakeAt < this.#armedAt) this.#arm();
    this.onSettled?.();
  }

  close(): void {
    this.#closed = true;
    this.#disarm?.();
    this.#disarm = undefined;
  }

  /** One who is answered may ask again at once: that step's effects follow these, in the same loop. */
  #carryOut(): void {
    this.#carrying = true;
    try {
      for (let next = this.core.takeEffect(); next !== undefined; next = this.core.takeEffect()) this.#carry(next);
    } finally {
      this.#carrying = false;
    }
  }

  #carry(effect: Effect): void {
    switch (effect.kind) {
      case 'enqueue': {
        const { to, answer } = effect;
        if (!to.answer(answer) && answer.decision === 'accept') this.core.undeliverable([answer.turn], this.now());
        return;
      }
      case 'acquire':
        if (!effect.to.answer(effect.answer)) this.#undeliverable(effect.answer);
        return;
      case 'ack':
        if (!effect.to.answer(effect.answer) && effect.answer.next) this.#undeliverable(effect.answer.next);
        return;
      case 'dequeue':
        effect.to.answer(effect.answer);
        return;
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
        this.watches.tell(effect.event);
    }
  }

  #undeliverable(answer: AcquireAnswer): void {
    const turns = answer.deliveries.map((delivery: Delivery) => delivery.turn);
    if (turns.length > 0) this.core.undeliverable(turns, this.now());
  }

  #arm(): void {
    this.#disarm?.();
    this.#disarm = undefined;
    const { wakeAt } = this.core;
    this.#armedAt = wakeAt;
    if (this.#closed || wakeAt === Number.POSITIVE_INFINITY) return;
    this.#disarm = this.clock.after(Math.max(0, wakeAt - this.now()), () => this.#tick());
  }

  #tick(): void {
    if (this.#closed) return;
    this.#disarm = undefined;
    // Held back while ticking: every step would arm a timer of its own.
    this.#armedAt = Number.NEGATIVE_INFINITY;
    const now = this.now();
    this.core.setWallOffset(this.clock.wall() - now);
    const more = this.core.tick(now, BUDGET);
    this.settle();
    // In between, others get their say: a mass expiry never stalls them for longer than one budget.
    if (more) this.clock.soon(() => this.#tick());
    else this.#arm();
  }
}
