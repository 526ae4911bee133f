/**
 * What a session does for the turns it was given: it knows which the application holds, reports when one is lost, and gives
 * back those whose answers reached no caller.
 */

import type * as wire from '../gen/keyturn/v1/coordinator.js';
import type { Clock } from '../time/clock.js';
import { Held } from '../turns/held-turn.js';
import { MOST_PER_RENEW, type Renewals } from '../turns/renewals.js';
import { isKept, lossOf, renewAnswer, turnRef } from '../wire/answers.js';
import { wireNack, wireRenew } from '../wire/requests.js';
import { fromWireToken } from '../wire/time.js';
import type { HeldTurn } from '../words/calls.js';
import { type KeyturnError, type TurnLoss, TurnLostError } from '../words/errors.js';
import type { Token, Turn, TurnRef } from '../words/worker-words.js';
import { type Books, type Outcome, OwnCommand, type WorkerCommand } from './command.js';
import { GivenTurn, GivenTurns, type LostTurn, turnName } from './given-turns.js';
import { GivenUpTurns } from './given-up-turns.js';
import { Orphans } from './orphans.js';
import { UnclaimedTurns } from './unclaimed-turns.js';

/** How long a turn waits for a call with the ticket whose earlier call was given up: as the sidecar keeps a place by default. */
const UNCLAIMED_MS = 10_000;
/** Until a release that was refused is sent again. */
const RELEASE_AGAIN_MS = 1_000;
/** Status code of a call that may be sent again: NO_HOME, STORE_UNAVAILABLE. */
const UNAVAILABLE = 14;
/** AT_MOST_ONCE. */
const FAILED_PRECONDITION = 9;
/** As if the turn had not been given. */
const RELEASED = { kind: 'release' } as const;
/** What the sidecar says of a turn whose worker it does not hear of: an attempt is counted, no matter which side notices first. */
const SILENT = { kind: 'retry', error: 'the worker was silent for longer than its session lives' } as const;

export class TurnKeeping implements Books {
  readonly #turns = new GivenTurns();
  #orphans: Orphans | undefined;
  /** Turns whose answers reached no caller, and that a call with the same ticket may still ask for. */
  readonly #unclaimed = new UnclaimedTurns(UNCLAIMED_MS);
  /** Turns whose release the sidecar refused for now. */
  readonly #unreleased = new UnclaimedTurns(RELEASE_AGAIN_MS);
  /** Those of them that end as {@link SILENT}. */
  readonly #silent = new WeakSet<TurnRef>();
  /** Tied turns that a new stream did not tell of, until a Renew does. */
  readonly #uncertain = new Set<GivenTurn>();
  readonly #givenUp: GivenUpTurns;
  /** Set: the client is being closed. What was given and not settled by then, by name. */
  #left: Map<string, GivenTurn> | undefined;
  /** One for all turns. */
  readonly #released = (held: Held): void => this.#release(held);

