import type { Clock } from '../../local/clock.js';
import { type Pins, pinsOf } from '../partitions/pins.js';
import { type Standing, standingOf } from '../partitions/restore-plan.js';
import { WantedHomes } from '../partitions/wanted-homes.js';
import type { Member, Registry } from '../registry/registry.js';
import type { ClusterRecord, ClusterSight, ClusterStore, Guard } from '../store/cluster-store.js';
import { noGuard } from '../store/partition/guard.js';
import type { LocalDeadline } from './deadline.js';

/** ms */
const LIST_EVERY = 250;
/** While something is on its way, or a call waits for a home, ms. */
const LIST_SOON = 25;

/** What was seen of the cluster at one look. */
export interface View extends Pick<ClusterSight, 'orders'> {
  readonly standing: Standing;
  /** The one of this cluster, as it was seen last; unset: never. */
  readonly record: ClusterRecord | undefined;
  /** Partitions whose guards are those of an earlier look, which was the last that reached them: when that was sent, monotonic, ms. */
  readonly unseen: ReadonlyMap<number, number>;
  /** By partition; without the record of this cluster there is none of ours. */
  readonly guards: readonly Guard[];
  readonly members: ReadonlyMap<string, Member>;
  readonly wanted: WantedHomes;
  /** What people want of partitions. */
  readonly pins: Pins;
  /** Since when these members have been there, none other, with these pins, by the clock, ms. */
  readonly since: number;
}

const NOBODY: View = Object.freeze({
  standing: 'own',
  record: undefined,
  orders: new Map(),
  guards: [],
  unseen: new Map<number, number>(),
  members: new Map<string, Member>(),
  wanted: new WantedHomes(0, []),
  pins: new Map(),
  since: 0,
});

/** Looks at guards and members, four times a second. */
export class Listing {
  #view = NOBODY;
  /** Of what the wanted homes were computed. */
  #names = '';
  #disarm: (() => void) | undefined;
  #isLooking = false;
  #isWanted = false;
  #isSoon = false;
  #isEnded = false;
  /** By partition. */
  readonly #seenAt = new Map<number, number>();

  constructor(
    private readonly store: ClusterStore,
    private readonly registry: Registry,
    private readonly clock: Clock,
    private readonly partitions: number,
    private readonly deadline: LocalDeadline,
    private readonly seen: (view: View) => void,
    /** Unset: nothing is wrong any more. */
    private readonly trouble: (error: Error | undefined) => void,
    /** Something is on its way: the next look is soon. */
    private readonly isMoving: (view: View) => boolean = () => false,
    /** Id of the record that this member follows. */
    private readonly cluster: () => string | undefined = () => undefined,
  ) {}

  get view(): View {
    return this.#view;
  }

  /** At once, and then again and again. */
  look(): void {
    if (this.#isEnded) return;
    this.#isWanted = this.#isLooking;
    if (this.#isLooking) return;
    this.#disarm?.();
    this.#disarm = undefined;
    this.#isLooking = true;
    this.#isSoon = false;
    void this.#look();
  }

  /** Somebody waits for what it may bring. */
  soon(): void {
    if (this.#isEnded || this.#isLooking || this.#isSoon) return;
    this.#isSoon = true;
    this.#disarm?.();
    this.#disarm = this.clock.after(LIST_SOON, () => this.look());
  }

  end(): void {
    this.#isEnded = true;
    this.#disarm?.();
  }

  async #look(): Promise<void> {
    try {
      const sent = this.deadline.now;
      const sight = await this.store.look(this.partitions);
      this.deadline.heard(sent);
      // Only now: whoever claimed before its guard was read had a session then, and is found, or is over.
      const members = await this.registry.members();
      if (this.#isEnded) return;
      this.#see(sight, this.#unseen(sight, sent.at), members);
      this.trouble(undefined);
    } catch (error) {
      this.trouble(error instanceof Error ? error : new Error(String(error)));
    }
    this.#isLooking = false;
    if (this.#isEnded) return;
    if (this.#isWanted) this.look();
    else this.#disarm = this.clock.after(this.isMoving(this.#view) ? LIST_SOON : LIST_EVERY, () => this.look());
  }

  #unseen({ guards, unseen }: ClusterSight, sent: number): View['unseen'] {
    const since = new Map<number, number>();
    for (const { partition } of guards) {
      if (unseen?.has(partition) === true) since.set(partition, this.#seenAt.get(partition) ?? sent);
      else this.#seenAt.set(partition, sent);
    }
    return since;
  }

  #see(sight: ClusterSight, unseen: View['unseen'], all: readonly Member[]): void {
    const { orders } = sight;
    const standing = this.#standing(sight.record);
    const record = standing === 'own' ? sight.record : this.#view.record;
    const guards = standing === 'own' ? sight.guards : sight.guards.map(({ partition }) => noGuard(partition));
    // Of another cluster that began in the same, emptied store.
    const members = all.filter(({ cluster }) => cluster === undefined || cluster === this.cluster());
    // Of a store that was emptied what was known still counts.
    const pins = record === undefined ? this.#view.pins : pinsOf(record);
    const formats = guards.map(({ format }) => format);
    const names = JSON.stringify([
      members.map(({ id, name, address, weight, isLeaving, format }) => [id, name, address, weight, isLeaving, format]),
      formats,
      [...pins],
    ]);
    const isSame = names === this.#names;
    this.#names = names;
    this.#view = {
      standing,
      record,
      orders,
      guards,
      unseen,
      members: new Map(members.map((member) => [member.id, member])),
      wanted: isSame ? this.#view.wanted : new WantedHomes(this.partitions, members, formats, pins),
      pins,
      since: isSame ? this.#view.since : this.clock.now(),
    };
    this.seen(this.#view);
  }

  #standing(record: ClusterRecord | undefined): Standing {
    const id = this.cluster();
    return id === undefined ? 'own' : standingOf({ id, record });
  }
}
