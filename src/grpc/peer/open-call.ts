import type { Pending, Refusal, Reply, Turn } from '../../coordinator.js';
import type { Named } from './codec/answers.js';
import type { WireReader } from './codec/wire-reader.js';
import type { Kind } from './kinds.js';
import type { Lane } from './lane.js';
import type { Life, OpenEntry } from './life.js';
import { noHome, unknownOutcome } from './refusals.js';

/** Whose call it is: where it stands in order, and where its turns go back. */
export interface CallOwner {
  readonly partition: number;
  /** On which what it writes now must go, so that it stays in order. */
  lane(life: Life): Lane;
  undeliverable(turns: readonly Turn[], unwanted: boolean): void;
  /** A failure of our own, for the log. */
  report(error: unknown): void;
}

/**
 * A call that is open at a home. One that was cancelled stays open until the home has said so: turns that its answer gives
 * after all are taken back.
 */
export class OpenCall<A> implements OpenEntry, Pending {
  lane: Lane;
  message = 0;
  id = 0;
  #stage: 'open' | 'cancelled' | 'left' | 'over' = 'open';

  constructor(
    private readonly life: Life,
    private readonly owner: CallOwner,
    private readonly kind: Pick<Kind<never, A>, 'outcome' | 'read' | 'gives' | 'canBeUndone' | 'isRepeatable'>,
    private readonly named: Named,
    private readonly reply: Reply<A>,
  ) {
    this.lane = life.small;
  }

  get isOver(): boolean {
    return this.#stage === 'over';
  }

  cancel(leave = false): void {
    if (this.#stage !== 'open') return;
    this.#stage = leave ? 'left' : 'cancelled';
    this.life.cancel(this.id, this, this.owner.lane(this.life), leave, false);
  }

  callOff(leave = false): boolean {
    if (this.#stage !== 'open') return false;
    if (this.kind.canBeUndone) {
      this.cancel(leave);
      return true;
    }
    // Only the home knows: it refuses the call (CANCELLED), or its answer follows.
    this.life.cancel(this.id, this, this.owner.lane(this.life), leave, true);
    return false;
  }

  answered(outcome: number, from: WireReader): void {
    if (outcome !== this.kind.outcome)
      throw new RangeError(`outcome ${outcome} for a call with outcome ${this.kind.outcome}`);
    const answer = this.kind.read(from, this.named);
    const stage = this.#stage;
    this.#stage = 'over';
    if (stage !== 'open') this.#takeBack(answer, stage === 'left');
    else if (!this.#deliver(answer)) this.#takeBack(answer, false);
  }

  refused(refusal: Refusal): void {
    const stage = this.#stage;
    this.#stage = 'over';
    if (stage === 'open') this.#refuse(refusal);
  }

  told(): void {
    throw new RangeError('an answer of administration to a call of a worker');
  }

  lost(wasSent: boolean): void {
    const { address } = this.life;
    const isUnknown = wasSent && this.kind.isRepeatable !== true;
    const gone = 'the link to its home broke before the call was sent, or before it was answered';
    this.refused(isUnknown ? unknownOutcome(address) : noHome(this.owner.partition, gone));
  }

  #deliver(answer: A): boolean {
    try {
      return this.reply.answer(answer);
    } catch (error) {
      this.owner.report(error);
      return false;
    }
  }

  #refuse(refusal: Refusal): void {
    try {
      this.reply.refuse(refusal);
    } catch (error) {
      this.owner.report(error);
    }
  }

  #takeBack(answer: A, unwanted: boolean): void {
    const turns: Turn[] = [];
    this.kind.gives(answer, turns);
    if (turns.length > 0) this.owner.undeliverable(turns, unwanted);
  }
}
