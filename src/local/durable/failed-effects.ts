import type { Refusal, Reply, SessionListener, Turn } from '../../coordinator.js';
import type { Clock } from '../clock.js';
import { type Held, type Hello, refuseHeld } from './held.js';

/** Effects refused in one go: about a millisecond. */
const AT_ONCE = 1_000;

/** What the store does for effects whose write failed. */
interface FailedEffectsHost {
  refusal(): Refusal;
  isGone(to: Reply<never> | SessionListener): boolean;
  /** Who asked is gone, and wanted nothing to be kept. */
  isLeft(to: Reply<never> | SessionListener): boolean;
  /** @param unwanted they end, ticket or not */
  giveBack(turns: readonly Turn[], unwanted: boolean): void;
  /** The effect answers no call: it is carried out all the same. */
  ready(held: Held): void;
  /** No hello is refused for the disk. */
  answer(hello: Hello): void;
  /** After steps. */
  afterStep(): void;
}

/**
 * Effects whose write failed. Their callers are refused, in slices: a turn that is given back may be given to the next caller
 * that waits, who is refused in turn, and so on.
 *
 * No hello is refused: a worker with one turn of a durable queue would be kept from all other queues. It is answered when the
 * turns that no worker learnt of are taken back.
 */
export class FailedEffects {
  #effects: Held[] = [];
  #hellos: Hello[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly host: FailedEffectsHost,
  ) {}

  get isEmpty(): boolean {
    return this.#effects.length === 0;
  }

  add(held: readonly Held[]): void {
    if (held.length === 0) return;
    const isFirst = this.isEmpty;
    this.#effects = this.#effects.concat(held);
    if (isFirst) this.clock.soon(() => this.#refuseSome());
  }

  /** Now, and whatever follows from it. */
  refuseAll(): void {
    while (!this.isEmpty) this.#refuseSome();
  }

  /** Nobody of them is refused here any more. */
  takeAll(): readonly Held[] {
    const all = [...this.#effects, ...this.#hellos];
    this.#effects = [];
    this.#hellos = [];
    return all;
  }

  #refuseSome(): void {
    if (this.isEmpty) return;
    const slice = this.#effects.splice(0, AT_ONCE);
    const refusal = this.host.refusal();
    for (const held of slice) this.#refuse(held, refusal);
    if (!this.isEmpty) this.clock.soon(() => this.#refuseSome());
    else this.#answerHellos();
    this.host.afterStep();
  }

  #refuse(held: Held, refusal: Refusal): void {
    if (held.kind === 'hello') {
      this.#hellos.push(held);
      return;
    }
    const turns = refuseHeld(held, refusal, { has: (to) => this.host.isGone(to) });
    if (turns === undefined) this.host.ready(held);
    else this.host.giveBack(turns, 'to' in held && this.host.isLeft(held.to));
  }

  #answerHellos(): void {
    const hellos = this.#hellos;
    this.#hellos = [];
    for (const hello of hellos) this.host.answer(hello);
  }
}
