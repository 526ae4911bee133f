/**
 * What a session does for the turns it was given: it knows which the application holds, tells when one is lost, and gives
 * back those of which nobody learnt.
 */

import type * as wire from '../gen/keyturn/v1/coordinator.js';
import type { Clock } from '../time/clock.js';
import { Held } from '../turns/held-turn.js';
import type { Renewals } from '../turns/renewals.js';
import { lossOf, renewAnswer, turnRef } from '../wire/answers.js';
import { wireNack, wireRenew } from '../wire/requests.js';
import { fromWireToken } from '../wire/time.js';
import type { HeldTurn } from '../words/calls.js';
import { type KeyturnError, type TurnLoss, TurnLostError } from '../words/errors.js';
import type { Token, Turn, TurnRef } from '../words/worker-words.js';
import { type Books, type Outcome, OwnCommand, type WorkerCommand } from './command.js';
import { GivenTurn, GivenTurns } from './given-turns.js';
import { Orphans } from './orphans.js';

/** How long a turn waits for a call with the ticket whose earlier call was given up: as the sidecar keeps a place, if not told otherwise. */
const UNCLAIMED_MS = 10_000;
/** More of them are not waited for. */
const MOST_UNCLAIMED = 10_000;
/** Turns that were told lost and may live; more are not remembered, and wait as those do of which nobody learnt. */
const MOST_GIVEN_UP = 100_000;
/** A hello names no more turns than that. */
const MOST_TOLD = 10_000;
/** The most that one Renew may name. */
const LARGEST_RENEW = 1_000;

interface Unclaimed {
  readonly turn: TurnRef;
  readonly until: number;
}

