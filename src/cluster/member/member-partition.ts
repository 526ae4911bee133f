import type { ClaimKind, Refusal } from '../../coordinator.js';
import { leastToken } from '../../core/structures/tokens.js';
import type { Clock } from '../../local/clock.js';
import type { HomeCoordinator } from '../../local/home.js';
import { JournalError } from '../../local/journal/journal.js';
import {
  type DropReason,
  NOT_OURS,
  type Ownership,
  type OwnershipAction,
  type OwnershipEvent,
  type Sight,
  step,
} from '../partitions/ownership.js';
import type { Claimed, ClusterStore, Guard, PartitionAhead } from '../store/cluster-store.js';
import type { LocalDeadline } from './deadline.js';
import type { Happening } from './happenings.js';
import type { LoadOrder } from './load-order.js';
import { reclaim, type Wanted } from './reclaim.js';
import type { RoutedHome, RoutedHomeHost } from './routed-home.js';
import { type MakeHome, Tenure } from './tenure.js';

/** After a partition could not be loaded others may try, ms. */
const AFTER_FAILED_LOAD = 5_000;
/** When it is worth asking again, ms. */
const RETRY_AFTER = 50;
/** ms */
const ASSERT_AGAIN = 250;
/** So far ahead of the clock tokens begin when nothing is known of those before, ms: homes reserve some seconds ahead. */
const AFTER_LOSS = 3_600_000;
/** While it is so, the core here is whole. */
const KEEPING: readonly Ownership['at'][] = ['open', 'closed', 'reclaiming', 'handing_over'];

export interface PartitionHost extends RoutedHomeHost {
  readonly clock: Clock;
  readonly deadline: LocalDeadline;
  readonly store: ClusterStore;
  readonly partitions: number;
  readonly makeHome: MakeHome;
  readonly loads: LoadOrder;
  /** What was read of the partition before it was claimed, once. */
  takeAhead(partition: number): PartitionAhead | undefined;
  /** Reads the record of the cluster, and follows it. @throws JournalError */
  catchUp(): Promise<void>;
  /** In which rows of a partition are written by who claims it now. */
  format(partition: number): number;
  /** Whether a person accepted that a partition begins empty. */
  beginsEmpty(partition: number): boolean;
  /** The incarnation that claims now. */
  readonly member: string;
  isOwn(member: string): boolean;
  /** Who is the home has changed, or why there is none. */
  changed(partition: number): void;
  /** The guard is free now, and all is written. `shutFor`: no call was let in for so long, ms. */
  handedOver(partition: number, shutFor: number): void;
  trouble(partition: number, error: Error): void;
  /** For metrics and the log. */
  happened(partition: number, what: Happening): void;
  /** A batch is in the store. */
  wrote(ms: number, rows: number): void;
}

/** What this member is to one partition: carries out what {@link step} says, one thing at a time. */
export class MemberPartition {
  #state: Ownership = NOT_OURS;
  #tenure: Tenure | undefined;
  #claimed: Claimed | undefined;
  /** Tokens begin no earlier. */
  #floor = 0;
  /** Ends when what is under way has ended; never rejects. */
  #underWay: Promise<void> = Promise.resolve();
  #dropping: Promise<void> = Promise.resolve();
  #notBefore = Number.NEGATIVE_INFINITY;
  #handOverNotBefore = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;
  #isEnded = false;
  /** The incarnation that was seen as the last that claimed it. */
  #claimer = '';
  /** When a session of another one that has it was seen last; before one was: when it was looked at first. */
  #hadOwner: number | undefined;
  /** It is claimed from one whose session was over. */
  #isFailover = false;
  /** The guard was missed at the last look. */
  #isMissed = false;
  /** When no call was let in any more, for a hand-over. */
  #shutAt = 0;

  constructor(
    readonly number: number,
    private readonly host: PartitionHost,
  ) {}

  get at(): Ownership['at'] {
    return this.#state.at;
  }

  /** Set while this member is the home. */
  get home(): HomeCoordinator | undefined {
    return this.#state.at === 'open' ? this.#tenure?.home : undefined;
  }