  /** @param marginOfLife how long before the end of a tied turn its holder is told to stop, ms */
  constructor(
    private readonly clock: Clock,
    private readonly renewals: Renewals,
    private readonly marginOfLife: () => number,
    private readonly ask: (command: OwnCommand) => void,
  ) {
    this.#givenUp = new GivenUpTurns(clock, ({ turn, wasInUse }) => {
      this.#giveBack(turn, wasInUse && turn.attempt > 0 ? SILENT : RELEASED);
    });
  }

  /** Turns that live as long as the session does. */
  get tied(): number {
    return this.#turns.tied;
  }

  given(turn: Turn, tied: boolean, ticket: string | undefined): void {
    this.#orphans?.claimed(turn);
    const known = this.#turns.find(turn.queue, turn.token);
    if (known !== undefined) this.#certain(known);
    // An Ack took it along, and the client is being closed.
    else if (this.#left !== undefined) this.giveBack(turn);
    else this.#turns.add(new GivenTurn(turn, tied, ticket, this.#released));
  }

  undelivered(turn: Turn, ticket: string | undefined): void {
    if (this.#turns.find(turn.queue, turn.token) !== undefined) return;
    const isKept = ticket !== undefined && this.#left === undefined && !this.#unclaimed.isFull;
    if (!isKept) this.#giveBack(turn);
    else this.#unclaimed.add(turn, this.clock.now());
  }

  settled(queue: string, key: string, token: Token | undefined, ticket: string | undefined): void {
    const given =
      token === undefined ? this.#turns.findByTicket(queue, key, ticket ?? '') : this.#turns.find(queue, token);
    if (given !== undefined) this.#drop(given);
    if (token !== undefined) this.#left?.delete(turnName({ queue, token }));
  }

  /** The call settles a turn that lives as long as the session: without this call nothing else would end that turn. */
  isEndedBy(command: WorkerCommand): boolean {
    const settles = command.settles();
    return settles !== undefined && this.#turns.find(settles.queue, settles.token)?.tied === true;
  }

  lost({ queue, token }: { readonly queue: string; readonly token: Token }, error: KeyturnError): void {
    const given = this.#turns.find(queue, token);
    if (given !== undefined) this.lose(given, error instanceof TurnLostError ? error.loss : 'unknown');
  }

  /** Of a given turn and of any other that was held here. */
  lose(held: Held, told: TurnLoss): void {
    const cause = this.#isOver(held) ? 'unreachable' : told;
    this.renewals.drop(held);
    if (!(held instanceof GivenTurn)) return held.lose(cause);
    this.#uncertain.delete(held);
    // Before its holder learns of it, which may end at once. A turn with a lease may not be among the given turns any more.
    if (cause === 'closed') this.#left?.set(turnName(held.turn), held);
    if (held.tied && cause === 'unreachable') this.#givenUp.add(held, this.clock.now() + this.marginOfLife());
    this.#turns.lose(held, cause, this.clock.now());
  }

  hold(turn: Turn, askedAt: number): HeldTurn {
    const given =
      this.#turns.find(turn.queue, turn.token) ?? this.#left?.get(turnName(turn)) ?? new Held(turn, this.#released);
    if (given instanceof GivenTurn) given.inUse = true;
    const lost = this.#turns.lossOf(turn);
    if (lost !== undefined) given.lose(this.#causeOf(lost, turn, askedAt));
    const livesBySession = given instanceof GivenTurn && given.livesBySession;
    if (!livesBySession) this.renewals.keep(given, askedAt);
    return given;
  }

  /** @param open calls that are not answered: what they settle is theirs to end, and they may be answered with a turn */
  notice(message: wire.Notice, open: () => readonly WorkerCommand[]): void {
    if (message.turn === undefined) return;
    const { queue, key } = message.turn;
    const turn = { queue, key, token: fromWireToken(message.turn.token) };
    if (isKept(message)) return this.#kept(turn, open());
    const cause = lossOf(message);
    if (cause === undefined) return;
    this.#orphans?.claimed(turn);
    const given = this.#turns.find(queue, turn.token);
    if (given !== undefined) this.lose(given, cause);
  }

  /** What the answer to the hello could not say: the session has this turn still. Whose holder is not known goes back. */
  #kept(turn: TurnRef, open: readonly WorkerCommand[]): void {
    const given = this.#turns.find(turn.queue, turn.token);
    if (given !== undefined) return given.lost ? this.#givenUp.found(given) : this.#certain(given);
    if (this.#isWorkedOn(turn) || open.some((command) => settledName(command) === turnName(turn))) return;
    this.#orphans ??= new Orphans([], [], (orphan) => this.#giveBack(orphan));
    this.#orphans.add(turn, open);
    if (this.#orphans.isEmpty) this.#orphans = undefined;
  }

  /** A call of the application is open no more. */
  done(command: WorkerCommand): void {
    if (this.#orphans === undefined) return;
    this.#orphans.done(command);
    if (this.#orphans.isEmpty) this.#orphans = undefined;
  }

  /**
   * A new stream has the session. Turns that are not known here are given back; turns that are known here and that the sidecar
   * did not name are asked for with a Renew, and until its answer are no safer than they were.
   *
   * @param open calls that are not answered: what they settle is theirs to end
   * @param stopAt until when the turns were safe before
   */
  attached(told: readonly wire.TurnRef[], open: readonly WorkerCommand[], stopAt: number): void {
    const settling = new Set(open.flatMap((command) => settledName(command) ?? []));
    const here = new Set<GivenTurn>();
    const orphans: TurnRef[] = [];
    const there = told.map(turnRef);
    for (const turn of there) {
      const given = this.#turns.find(turn.queue, turn.token);
      if (given !== undefined) here.add(given);
      else if (settling.has(turnName(turn))) continue;
      else if (this.#isWorkedOn(turn)) continue;
      else orphans.push(turn);
    }
    this.#givenUp.forgetGone(there);
    this.#watchOrphans(orphans, open);
    const missing: GivenTurn[] = [];
    for (const given of this.#turns.all()) {
      if (here.has(given)) this.#certain(given);
      else if (given.tied) missing.push(given);
    }
    this.#askFor(missing, stopAt);
  }

  /** The stream is gone, and with it the notices that it would have brought. */
  detached(): void {
    this.#orphans = undefined;
    // The next hello names those that live.
    this.#unclaimed.clear();
    this.#unreleased.clear();
    this.#givenUp.detached();
    // No notice would come of the end of a lease. A turn with a lease that is held is renewed; of the others nothing is kept.
    for (const given of [...this.#turns.all()]) if (!given.tied) this.#turns.remove(given);
  }

  /** When {@link tick} is to be called. */
  nextAt(stopAt: number): number {
    let next = this.#turns.tied > 0 ? stopAt : Number.POSITIVE_INFINITY;
    for (const { safeUntil } of this.#uncertain) next = Math.min(next, safeUntil);
    return Math.min(next, this.#givenUp.nextAt, this.#unclaimed.nextAt, this.#unreleased.nextAt);
  }

  /** @returns whether tied turns were given up, which the session may have still */
  tick(now: number, stopAt: number): boolean {
    const isSilent = this.#turns.tied > 0 && now >= stopAt;
    if (isSilent) this.#loseTied('unreachable');
    for (const given of this.#uncertain) if (now >= given.safeUntil) this.lose(given, 'unreachable');
    this.#givenUp.tick(now);
    this.#giveBackUnclaimed(now);
    for (const turn of this.#unreleased.take(now)) this.#giveBack(turn, this.#silent.has(turn) ? SILENT : RELEASED);
    return isSilent;
  }

  /**
   * The client is being closed: holders are told, and each may give its turn back when it has ended. What nobody came for is
   * given back now.
   */
  closing(): void {
    this.#left = new Map();
    this.#giveBackUnclaimed(Number.POSITIVE_INFINITY);
    this.loseAll('closed');
  }

  /** A holder still works on a turn, though the client is being closed. */
  get isWorkLeft(): boolean {
    for (const { inUse } of this.#left?.values() ?? []) if (inUse) return true;
    return false;
  }

  /** It was given, and no handler will work on it. */
  giveBack(turn: TurnRef): void {
    const given = this.#turns.find(turn.queue, turn.token);
    if (given !== undefined) this.#drop(given);
    this.#left?.delete(turnName(turn));
    this.#giveBack(turn);
  }

  loseAll(cause: TurnLoss): void {
    this.renewals.close(cause);
    for (const given of [...this.#turns.all()]) this.lose(given, cause);
  }

  /** As with one that is held: by the clock it was lost before that was told. */
  #causeOf({ cause, toldAt, livesBySession }: LostTurn, { lease }: Turn, askedAt: number): TurnLoss {
    return !livesBySession && this.renewals.isOverAt(toldAt, lease, askedAt) ? 'unreachable' : cause;
  }

  /** It was lost by the clock before anything was told. */
  #isOver(held: Held): boolean {
    return this.renewals.isOver(held) || (held instanceof GivenTurn && held.safeUntil <= this.clock.now());
  }

  #loseTied(cause: TurnLoss): void {
    for (const given of [...this.#turns.all()]) if (given.tied) this.lose(given, cause);
  }

  #watchOrphans(turns: readonly TurnRef[], open: readonly WorkerCommand[]): void {
    const orphans = new Orphans(turns, open, (turn) => this.#giveBack(turn));
    this.#orphans = orphans.isEmpty ? undefined : orphans;
  }

  #release(held: Held): void {
    this.renewals.drop(held);
    if (!(held instanceof GivenTurn)) return;
    held.inUse = false;
    this.#givenUp.ended(held);
    // Its holder was told that the client is being closed, and did not settle it.
    if (this.#left?.delete(turnName(held.turn))) this.#giveBack(held.turn);
  }

  #giveBackUnclaimed(now: number): void {
    for (const turn of this.#unclaimed.take(now))
      if (this.#turns.find(turn.queue, turn.token) === undefined) this.#giveBack(turn);
  }

  /** The turn is not among the given ones any more, but it was delivered: no open call waits for it. */
  #isWorkedOn(turn: TurnRef): boolean {
    // Its holder has a moment to end, and then gives it back.
    return this.#left?.has(turnName(turn)) === true || this.#givenUp.told(turn);
  }

  #askFor(missing: readonly GivenTurn[], stopAt: number): void {
    for (const given of missing) {
      given.safeUntil = Math.min(given.safeUntil, stopAt);
      this.#uncertain.add(given);
    }
    for (let at = 0; at < missing.length; at += MOST_PER_RENEW) {
      const batch = missing.slice(at, at + MOST_PER_RENEW);
      const turns = batch.map(({ turn: { queue, key, token } }) => ({ queue, key, token }));
      const call = { $case: 'renew', value: wireRenew({ turns }) } as const;
      this.ask(new OwnCommand(call, (outcome) => this.#renewed(batch, outcome)));
    }
  }

  #renewed(batch: readonly GivenTurn[], outcome: Outcome | undefined): void {
    // No answer leaves them as uncertain as they are.
    if (outcome?.$case !== 'renew') return;
    const { results } = renewAnswer(outcome.value);
    for (const [at, given] of batch.entries()) {
      const result = results[at];
      if (result === undefined) continue;
      // Its holder was told to stop before this answer came. A sidecar that adopted it would keep it for ever.
      if (given.lost && result.alive) this.#givenUp.found(given);
      else if (result.alive) this.#certain(given);
      else this.lose(given, result.cause);
    }
  }

  #certain(given: GivenTurn): void {
    given.safeUntil = Number.POSITIVE_INFINITY;
    this.#uncertain.delete(given);
  }

  #drop(given: GivenTurn): void {
    this.renewals.drop(given);
    this.#uncertain.delete(given);
    this.#turns.remove(given);
  }

  /**
   * Ends the turn. Should that be lost too, the next hello names the turn again. What is refused for now is sent again: the session
   * would keep the turn. A queue that gives its items once takes no attempt back: it is told that they are released.
   */
  #giveBack(turn: TurnRef, how: typeof RELEASED | typeof SILENT = RELEASED): void {
    const { queue, key, token } = turn;
    const call = { $case: 'nack', value: wireNack({ queue, key, token, ...how }) } as const;
    this.ask(
      new OwnCommand(call, (outcome) => {
        const refused = outcome?.$case === 'error' ? outcome.value.code : undefined;
        if (refused === FAILED_PRECONDITION && how === SILENT) this.#giveBack(turn);
        else if (refused === UNAVAILABLE && !this.#unreleased.isFull) {
          this.#unreleased.add(turn, this.clock.now());
          if (how === SILENT) this.#silent.add(turn);
        } else this.#givenUp.remove(turn);
      }),
    );
  }
}

function settledName(command: WorkerCommand): string | undefined {
  const settles = command.settles();
  return settles && turnName(settles);
}
