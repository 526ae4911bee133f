/** One sidecar of a cluster: it joins, claims partitions, is their home, and hands them over. */
import type { Coordinator } from '../../coordinator.js';
import type { Homes } from '../partitions/homes.js';
import type { Member } from '../registry/registry.js';
import type { Guard } from '../store/cluster-store.js';
import { asError } from './as-error.js';
import { BetweenGroups } from './between-groups.js';
import { HomeChanges } from './changes.js';
import { LocalDeadline } from './deadline.js';
import { Following } from './following.js';
import { formatOf } from './format-of.js';
import { HandOvers } from './hand-overs.js';
import { Leaving } from './leaving.js';
import { Listing, type View } from './listing.js';
import { LoadOrder } from './load-order.js';
import type { MemberOptions } from './member-options.js';
import { MemberPartition } from './member-partition.js';
import { MissingGuards, mayClaimBy } from './missing-guards.js';
import { Moves } from './moves.js';
import type { PartitionHost } from './partition-host.js';
import { Pauses } from './pauses.js';
import { PublishedHomes } from './published-homes.js';
import { Quiet } from './quiet.js';
import { ReadingAhead } from './reading-ahead.js';
import { RemoteHomes } from './remote-homes.js';
import { MemberSession } from './session.js';
import { whyNone } from './why-none.js';

/** Partitions that are moved at once. */
const MOST_MOVES = 4;

export class ClusterMember implements Homes {
  readonly partitions: number;
  readonly #options: MemberOptions;
  readonly #deadline: LocalDeadline;
  readonly #session: MemberSession;
  readonly #listing: Listing;
  readonly #own: readonly MemberPartition[];
  readonly #remote: RemoteHomes;
  readonly #changes: HomeChanges;
  readonly #moves: Moves;
  readonly #pauses = new Pauses();
  readonly #loads = new LoadOrder();
  readonly #missing: MissingGuards;
  readonly #reading: ReadingAhead;
  readonly #handOvers: HandOvers;
  readonly #following: Following;
  readonly #published: PublishedHomes;
  readonly between: BetweenGroups;
  /** The largest epoch that was seen of each partition. */
  readonly #epochs: number[];
  readonly #quiet: Quiet;
  #trouble: Error | undefined;
  readonly #leaving: Leaving;
  #isEnded = false;