  /** Which queues its core takes: while there is a core. */
  get routed(): RoutedHome | undefined {
    return this.#tenure?.routed;
  }

  /** Of the claim that is, or was, this member's: while there is a core. */
  get guard(): Guard | undefined {
    return this.#tenure?.store.guard;
  }

  /** Epoch of the claim of which the core is here whole; unset: none is. */
  get kept(): number | undefined {
    return KEEPING.includes(this.#state.at) ? this.guard?.epoch : undefined;
  }

  /** Why it is not served by this member, though it might be; unset: nothing is known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  see(sight: Omit<Sight, 'isSucceeded'>): void {
    // First whether it is too late: what was seen says that this member may claim.
    const { isLive } = this.host.deadline;
    const own = this.guard;
    const { guard, now, mayClaim } = sight;
    this.#claimer = guard.member;
    if (this.#hadOwner === undefined || sight.isOwnerLive || guard.owner === '') this.#hadOwner = now;
    const isOther = own !== undefined && guard.owner !== own.owner && guard.epoch > own.epoch;
    const isSucceeded = isOther && !this.host.isOwn(guard.member);
    const may = isLive && mayClaim && now >= this.#notBefore;
    this.#step({ kind: 'seen', sight: { ...sight, isSucceeded, mayClaim: may } });
  }

  /** Its own time has passed at that moment, or the member's. */
  lapsed(at: number): void {
    this.#tenure?.freeze(at);
    this.#step({ kind: 'lapsed' });
  }

  handOver(): void {
    if (this.host.clock.now() < this.#handOverNotBefore) return;
    this.#tell({ kind: 'hand_over' });
  }

  /** The store may be another one than before. `since`: its last answer; unset: just now. */
  failedOver(since?: number): void {
    const tenure = this.#tenure;
    if (tenure === undefined || this.#state.at === 'loading' || this.#state.at === 'dropping') return;
    tenure.assert(since).catch(async (error: unknown) => {
      if (tenure !== this.#tenure || this.at === 'dropping') return;
      this.#fail(error);
      if (isFellBack(error) && (await this.#rewriteOnce(tenure))) return;
      // Within what is left of the time in which it has to succeed, or as a closed one.
      this.host.clock.after(ASSERT_AGAIN, () => {
        if (tenure === this.#tenure) this.failedOver();
      });
    });
  }

  /** Whether its guard alone is gone from the store: an idle home writes nothing, and would not notice before somebody claims. */
  missed(isMissed: boolean): void {
    const isNews = isMissed && !this.#isMissed;
    this.#isMissed = isMissed;
    if (isNews && this.at === 'open') this.failedOver();
  }

  /** Its part of the store is silent since then, and may have failed over, so that others claim. Unset: it answers. */
  unheard(since: number | undefined): void {
    if (since !== undefined && this.#tenure?.isAsserted === true) this.failedOver(since);
  }

  /** The store has no guard of it any more, and a person wants it written back from the core here. May be called again. */
  putBack(): void {
    const tenure = this.#tenure;
    if (tenure === undefined || (this.at !== 'open' && this.at !== 'closed') || !this.host.deadline.isLive) return;
    void this.#rewriteOnce(tenure, true);
  }

  /** The process ends: nothing more is claimed or kept. Resolves when the core is gone. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#notBefore = Number.POSITIVE_INFINITY;
    if (this.#state.at === 'claiming') await this.#underWay;
    if (this.#tenure !== undefined && this.#state.at !== 'dropping') {
      this.#state = { at: 'dropping' };
      this.#dropping = this.#drop('succeeded');
    }
    await this.#dropping;
  }

  /** What is told was found out just now: but first, whether it is too late for it. */
  #tell(event: OwnershipEvent): void {
    void this.host.deadline.isLive;
    this.#step(event);
  }

  #step(event: OwnershipEvent): void {
    const before = this.#state.at;
    const { state, action } = step(this.#state, event);
    this.#state = state;
    if (action !== undefined) this.#do(action);
    if (state.at !== before) this.host.changed(this.number);
  }

  #do(action: OwnershipAction): void {
    switch (action.do) {
      case 'claim':
        return this.#begin(() => this.#claim(action.expected));
      case 'load':
        return this.#begin(() => this.#load());
      case 'open':
        this.#problem = undefined;
        return this.#opened();
      case 'shut':
        return this.#tenure?.shut(this.#refusal('it waits until it reaches registry and store again'));
      case 'reopen':
        return this.#tenure?.reopen();
      case 'reclaim':
        return this.#begin(() => this.#reclaim());
      case 'hand_over':
        return this.#begin(() => this.#handOver());
      case 'drop':
        this.host.happened(this.number, { kind: action.why });
        this.#dropping = this.#drop(action.why);
    }
  }

  #opened(): void {
    const { clock, happened } = this.host;
    const noHomeFor = this.#isFailover ? clock.now() - (this.#hadOwner ?? clock.now()) : undefined;
    happened(this.number, { kind: 'opened', noHomeFor });
  }

  /** One after the other: what is told at the end of one begins the next. */
  #begin(task: () => Promise<OwnershipEvent>): void {
    this.#underWay = task().then(
      (event) => this.#tell(event),
      (error: unknown) => this.#fail(error),
    );
  }

  async #claim(expected: string): Promise<OwnershipEvent> {
    const { store, member } = this.host;
    const format = this.host.format(this.number);
    const how = this.#how(expected);
    try {
      // Of a partition with a past: no token is given before the first batch, which reserves some, so nothing is to be raised yet.
      this.#floor = this.host.beginsEmpty(this.number) ? leastToken(this.host.clock.wall() + AFTER_LOSS) : 0;
      const answer = await store.claim({ partition: this.number, expected, member, floor: this.#floor, format });
      // Of a member that ends others claim it, when its session is over.
      if (!answer.claimed || this.#isEnded) return { kind: 'not_claimed' };
      // Whatever the home before gave up, it did because of a record that stands there by now: nobody is let in before it is known.
      await this.host.catchUp();
      if (this.#isEnded) return { kind: 'not_claimed' };
      this.#claimed = answer;
      this.#isFailover = how === 'failover';
      this.host.happened(this.number, { kind: 'claimed', how });
      return { kind: 'claimed' };
    } catch (error) {
      this.#fail(error);
      return { kind: 'claim_unknown' };
    }
  }

  #how(expected: string): ClaimKind {
    if (expected === '') return 'free';
    return this.host.isOwn(this.#claimer) ? 'own' : 'failover';
  }

  async #load(): Promise<OwnershipEvent> {
    const claimed = this.#claimed;
    if (claimed === undefined) throw new TypeError(`partition ${this.number} is loaded without a claim`);
    const store = this.host.store.open(claimed, this.host.takeAhead(this.number));
    const tenure: Tenure = new Tenure(
      this.host,
      store,
      { ...claimed, floorBefore: Math.max(claimed.floorBefore, this.#floor) },
      () => this.#lapsedAlone(),
      () => this.#rewrite(tenure),
    );
    this.#tenure = tenure;
    store.onFellBack = () => this.host.happened(this.number, { kind: 'fell_back' });
    store.onFenced = () => {
      if (tenure === this.#tenure) this.#tell({ kind: 'fenced' });
    };
    try {
      return await this.host.loads.run(this.number, store.before.rows, async () => {
        // It may have been given up while others were loaded, and its core be gone.
        if (this.#state.at !== 'loading' || tenure !== this.#tenure) return { kind: 'load_failed' };
        await tenure.home.recover();
        tenure.routed.begin();
        return { kind: 'loaded' };
      });
    } catch (error) {
      this.#fail(error);
      return { kind: 'load_failed' };
    }
  }

  async #reclaim(): Promise<OwnershipEvent> {
    const tenure = this.#tenure;
    if (tenure === undefined) throw new TypeError(`partition ${this.number} is claimed again without a core`);
    const { store, member } = this.host;
    const format = this.host.format(this.number);
    try {
      const floor = tenure.raiseTokens();
      const claim = (wanted: Wanted) => store.claim({ ...wanted, partition: this.number, floor, format, member });
      const event = await reclaim(tenure.store, claim, this.host);
      if (event.kind === 'reclaimed') this.host.happened(this.number, { kind: 'claimed', how: 'warm' });
      return event;
    } catch (error) {
      this.#fail(error);
      if (isFellBack(error)) await this.#rewriteOnce(tenure);
      return { kind: 'reclaim_unknown' };
    }
  }

  async #handOver(): Promise<OwnershipEvent> {
    const tenure = this.#tenure;
    if (tenure === undefined) throw new TypeError(`partition ${this.number} is handed over without a core`);
    this.#shutAt = this.host.clock.now();
    tenure.shut(this.#refusal('it is being handed over'));
    if (!(await tenure.empty())) return { kind: 'called_off' };
    try {
      await tenure.store.release();
      return { kind: 'handed_over' };
    } catch (error) {
      this.#fail(error);
      // What is here is more than what the next one would find.
      if (!isStoreOlder(error)) return { kind: 'release_unknown' };
      this.#handOverNotBefore = this.host.clock.now() + ASSERT_AGAIN;
      return { kind: 'called_off' };
    }
  }

  async #drop(why: DropReason): Promise<void> {
    const tenure = this.#tenure;
    const underWay = this.#underWay;
    if (tenure === undefined) throw new TypeError(`partition ${this.number} is dropped without a core`);
    if (why === 'given_up') await this.#giveUp(tenure);
    else tenure.abandon(this.#refusal('another one is, or is going to be'));
    if (why === 'handed_over') this.host.handedOver(this.number, this.host.clock.now() - this.#shutAt);
    await underWay;
    await tenure.store.close().catch((error: unknown) => this.#fail(error));
    this.#tenure = undefined;
    this.#claimed = undefined;
    this.#step({ kind: 'dropped' });
  }

  /** What could not be loaded here may be loaded elsewhere, and is tried here again later. */
  async #giveUp(tenure: Tenure): Promise<void> {
    const isFailed = this.host.deadline.isLive;
    await tenure.giveUp();
    if (!isFailed || tenure.store.isFenced) return;
    this.#notBefore = this.host.clock.now() + AFTER_FAILED_LOAD;
    await tenure.store.release().catch((error: unknown) => this.#fail(error));
  }

  /** Of a partition that is open; one that is loaded has nothing that the store has not, and is loaded again. */
  #rewrite(tenure: Tenure): void {
    if (tenure !== this.#tenure || (this.at !== 'open' && this.at !== 'closed')) return;
    void this.#rewriteOnce(tenure);
  }

  /** @returns whether it was this call that did it */
  async #rewriteOnce(tenure: Tenure, evenWithoutGuard = false): Promise<boolean> {
    try {
      const isDone = await tenure.rewrite(evenWithoutGuard);
      if (isDone) this.host.happened(this.number, { kind: 'fell_back' });
      return isDone;
    } catch (error) {
      if (tenure === this.#tenure && this.at !== 'dropping') this.#fail(error);
      return false;
    }
  }

  #lapsedAlone(): void {
    this.lapsed(this.host.clock.now());
  }

  #refusal(why: string): Refusal {
    const description = `this sidecar is not the home of partition ${this.number} now: ${why}`;
    return { kind: 'no_home', partition: this.number, description, retryAfter: RETRY_AFTER };
  }

  #fail(error: unknown): void {
    const known = error instanceof Error ? error : new Error(String(error));
    this.#problem = known.message;
    this.host.trouble(this.number, known);
  }
}

/** It has not what the core here has. */
function isStoreOlder(error: unknown): boolean {
  return isFellBack(error) || (error instanceof JournalError && error.problem === 'no_guard');
}

const isFellBack = (error: unknown): boolean => error instanceof JournalError && error.problem === 'fell_back';
