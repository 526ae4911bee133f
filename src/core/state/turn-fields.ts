import type { Epoch } from '../structures/hold-epochs.js';

/** Nobody has it yet, or it was handed out: see {@link TurnFields.handed}. */
type Handed = 'kept' | 'given';

/**
 * What of a turn is kept in another form than it is read, because there are a million of them (ADR 055): its token and its
 * start as small integers beside those of its epoch, and apart from it what most turns have nothing of.
 */
export class TurnFields<Watch, Parked> {
  /** Unset: it has nothing of it. Kept for the next turn, as the turn is. */
  #rare: RareOfTurn<Watch, Parked> | undefined = undefined;
  #epoch: Epoch;
  /** How much larger its token is than that of its epoch: a small integer, which is no object of its own. */
  #ahead: number;
  /** When it started, or was handed over: whole µs after its epoch. */
  #age: number;

  constructor(token: number, since: number, latestEnd: number | undefined, epoch: Epoch) {
    this.#epoch = epoch;
    this.#ahead = token - epoch.token;
    this.#age = wholeMicroseconds(since - epoch.since);
    this.latestEnd = latestEnd;
  }

  /** Another turn begins, or this one begins anew. Precondition: the epoch is of that moment. */
  begin(token: number, now: number, epoch: Epoch): void {
    this.#epoch = epoch;
    this.#ahead = token - epoch.token;
    this.#age = wholeMicroseconds(now - epoch.since);
  }

  /** Nothing of the last turn is left. The watch is kept: `watchPeriod` arms it. `hold` writes `parked`. */
  clear(latestEnd: number | undefined): void {
    if (this.#rare === undefined && latestEnd === undefined) return;
    this.latestEnd = latestEnd;
    this.handed = 'given';
    this.renewals = 0;
    this.fromBefore = false;
  }

  get epoch(): Epoch {
    return this.#epoch;
  }

  get token(): number {
    return this.#epoch.token + this.#ahead;
  }

  /** When it started, or was handed over, in whole µs. */
  get since(): number {
    return this.#epoch.since + this.#age / 1_000;
  }

  /** Whole ms; unset: no `max_hold`. */
  get latestEnd(): number | undefined {
    return this.#rare?.latestEnd;
  }

  set latestEnd(latestEnd: number | undefined) {
    if (latestEnd === undefined && this.#rare === undefined) return;
    this.#rare ??= new RareOfTurn();
    this.#rare.latestEnd = latestEnd;
  }

  /** Since the start of the process. */
  get renewals(): number {
    return this.#rare?.renewals ?? 0;
  }

  set renewals(renewals: number) {
    if (renewals === 0 && this.#rare === undefined) return;
    this.#rare ??= new RareOfTurn();
    this.#rare.renewals = renewals;
  }

  /** It began before the start of the process. */
  get fromBefore(): boolean {
    return this.#rare?.fromBefore === true;
  }

  set fromBefore(fromBefore: boolean) {
    if (!fromBefore && this.#rare === undefined) return;
    this.#rare ??= new RareOfTurn();
    this.#rare.fromBefore = fromBefore;
  }

  /** `kept`: nobody has the turn yet, it waits for the ticket of an absent caller. `given`: it was handed out. */
  get handed(): Handed {
    return this.#rare?.handed ?? 'given';
  }

  set handed(handed: Handed) {
    if (handed === 'given' && this.#rare === undefined) return;
    this.#rare ??= new RareOfTurn();
    this.#rare.handed = handed;
    this.#rare.answers = handed === 'given' ? 1 : 0;
  }

  /**
   * Answers that gave this turn and are not known to be lost: its ticket may have asked for it again. While there is one its
   * worker may know the turn. Infinity: nobody knows how many there were before a restart.
   */
  get answers(): number {
    return this.#rare?.answers ?? 1;
  }

  set answers(answers: number) {
    if (answers === 1 && this.#rare === undefined) return;
    this.#rare ??= new RareOfTurn();
    this.#rare.answers = answers;
  }

  get watch(): Watch | undefined {
    return this.#rare?.watch;
  }

  set watch(watch: Watch | undefined) {
    this.#rare ??= new RareOfTurn();
    this.#rare.watch = watch;
  }

  /** The key was stopped when the turn was adopted: it is so again when the turn ends, if nobody resumed it (S90). */
  get parked(): Parked | undefined {
    return this.#rare?.parked;
  }

  set parked(parked: Parked | undefined) {
    if (parked === undefined && this.#rare === undefined) return;
    this.#rare ??= new RareOfTurn();
    this.#rare.parked = parked;
  }
}

function wholeMicroseconds(ms: number): number {
  return Math.floor(ms * 1_000);
}

/** To make it by a private method would cost each turn a field of its own. */
class RareOfTurn<Watch, Parked> {
  watch: Watch | undefined = undefined;
  parked: Parked | undefined = undefined;
  latestEnd: number | undefined = undefined;
  handed: Handed = 'given';
  answers = 1;
  renewals = 0;
  fromBefore = false;
}