  constructor(options: MemberOptions) {
    const { clock, store, registry, partitions, ttl, incarnation } = options;
    this.#options = options;
    this.partitions = partitions;
    const trouble = (error: Error | undefined) => this.#troubled(error);
    this.#deadline = new LocalDeadline(clock, ttl, (at) => this.#lapsed(at));
    this.#session = new MemberSession(registry, clock, ttl, this.#deadline, incarnation, trouble);
    this.#listing = new Listing(
      store,
      registry,
      clock,
      partitions,
      this.#deadline,
      (view) => this.#seen(view),
      trouble,
      (view) => this.#following.isUnderWay || this.#moves.areUnderWay(this.member.id, view, clock.now()),
      () => this.member.cluster,
    );
    registry.onChange = () => this.#listing.look();
    this.#missing = new MissingGuards(store, (kept) => this.#session.keeps(kept), trouble);
    this.#following = new Following({
      clock,
      store,
      routes: options.routes,
      homes: () => this.#own.flatMap(({ routed }) => routed ?? []),
      followed: () => this.#session.follows(options.routes.version, options.routes.revision),
      rerouted: () => options.rerouted?.(),
      trouble,
    });
    this.#published = new PublishedHomes({
      clock,
      registry,
      pauses: this.#pauses,
      member: () => this.member,
      own: () => this.#own,
      trouble: (error) => this.#troubled(asError(error)),
    });
    this.#remote = new RemoteHomes(options.connect, options.unlinked);
    this.#changes = new HomeChanges(clock);
    this.between = new BetweenGroups(
      clock,
      this,
      (partition) => this.#own[partition]?.home,
      options.routes,
      (heldUp) => options.heldUp?.(heldUp),
    );
    this.#moves = new Moves(ttl);
    this.#quiet = new Quiet(clock, ttl, partitions);
    this.#epochs = new Array<number>(partitions).fill(0);
    this.#reading = new ReadingAhead(clock, store, options.readsAhead, (one) => this.#handOvers.sayRead(one));
    this.#handOvers = new HandOvers({
      clock,
      own: () => this.#own,
      view: () => this.view,
      self: () => this.member.id,
      givesAll: () => this.#leaving.givesAll,
      begins: (to) => options.handingOver?.(to),
      ended: (partition, to, shutFor) => options.handedOver?.(partition, to, shutFor),
      readsAhead: options.readsAhead,
    });
    this.#leaving = new Leaving(clock, {
      own: () => this.#own,
      view: () => this.view,
      deadline: this.#deadline,
      isOwn: (id) => this.#session.isOwn(id),
      nextOf: (partition) => this.#handOvers.nextOf(partition),
      handOverSome: (most, isWanted) => this.#handOvers.some(most, isWanted),
    });
    const host = this.#host();
    this.#own = Array.from({ length: partitions }, (_, number) => new MemberPartition(number, host));
  }

  /** This incarnation. */
  get member(): Member {
    return this.#session.member;
  }

  /** Whether it may be the home of anything now. */
  get isLive(): boolean {
    return this.#deadline.isLive;
  }

  /** What was last seen of the cluster. */
  get view(): View {
    return this.#listing.view;
  }

  /** What this member is to a partition. */
  standing(partition: number): MemberPartition['at'] {
    return this.#own[partition]?.at ?? 'free';
  }

  /** The guard of a partition as its core here has it; unset: there is none. */
  guardOf(partition: number): Guard | undefined {
    return this.#own[partition]?.guard;
  }

  start(): void {
    // A member that begins cannot know of what the store lost just now.
    this.#quiet.begin();
    this.#options.store.onFailover = (touches) => this.#failedOver(touches);
    this.#session.start();
    this.#listing.look();
  }

  look(): void {
    this.#listing.soon();
  }

  /** Another member has handed this partition over to this one, and let no call in for `shutFor` ms. */
  takesOver(partition: number, shutFor: number): void {
    if (this.#own[partition] === undefined) return;
    if (this.#pauses.told(partition, shutFor, this.#options.clock.now())) this.#published.changed();
    this.#listing.look();
  }

  /** Its home is going to hand this partition over to this member. */
  readAhead(partition: number): void {
    if (this.#own[partition]?.at === 'free' && !this.#leaving.takesNothing) this.#reading.begin(partition);
    else this.#handOvers.sayRead(partition);
  }

  /** The next home has read the rows of a partition of this one. */
  hasReadAhead(partition: number): void {
    this.#handOvers.hasRead(partition);
  }

  /** Where clients reach it. */
  listens(grpc: string): void {
    this.#session.listens(grpc);
  }

  home(partition: number): Coordinator | undefined {
    const home = this.#own[partition]?.home ?? this.#remote.get(partition);
    if (home === undefined) this.#loads.asked(partition);
    return home;
  }

  isHere(partition: number): boolean {
    return this.#own[partition]?.home !== undefined;
  }

  /** The incarnation elsewhere that is the home of a partition, as far as is known. */
  memberOf(partition: number): string | undefined {
    return this.#remote.memberOf(partition);
  }

  /** The incarnations elsewhere that are homes of partitions. */
  elsewhere(): ReadonlySet<string> {
    return this.#remote.members;
  }

  whyNone(partition: number): string {
    const unlinked = this.#remote.problemOf(partition);
    if (unlinked !== undefined) return unlinked;
    const own = this.#own[partition];
    const { guards, members, standing, orders } = this.view;
    const guard = guards[partition];
    const isLost = guard?.epoch === 0 && ((this.#epochs[partition] ?? 0) > 0 || orders.has(partition));
    const owner =
      guard === undefined || guard.owner === '' ? undefined : (members.get(guard.member)?.name ?? guard.member);
    return whyNone(partition, {
      at: own?.at ?? 'free',
      problem: own?.problem,
      trouble: this.#trouble?.message,
      owner,
      standing,
      isLost,
      isKept: own?.kept !== undefined,
      isQuiet: this.#quiet.isOn(partition),
    });
  }

  onChange(listener: (partitions: readonly number[]) => void): () => void {
    return this.#changes.listen(listener);
  }

  /** {@link Leaving.handOver} */
  handOver(timeout: number): Promise<void> {
    this.#session.leaving();
    return this.#leaving.handOver(timeout);
  }

  /**
   * Hands all partitions over, to nobody if it is the last one, and leaves. Resolves when nothing is this member's any more, at the
   * latest after `timeout` ms: then what is left is given up, and others claim it when the session is over.
   */
  async leave(timeout: number): Promise<void> {
    this.#leaving.givesAll = true;
    await this.handOver(timeout);
    await this.close();
  }

  /** Ends now: cores are given up, and others claim when the session is over, which is at once if the registry can be told. */
  async close(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#leaving.end();
    this.#options.store.onFailover = undefined;
    this.#listing.end();
    this.#handOvers.end();
    this.between.end();
    this.#reading.end();
    await Promise.all(this.#own.map((own) => own.end()));
    await this.#session.end().catch((error: unknown) => this.#troubled(asError(error)));
  }

  #host(): PartitionHost {
    const { clock, store, makeHome, watcher, routes, policyAt, policyTakenAt } = this.#options;
    const session = this.#session;
    return {
      clock,
      store,
      makeHome,
      routes,
      policyAt,
      policyTakenAt,
      said: () => this.#published.now(),
      catchUp: () => this.#following.catchUp(),
      loads: this.#loads,
      takeAhead: (partition) => this.#reading.take(partition),
      deadline: this.#deadline,
      partitions: this.partitions,
      format: (partition) => formatOf(this.view, partition, this.member.format),
      beginsEmpty: (partition) => this.view.orders.get(partition)?.kind === 'empty',
      get member() {
        return session.member.id;
      },
      isOwn: (member) => session.isOwn(member),
      changed: (partition) => this.#changed(partition),
      between: this.between,
      handedOver: (partition, shutFor) => this.#handOvers.ended(partition, shutFor),
      trouble: (partition, error) => this.#options.trouble?.(error, partition),
      happened: (partition, what) => {
        if (what.kind === 'opened') this.#pauses.opened(partition, clock.now());
        else if (what.kind !== 'claimed' && what.kind !== 'fell_back') this.#pauses.gone(partition);
        watcher?.happened(partition, what);
      },
      wrote: (ms, rows) => watcher?.wrote(ms, rows),
    };
  }

  #seen(view: View): void {
    const now = this.#options.clock.now();
    this.#follow(view);
    this.#moves.see(view, now);
    for (const own of this.#own) this.#see(own, view, now);
    this.#missing.seen(view, this.#own, this.#epochs);
    if (!this.#leaving.isBegun && this.#deadline.isLive && !this.#quiet.isOnAnywhere) {
      this.#handOvers.some(MOST_MOVES, ({ number }) => this.#moves.isToMove(number, this.member.id, view, now));
      this.#moves.forget(this.#options.store, now)?.catch((error: unknown) => this.#troubled(asError(error)));
    }
    this.#published.say();
    this.#leaving.look();
  }

  #follow({ record, standing }: View): void {
    if (record === undefined || standing !== 'own') return;
    this.#following.take(record);
    if (this.#deadline.isLive) this.#following.mend(record);
    for (const own of this.#own) if (own.at === 'open') own.routed?.look();
  }

  #see(own: MemberPartition, { guards, members, wanted, standing, orders, unseen }: View, now: number): void {
    const { number } = own;
    const guard = guards[number];
    if (guard === undefined) return;
    const known = this.#epochs[number] ?? 0;
    this.#epochs[number] = Math.max(known, guard.epoch);
    // Of a partition that nobody ever had, no claim was lost.
    const isQuiet = this.#quiet.isOn(number) && (guard.epoch > 0 || known > 0);
    const isSeen = !unseen.has(number);
    const isLost = guard.epoch === 0 && known > 0;
    // A home that still has its core puts its guard back.
    const mayPutBack = !isLost || own.guard !== undefined;
    own.see({
      now,
      guard,
      isOwnerLive: members.has(guard.member),
      isMine: guard.member === this.member.id,
      rank: this.#leaving.takesNothing ? undefined : wanted.rank(number, this.member.id),
      mayClaim: standing === 'own' && isSeen && !isQuiet && mayClaimBy(orders.get(number), guard, mayPutBack),
    });
    own.missed(standing === 'own' && guard.epoch === 0 && !orders.has(number));
    own.unheard(unseen.get(number));
    this.#seeHome(own, members.get(guard.member), guard.epoch, guard.owner === '');
  }

  #seeHome({ number }: MemberPartition, home: Member | undefined, epoch: number, isFree: boolean): void {
    const isElsewhere = home !== undefined && !isFree && !this.#session.isOwn(home.id);
    const entry = isElsewhere ? { partition: number, epoch, member: home.id, address: home.address } : undefined;
    if (this.#remote.set(number, entry)) this.#changes.add(number);
  }

  #changed(partition: number): void {
    this.#published.changed();
    // Gateways are told with the next look. Not of what was handed over: who sees it free before the next home does would claim it
    // back.
    if (this.isHere(partition)) this.#listing.soon();
    this.#changes.add(partition);
    this.#leaving.lookSoon();
  }

  #lapsed(at: number): void {
    for (const own of this.#own) own.lapsed(at);
  }

  #failedOver(touches: (partition: number) => boolean = () => true): void {
    this.#quiet.begin(touches);
    for (const own of this.#own) if (touches(own.number)) own.failedOver();
    this.#listing.look();
  }

  #troubled(error: Error | undefined): void {
    if (error?.message === this.#trouble?.message) return;
    this.#trouble = error;
    this.#options.trouble?.(error, undefined);
  }
}
