import assert from 'node:assert/strict';
import type { Delivery, Policy, Turn, TurnRef } from '../../src/coordinator.js';

interface Known {
  turn: Turn;
  readonly since: number;
  /** By its lease, its renewals, its session and `max_hold`, on the clock of the test: wall clocks step. */
  until: number;
  /** The session it is tied to. */
  session: string | undefined;
  /** Why it may be over before that. */
  endedBy: Claim | undefined;
}

/** Some session, or none. No session has such a name. */
const NOBODY_KNOWS = '';

/** Something that was asked for and ends a turn, if it is granted. */
interface Claim {
  refused: boolean;
  readonly what: string;
}

/**
 * What an outsider can know about turns: who was given what, until when, and what was done to end it. It believes
 * nothing but answers, and throws when two of them cannot both be true.
 */
export class Ledger {
  readonly #turns = new Map<number, Known>();
  readonly #newest = new Map<string, Known>();
  readonly #delivered = new Map<string, number>();
  readonly #lastFirst = new Map<string, number>();
  readonly #serials = new Map<string, number>();
  readonly #accepted = new Set<string>();
  #offers = 0;
  /** Claims without which an earlier turn would still have been live when the next one began. */
  readonly #reliedOn = new Set<Claim>();

  constructor(private readonly policyOf: (queue: string) => Pick<Policy, 'onWaitTimeout' | 'maxHold'>) {}

  /** Turns that somebody got to know of. */
  get turns(): number {
    return this.#turns.size;
  }

  /** A turn was handed over, or told again; tied to a session, if it was. @returns whether it is new */
  granted(turn: Turn, now: number, session?: string): boolean {
    const known = this.#turns.get(turn.token);
    if (known !== undefined) {
      assert.deepEqual([known.turn.queue, known.turn.key], [turn.queue, turn.key], 'a token belongs to one key');
      this.#moved(known, turn, now, session);
      return false;
    }
    const lane = name(turn);
    const before = turn.key === '' ? undefined : this.#newest.get(lane);
    if (before !== undefined) this.#follows(before, turn, now);
    const fresh: Known = { turn, since: now, until: now, session, endedBy: undefined };
    this.#turns.set(turn.token, fresh);
    this.#newest.set(lane, fresh);
    if (session === undefined) this.renewed(turn, now, undefined);
    else this.#liveUntil(fresh, Number.POSITIVE_INFINITY);
    return true;
  }

