/** When a member moves what it has: for even shares, and because a person wants it (pins). */
import { fitsPin, type Pins, withPin } from '../partitions/pins.js';
import { amend } from '../store/amend.js';
import type { ClusterStore, Pin } from '../store/cluster-store.js';
import type { View } from './listing.js';

/** Only when the members have not changed for so long a partition is moved that nobody asked for, ms. */
const UNCHANGED = 15_000;
/** How long it is looked often for partitions that should come here, ms. */
const MOVES_TAKE = 10_000;
/** A move that was called off is not tried again before, ms. */
const AFTER_CALLED_OFF = 15_000;

/** A pin that is new is followed at once for so long; after it as all moves are, ms. */
const NEW_FOR = 30_000;
/** A pin whose member was not seen for so long ends, ms. */
const FORGOTTEN_AFTER = 3_600_000;
/** And is tried to be removed so often, ms. */
const FORGET_EVERY = 60_000;
/** Beyond a session: its clock and this one drift apart, ms. */
const DRIFT = 500;

interface NewPin {
  readonly pin: Pin;
  readonly since: number;
}

export class Moves {
  /** Unset: nothing was seen yet, so nothing is new. */
  #pins: Pins | undefined;
  readonly #new = new Map<number, NewPin>();
  #seenSince = new Map<string, number>();
  /** By partition. */
  #unseenSince = new Map<number, NewPin>();
  #forgetAt = Number.NEGATIVE_INFINITY;
  readonly #notBefore = new Map<number, number>();

  constructor(private readonly ttl: number) {}

  see({ pins, members, guards, wanted }: View, now: number): void {
    this.#seenSince = new Map([...members.keys()].map((id) => [id, this.#seenSince.get(id) ?? now]));
    const before = this.#pins;
    this.#pins = pins;
    const changed = before === undefined || before === pins ? [] : changes(before, pins);
    for (const partition of changed) {
      this.#notBefore.delete(partition);
      const pin = pins.get(partition);
      if (pin === undefined) this.#new.delete(partition);
      else this.#new.set(partition, { pin, since: now });
    }
    for (const [partition, { since }] of this.#new) {
      const guard = guards[partition];
      const isThere = guard !== undefined && guard.owner !== '' && guard.member === wanted.of(partition);
      if (isThere || now - since > NEW_FOR) this.#new.delete(partition);
    }
    this.#seeGone(pins, members, now);
  }

  /**
   * Whether this member, which is its home, hands it over now. Who is told so does.
   * @param id of this member
   */
  isToMove(partition: number, id: string, { wanted, members, since }: View, now: number): boolean {
    const home = wanted.of(partition);
    if (home === undefined || home === id || !members.has(home)) return false;
    // A person waits: the 15 s are for moves that nobody asked for.
    const isAskedFor = this.#isNew(partition, now) && wanted.isPinned(partition) && this.#mayTake(home, now);
    if (!isAskedFor && now - since < UNCHANGED) return false;
    if (now < (this.#notBefore.get(partition) ?? now)) return false;
    this.#notBefore.set(partition, now + AFTER_CALLED_OFF);
    return true;
  }

  /** A member leaves, or hands over what this one is the home for: whoever sees the guard free first need not wait for it. */
  areUnderWay(id: string, { guards, members, wanted, since }: View, now: number): boolean {
    const leaving = new Set([...members.values()].filter(({ isLeaving }) => isLeaving).map((member) => member.id));
    // One that has handed over all, and lets turns end, is no reason.
    if (leaving.size > 0 && guards.some(({ owner, member }) => owner === '' || leaving.has(member))) return true;
    const isBalancing = now - since >= UNCHANGED && now - since <= UNCHANGED + MOVES_TAKE;
    return guards.some(({ partition, member }) => {
      const isSoon = isBalancing || this.#isNew(partition, now, MOVES_TAKE);
      return isSoon && member !== id && wanted.of(partition) === id;
    });
  }

  /**
   * Pins end whose members are gone for good, or have other names now.
   * @returns unset: there is nothing to do; each is tried once a minute. It rejects with what the store says.
   */
  forget(store: Pick<ClusterStore, 'changeRecord' | 'look'>, now: number): Promise<unknown> | undefined {
    const gone = [...this.#unseenSince].filter(([, { since }]) => now - since >= FORGOTTEN_AFTER);
    if (gone.length === 0 || now < this.#forgetAt) return undefined;
    this.#forgetAt = now + FORGET_EVERY;
    return amend(store, (record) => {
      const still = gone.filter(([partition, { pin }]) => record.pins?.[partition]?.at === pin.at);
      if (still.length === 0) return undefined;
      return still.reduce((changed, [partition]) => withPin(changed, partition, undefined), record);
    });
  }

  /** @param within it was asked for, at most so many ms ago */
  #isNew(partition: number, now: number, within = NEW_FOR): boolean {
    const since = this.#new.get(partition)?.since;
    return since !== undefined && now - since <= within;
  }

  /** A member that has just begun claims nothing before one session is over. */
  #mayTake(member: string, now: number): boolean {
    const since = this.#seenSince.get(member);
    return since !== undefined && now - since >= this.ttl + DRIFT;
  }

  #seeGone(pins: Pins, members: View['members'], now: number): void {
    const unseen = new Map<number, NewPin>();
    for (const [partition, pin] of pins) {
      if ([...members.values()].some((member) => fitsPin(pin, member))) continue;
      const known = this.#unseenSince.get(partition);
      unseen.set(partition, known?.pin.at === pin.at ? known : { pin, since: now });
    }
    this.#unseenSince = unseen;
  }
}

function changes(before: Pins, after: Pins): readonly number[] {
  const partitions = new Set([...before.keys(), ...after.keys()]);
  return [...partitions].filter((partition) => before.get(partition)?.at !== after.get(partition)?.at);
}
