/**
 * A person moves a partition: its pin is written into the record of the cluster, which every member follows, and it is waited
 * until the new home is open. The home of the partition need not be reached from here; what decides is what is in the store.
 */
import type { MoveRequest, MoveView, Refusal, Result } from '../../coordinator.js';
import { badRequest, DRAINING } from '../../core/contract/refusals.js';
import type { Clock } from '../../local/clock.js';
import { JournalError } from '../../local/journal/journal.js';
import { fitsPin, memberNamed, pinsOf, pinText, whyNotHome, withPin } from '../partitions/pins.js';
import type { Member, Registry } from '../registry/registry.js';
import { amend } from '../store/amend.js';
import type { ClusterRecord, ClusterStore, Guard, Pin } from '../store/cluster-store.js';

/** So long it is waited for the new home, ms. */
const PATIENCE = 20_000;
/** Between two looks at what homes say, ms. */
const LOOK_EVERY = 50;
/** Between two looks at everything, of those: members, guard and record. */
const LOOKS = 10;
/** Calls that wait at once: each looks often. */
const MOST_AT_ONCE = 16;

interface MovingOptions {
  readonly clock: Clock;
  readonly store: Pick<ClusterStore, 'changeRecord' | 'look'>;
  readonly registry: Pick<Registry, 'members' | 'homes'>;
  /** Of the cluster, as it was read once. */
  readonly record: Pick<ClusterRecord, 'id' | 'partitions'>;
  /** Nothing is waited for any more. */
  isEnded(): boolean;
}

interface Seen {
  readonly members: readonly Member[];
  readonly guard: Guard;
  readonly pin: Pin | undefined;
  /** The record of this cluster is there. */
  readonly hasRecord: boolean;
}

interface Wanted {
  readonly member: Member;
  readonly pin: Pin;
  /** As it was before. */
  readonly before: Seen;
}

export class Moving {
  #underWay = 0;

  constructor(private readonly options: MovingOptions) {}

  /** @throws Error of the registry, JournalError */
  async move(request: MoveRequest): Promise<Result<MoveView>> {
    const { partitions } = this.options.record;
    const { partition } = request;
    if (!Number.isInteger(partition) || partition < 0 || partition >= partitions) {
      const allowed = `allowed: 0 to ${partitions - 1}`;
      return { ok: false, refusal: badRequest('partition', `${partition} is not allowed; ${allowed}`) };
    }
    if (this.#underWay >= MOST_AT_ONCE) return { ok: false, refusal: tooMany() };
    this.#underWay += 1;
    try {
      return request.member === undefined ? await this.#release(partition) : await this.#to(partition, request.member);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #release(partition: number): Promise<Result<MoveView>> {
    const record = await this.#amend((now) =>
      now.pins?.[partition] === undefined ? undefined : withPin(now, partition, undefined),
    );
    if (record === undefined) return noRecord();
    const { members, guard } = await this.#look(partition);
    const home = homeOf(guard, members);
    const [member, name] = [home?.id ?? '', home?.name ?? ''];
    return { ok: true, value: { state: 'released', member, name, previous: name, paused: undefined, why: '' } };
  }

  async #to(partition: number, said: string): Promise<Result<MoveView>> {
    const before = await this.#look(partition);
    const named = memberNamed(said, before.members);
    if ('why' in named) return notMovable(named.why);
    const { member } = named;
    const cannot = whyNotHome(member, before.guard.format);
    if (cannot !== undefined) return notMovable(`partition ${partition} cannot be moved there: ${cannot}`);
    const record = await this.#amend((now, at) => withPin(now, partition, { ...named.pin, at }));
    const pin = record?.pins?.[partition];
    if (pin === undefined) return noRecord();
    return this.#wait(partition, { member, pin, before });
  }