export class TurnKeeping implements Books {
  readonly #turns = new GivenTurns();
  #orphans: Orphans | undefined;
  #unclaimed: Unclaimed[] = [];
  /** Tied turns that a new stream did not tell of, until a Renew does. */
  readonly #uncertain = new Set<GivenTurn>();
  /**
   * Tied turns of which their holders were told that they are lost, though the session may have them still, by name. They
   * were delivered, so no open call waits for them: whoever finds one gives it back at once.
   */
  readonly #givenUp = new Map<string, GivenTurn>();
  /** Those of them that the session has, and whose holders have not come to their end. */
  readonly #stopping = new Set<GivenTurn>();
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
  ) {}

  /** Turns that live as long as the session does. */
  get tied(): number {
    return this.#turns.tied;
  }

  given(turn: Turn, tied: boolean, ticket: string | undefined): void {
    this.#orphans?.claimed(turn);
    const known = this.#turns.find(turn.queue, turn.token);
    if (known !== undefined) this.#certain(known);
    // An Ack took it along, and nobody takes work any more.
    else if (this.#left !== undefined) this.giveBack(turn);
    else this.#turns.add(new GivenTurn(turn, tied, ticket, this.#released));
  }

  undelivered(turn: Turn, ticket: string | undefined): void {
    if (this.#turns.find(turn.queue, turn.token) !== undefined) return;
    const isKept = ticket !== undefined && this.#left === undefined && this.#unclaimed.length < MOST_UNCLAIMED;
    if (!isKept) this.#giveBack(turn);
    else this.#unclaimed.push({ turn, until: this.clock.now() + UNCLAIMED_MS });
  }

  settled(queue: string, key: string, token: Token | undefined, ticket: string | undefined): void {
    const given =
      token === undefined ? this.#turns.findByTicket(queue, key, ticket ?? '') : this.#turns.find(queue, token);
    if (given !== undefined) this.#drop(given);
    if (token !== undefined) this.#left?.delete(nameOf({ queue, token }));
  }

  /** It settles a turn that lives as long as the session: should it not come through, nobody else would end it. */
  isEndedBy(command: WorkerCommand): boolean {
    const settles = command.settles();
    return settles !== undefined && this.#turns.find(settles.queue, settles.token)?.tied === true;
  }

  lost({ queue, token }: { readonly queue: string; readonly token: Token }, error: KeyturnError): void {
    const given = this.#turns.find(queue, token);
    if (given !== undefined) this.lose(given, error instanceof TurnLostError ? error.loss : 'unknown');
  }

  /** Of a given turn and of any other that was held here. */
  lose(held: Held, cause: TurnLoss): void {
    this.renewals.drop(held);
    if (!(held instanceof GivenTurn)) return held.lose(cause);
    this.#uncertain.delete(held);
    // Before its holder hears of it, who may end at once. One with a lease may be in no book any more.
    if (cause === 'closed') this.#left?.set(nameOf(held.turn), held);
    if (held.tied && cause === 'unreachable' && this.#givenUp.size < MOST_GIVEN_UP) {
      held.endAt = this.clock.now() + this.marginOfLife();
      this.#givenUp.set(nameOf(held.turn), held);
    }
    this.#turns.lose(held, cause);
  }

  hold(turn: Turn, askedAt: number): HeldTurn {
    const given =
      this.#turns.find(turn.queue, turn.token) ?? this.#left?.get(nameOf(turn)) ?? new Held(turn, this.#released);
    if (given instanceof GivenTurn) given.inUse = true;
    const loss = this.#turns.lossOf(turn);
    if (loss !== undefined) given.lose(loss);
    // Not tied, or it has an end that may be that of a lease: then it is renewed as well, which harms no turn.
    const livesBySession = given instanceof GivenTurn && given.tied && turn.leaseExpiresAt === Number.POSITIVE_INFINITY;
    if (!livesBySession) this.renewals.keep(given, askedAt);
    return given;
  }

  notice(message: wire.Notice): void {
    const cause = lossOf(message);
    if (cause === undefined || message.turn === undefined) return;
    const { queue, key } = message.turn;
    const token = fromWireToken(message.turn.token);
    this.#orphans?.claimed({ queue, key, token });
    const given = this.#turns.find(queue, token);
    if (given !== undefined) this.lose(given, cause);
  }

  /** A call of the application is open no more. */
  done(command: WorkerCommand): void {
    if (this.#orphans === undefined) return;
    this.#orphans.done(command);
    if (this.#orphans.isEmpty) this.#orphans = undefined;
  }

  /**
   * A new stream has the session. Turns of which nobody here knows are given back; those that are known here and not
   * there are asked for, and until the answer are no safer than they were.
   *
   * @param open calls that are not answered: what they settle is theirs to end
   * @param stopAt until when the turns were safe before
   */
  attached(told: readonly wire.TurnRef[], open: readonly WorkerCommand[], stopAt: number): void {
    const settling = new Set(open.flatMap((command) => nameOfSettled(command) ?? []));
    const here = new Set<GivenTurn>();
    const orphans: TurnRef[] = [];
    for (const turn of told.map(turnRef)) {
      const given = this.#turns.find(turn.queue, turn.token);
      if (given !== undefined) here.add(given);
      else if (settling.has(nameOf(turn))) continue;
      else if (this.#isWorkedOn(turn)) continue;
      else orphans.push(turn);
    }
    this.#forgetGone(told.map(turnRef));
    this.#watchOrphans(orphans, open);
    const missing: GivenTurn[] = [];
    for (const given of this.#turns.all()) {
      if (here.has(given)) this.#certain(given);
      else if (given.tied) missing.push(given);
    }
    this.#askFor(missing, stopAt);
  }

  /** The stream is gone, and with it what was to be told on it. */
  detached(): void {
    this.#orphans = undefined;
    // A new stream tells of those that live.
    this.#unclaimed = [];
    this.#stopping.clear();
    // Nobody would tell of the end of a lease. Who holds such a turn has it renewed; of the others nothing is kept.
    for (const given of [...this.#turns.all()]) if (!given.tied) this.#turns.remove(given);
  }

  /** When {@link tick} is to be called. */
  nextAt(stopAt: number): number {
    let next = this.#turns.tied > 0 ? stopAt : Number.POSITIVE_INFINITY;
    for (const { safeUntil } of this.#uncertain) next = Math.min(next, safeUntil);
    for (const { endAt } of this.#stopping) next = Math.min(next, endAt);
    return Math.min(next, this.#unclaimed[0]?.until ?? Number.POSITIVE_INFINITY);
  }

  /** @returns whether tied turns were given up, which the session may have still */
  tick(now: number, stopAt: number): boolean {
    const isSilent = this.#turns.tied > 0 && now >= stopAt;
    if (isSilent) this.#loseTied('unreachable');
    for (const given of this.#uncertain) if (now >= given.safeUntil) this.lose(given, 'unreachable');
    for (const given of this.#stopping) if (now >= given.endAt) this.#stopped(given);
    while (this.#unclaimed[0] !== undefined && now >= this.#unclaimed[0].until) {
      const { turn } = this.#unclaimed[0];
      this.#unclaimed.shift();
      if (this.#turns.find(turn.queue, turn.token) === undefined) this.#giveBack(turn);
    }
    return isSilent;
  }

  /**
   * The client is being closed: holders are told, and each may give its turn back when it has ended. What nobody came for is
   * given back now.
   */
  closing(): void {
    this.#left = new Map();
    for (const { turn } of this.#unclaimed)
      if (this.#turns.find(turn.queue, turn.token) === undefined) this.#giveBack(turn);
    this.#unclaimed = [];
    this.loseAll('closed');
  }

  /** Somebody works on a turn still, though the client is being closed. */
  get isWorkLeft(): boolean {
    for (const { inUse } of this.#left?.values() ?? []) if (inUse) return true;
    return false;
  }

  /** It was given, and nobody will work on it. */
  giveBack(turn: TurnRef): void {
    const given = this.#turns.find(turn.queue, turn.token);
    if (given !== undefined) this.#drop(given);
    this.#left?.delete(nameOf(turn));
    this.#giveBack(turn);
  }

  loseAll(cause: TurnLoss): void {
    this.renewals.close(cause);
    for (const given of [...this.#turns.all()]) this.lose(given, cause);
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
    this.#stopped(held);
    // Its holder was told that the client is being closed, and did not settle it.
    if (this.#left?.delete(nameOf(held.turn))) this.#giveBack(held.turn);
  }

  /** The holder of a turn that was given up has come to its end, or has had the time to. */
  #stopped(given: GivenTurn): void {
    if (this.#stopping.delete(given)) this.#giveBack(given.turn);
  }

  /** Nobody here has it any more, but it was delivered: no open call waits for it. */
  #isWorkedOn(turn: TurnRef): boolean {
    // Whoever works on it has a moment to end, and then gives it back.
    if (this.#left?.has(nameOf(turn))) return true;
    const given = this.#givenUp.get(nameOf(turn));
    if (given === undefined) return false;
    this.#backAgain(given);
    return true;
  }

  /**
   * The session has a turn that was told lost. Its holder was told a margin before its end: nobody else shall begin before it
   * has ended, or has had that time.
   */
  #backAgain(given: GivenTurn): void {
    if (given.inUse && this.clock.now() < given.endAt) this.#stopping.add(given);
    else this.#giveBack(given.turn);
  }

  /** What the session has not is gone. */
  #forgetGone(told: readonly TurnRef[]): void {
    if (this.#givenUp.size === 0 || told.length >= MOST_TOLD) return;
    const there = new Set(told.map(nameOf));
    for (const name of this.#givenUp.keys()) if (!there.has(name)) this.#givenUp.delete(name);
  }

  #askFor(missing: readonly GivenTurn[], stopAt: number): void {
    for (const given of missing) {
      given.safeUntil = Math.min(given.safeUntil, stopAt);
      this.#uncertain.add(given);
    }
    for (let at = 0; at < missing.length; at += LARGEST_RENEW) {
      const batch = missing.slice(at, at + LARGEST_RENEW);
      const turns = batch.map(({ turn: { queue, key, token } }) => ({ queue, key, token }));
      const call = { $case: 'renew', value: wireRenew({ turns }) } as const;
      this.ask(new OwnCommand(call, (outcome) => this.#told(batch, outcome)));
    }
  }

  #told(batch: readonly GivenTurn[], outcome: Outcome | undefined): void {
    // No answer leaves them as uncertain as they are.
    if (outcome?.$case !== 'renew') return;
    const { results } = renewAnswer(outcome.value);
    for (const [at, given] of batch.entries()) {
      const result = results[at];
      if (result === undefined) continue;
      // Its holder was told to stop before this answer came. A sidecar that adopted it would keep it for ever.
      if (given.lost && result.alive) {
        this.#givenUp.set(nameOf(given.turn), given);
        this.#backAgain(given);
      } else if (result.alive) this.#certain(given);
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

  /** Whatever the turn carries: it is as if it had not been given. Should this be lost too, the next stream tells of the turn again. */
  #giveBack({ queue, key, token }: TurnRef): void {
    const call = { $case: 'nack', value: wireNack({ queue, key, token, kind: 'release' }) } as const;
    this.ask(new OwnCommand(call, () => void this.#givenUp.delete(nameOf({ queue, token }))));
  }
}

function nameOf({ queue, token }: { readonly queue: string; readonly token: Token }): string {
  return `${queue} ${token}`;
}

function nameOfSettled(command: WorkerCommand): string | undefined {
  const settles = command.settles();
  return settles && nameOf(settles);
}