  /** Told once more: it is theirs who asked last. */
  #moved(known: Known, turn: Turn, now: number, session: string | undefined): void {
    if (session === undefined && known.session === NOBODY_KNOWS) return;
    const wasTied = known.session !== undefined;
    known.session = session;
    if (session !== undefined) this.#liveUntil(known, Number.POSITIVE_INFINITY);
    else if (wasTied) {
      // Who asked may have asked for another lease.
      known.turn = turn;
      this.renewed(turn, now, undefined);
    }
  }

  /** It was told once more, but to nobody: whose it is now, and how long it lives, is not known. */
  strayed(turn: TurnRef, now: number, session: string | undefined): void {
    const known = this.#turns.get(turn.token);
    if (known === undefined || known.session === session) return;
    known.session = NOBODY_KNOWS;
    known.until = Math.min(known.until, now);
  }

  /** The stream of a session broke. */
  broke(session: string, until: number): void {
    for (const known of this.#turns.values()) if (known.session === session) this.#liveUntil(known, until);
  }

  /** These are all that a session took back from its earlier stream. */
  resumed(session: string, turns: readonly TurnRef[], now: number): void {
    const back = new Set(turns.map(({ token }) => token));
    for (const known of this.#turns.values()) {
      if (known.session !== session) continue;
      if (back.has(known.turn.token)) this.#liveUntil(known, Number.POSITIVE_INFINITY);
      else {
        assert.ok(
          known.endedBy !== undefined || now >= known.until || this.#isGone(known),
          'tied turns are taken back',
        );
        known.session = undefined;
      }
    }
  }

  /** A later turn of the key began: that it could is checked there. */
  #isGone({ turn }: Known): boolean {
    return turn.key !== '' && (this.#newest.get(name(turn))?.turn.token ?? 0) > turn.token;
  }

  #liveUntil(known: Known, until: number): void {
    const { maxHold = Number.POSITIVE_INFINITY } = this.policyOf(known.turn.queue);
    known.until = Math.min(until, known.since + maxHold);
  }

  #follows(before: Known, turn: Turn, now: number): void {
    assert.ok(turn.token > before.turn.token, `I5: ${turn.token} after ${before.turn.token}`);
    if (now >= before.until || this.policyOf(turn.queue).onWaitTimeout === 'take_over') return;
    assert.ok(before.endedBy !== undefined, `I1: ${name(turn)} given at ${now}, held until ${before.until}`);
    this.#reliedOn.add(before.endedBy);
  }

  /** Somebody asks for the end of a turn; the answer says whether it is granted. */
  claimEnd(turn: TurnRef, what: string): Claim {
    const claim = { refused: false, what };
    const known = this.#turns.get(turn.token);
    if (known?.endedBy === undefined || known.endedBy.refused) {
      if (known !== undefined && known.turn.key === turn.key && known.turn.queue === turn.queue) known.endedBy = claim;
    }
    return claim;
  }

  /** As {@link claimEnd}, of whatever turn the key has now. */
  claimEndOf(queue: string, key: string, what: string): Claim | undefined {
    const known = this.#newest.get(name({ queue, key }));
    return known && this.claimEnd(known.turn, what);
  }

  refused(claim: Claim): void {
    claim.refused = true;
    assert.ok(!this.#reliedOn.has(claim), `I1: a turn was given because of a ${claim.what} that was refused`);
  }

  renewed(turn: TurnRef, now: number, lease: number | undefined): void {
    const known = this.#turns.get(turn.token);
    if (known === undefined || known.session !== undefined) return;
    this.#liveUntil(known, now + (lease ?? known.turn.lease));
  }

  /** An item is submitted now. What is accepted keeps this place in the order, what is not may come again. */
  offered(queue: string, id: string): void {
    const item = `${queue}/${id}`;
    if (!this.#accepted.has(item)) this.#serials.set(item, ++this.#offers);
  }

  accepted(queue: string, id: string): void {
    this.#accepted.add(`${queue}/${id}`);
  }

  /** It became a dead letter, perhaps without being handed out: redriven, it comes when it comes. */
  died(queue: string, id: string): void {
    this.#serials.delete(`${queue}/${id}`);
  }

  /** Nobody outside knows when it was accepted. */
  orderUnknown(queue: string, id: string): void {
    const item = `${queue}/${id}`;
    if (!this.#accepted.has(item)) this.#serials.delete(item);
    this.#accepted.add(item);
  }

  /** I3: the first time that items of a key are handed out is in the order in which they were submitted. */
  delivered({ turn, items }: Delivery): void {
    for (const { itemId, attempt } of items) {
      const item = `${turn.queue}/${itemId}`;
      const before = this.#delivered.get(item) ?? 0;
      this.#delivered.set(item, attempt);
      if (before > 0 || turn.key === '') continue;
      const serial = this.#serials.get(item);
      if (serial === undefined) continue;
      const last = this.#lastFirst.get(name(turn)) ?? 0;
      assert.ok(serial >= last, `I3: ${item} of ${name(turn)} came out of order`);
      this.#lastFirst.set(name(turn), serial);
    }
  }

  wasDelivered(queue: string, id: string): boolean {
    return this.#delivered.has(`${queue}/${id}`);
  }

  /** It was forgotten and may be submitted anew. */
  forgotten(queue: string, id: string): void {
    this.#serials.delete(`${queue}/${id}`);
    this.#accepted.delete(`${queue}/${id}`);
    this.#delivered.delete(`${queue}/${id}`);
  }
}

function name({ queue, key }: { readonly queue: string; readonly key: string }): string {
  return `${queue}/${key}`;
}