  async #wait(partition: number, wanted: Wanted): Promise<Result<MoveView>> {
    const { clock } = this.options;
    const begun = clock.now();
    const { before } = wanted;
    const wasThere = homeOf(before.guard, before.members)?.id === wanted.member.id;
    let seen: Seen = { ...before, pin: wanted.pin, hasRecord: true };
    let trouble: string | undefined;
    for (let looks = 1; ; looks += 1) {
      try {
        const open = await this.#open(partition, seen, wanted, wasThere);
        if (open !== undefined) return { ok: true, value: open };
        if (looks % LOOKS === 0) seen = await this.#look(partition);
        trouble = undefined;
      } catch (error) {
        // The pin is written: the move goes on, whatever this sidecar sees of it.
        if (!(error instanceof JournalError)) throw error;
        trouble = error.message;
      }
      if (!seen.hasRecord) return noRecord();
      if (seen.pin?.at !== wanted.pin.at) return overtaken(partition, seen.pin);
      if (this.options.isEnded()) return { ok: false, refusal: DRAINING };
      if (clock.now() - begun >= PATIENCE) break;
      await new Promise<void>((resolve) => void clock.after(LOOK_EVERY, resolve));
    }
    const { member } = wanted;
    const previous = homeOf(before.guard, before.members)?.name ?? '';
    const why = trouble === undefined ? inTheWay(seen, wanted) : `not known after ${PATIENCE / 1_000} s: ${trouble}`;
    return {
      ok: true,
      value: { state: 'under_way', member: member.id, name: member.name, previous, paused: undefined, why },
    };
  }

  /** A home says that it is open by what it publishes; a claim later than the one that was seen first is that of the move. */
  async #open(
    partition: number,
    { members }: Seen,
    { pin, before, member }: Wanted,
    wasThere: boolean,
  ): Promise<MoveView | undefined> {
    const homes = await this.options.registry.homes();
    const entry = homes.find((home) => home.partition === partition);
    if (entry === undefined) return undefined;
    // The process may have another id by now, or be another one of that name.
    const home = [...members, member].find(({ id }) => id === entry.member);
    if (home === undefined || !fitsPin(pin, home)) return undefined;
    const isLater = entry.epoch > before.guard.epoch;
    if (!isLater && !(wasThere && entry.epoch === before.guard.epoch)) return undefined;
    const { id, name } = home;
    const previous = homeOf(before.guard, before.members)?.name ?? '';
    if (!isLater) return { state: 'already_there', member: id, name, previous, paused: undefined, why: '' };
    return { state: 'moved', member: id, name, previous, paused: entry.paused, why: '' };
  }

  async #look(partition: number): Promise<Seen> {
    const { store, registry, record: own } = this.options;
    const { guards, record } = await store.look(own.partitions);
    const members = (await registry.members()).filter(({ cluster }) => cluster === undefined || cluster === own.id);
    const guard = guards[partition];
    if (guard === undefined) throw new TypeError(`partition ${partition} has no guard`);
    const hasRecord = record?.id === own.id;
    return { members, guard, pin: hasRecord ? pinsOf(record).get(partition) : undefined, hasRecord };
  }

  /** Of an emptied store in which another cluster began nothing is changed. @returns unset: there is no record of this cluster */
  async #amend(change: Parameters<typeof amend>[1]): Promise<ClusterRecord | undefined> {
    const { store, record: own } = this.options;
    const record = await amend(store, (now, at) => (now.id === own.id ? change(now, at) : undefined));
    return record?.id === own.id ? record : undefined;
  }
}

/** @throws what is no error of the cluster's store */
export function asRefusal(error: unknown): { readonly ok: false; readonly refusal: Refusal } {
  if (!(error instanceof JournalError)) throw error;
  return { ok: false, refusal: { kind: 'store_unavailable', description: error.message, retryAfter: 1_000 } };
}

function homeOf({ owner, member }: Guard, members: readonly Member[]): Member | undefined {
  return owner === '' ? undefined : members.find(({ id }) => id === member);
}

/** For people: what is waited for, and what to look at. */
function inTheWay({ members, guard }: Seen, { member, pin }: Wanted): string {
  const to = pinText(pin);
  const after = `not done after ${PATIENCE / 1_000} s`;
  if (!members.some((one) => fitsPin(pin, one)))
    return `${after}: ${to} is not a member now; it gets the partition when it is one again, and another one has it until then`;
  const home = homeOf(guard, members);
  if (guard.owner !== '' && home === undefined)
    return `${after}: its home is gone, and its session is not over yet; look at "keyturn cluster"`;
  if (home === undefined) return `${after}: nobody has it, and ${to} has not claimed it yet; look at its log`;
  if (fitsPin(pin, home)) return `${after}: ${member.name} has claimed it, and still reads its rows; look at its log`;
  return `${after}: ${home.name} has not handed it over; one that takes longer than 2 s is called off and tried again 15 s later; look at its log`;
}

function overtaken(partition: number, pin: Pin | undefined): { readonly ok: false; readonly refusal: Refusal } {
  const what = pin === undefined ? 'released it' : `moved it to ${pinText(pin)}`;
  return notMovable(`partition ${partition}: another call ${what} meanwhile, and that one counts`);
}

function notMovable(description: string): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: { kind: 'not_possible', because: 'not_movable', description } };
}

/** Everything that a person changes stands in the record: without it there is nothing to change. */
export function noRecord(): { readonly ok: false; readonly refusal: Refusal } {
  const description =
    'the record of this cluster is not in its store; look whether the store was emptied (FLUSHALL): "keyturn cluster restore all" writes back what live members keep in memory';
  return { ok: false, refusal: { kind: 'store_unavailable', description, retryAfter: 1_000 } };
}

function tooMany(): Refusal {
  const description = `no more than ${MOST_AT_ONCE} partitions are moved at once by way of one sidecar`;
  return { kind: 'limit', subject: 'moves', limit: MOST_AT_ONCE, description, retryAfter: 1_000 };
}
