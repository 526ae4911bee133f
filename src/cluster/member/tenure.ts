import type { Refusal } from '../../coordinator.js';
import type { Clock } from '../../local/clock.js';
import type { HomeCoordinator, HomeOptions } from '../../local/home.js';
import { placeAfter, placeFollowUps } from '../partitions/groups.js';
import { aboveIn } from '../partitions/routes.js';
import type { Claimed, PartitionStore } from '../store/cluster-store.js';
import type { LocalDeadline } from './deadline.js';
import { HeldJournal } from './held-journal.js';
import { PartitionClock } from './partition-clock.js';
import { PartitionGate } from './partition-gate.js';
import { RoutedHome, type RoutedHomeHost } from './routed-home.js';

/** A hand-over that takes longer is called off, ms. */
const LONGEST_HAND_OVER = 2_000;

export type MakeHome = (options: HomeOptions) => HomeCoordinator;

interface TenureHost extends RoutedHomeHost {
  readonly clock: Clock;
  readonly deadline: LocalDeadline;
  readonly partitions: number;
  readonly makeHome: MakeHome;
  /** A batch is in the store. */
  wrote(ms: number, rows: number): void;
}

/**
 * One time in which this member is the home of a partition, from a claim until the core is dropped: the rows in the store, the
 * core that was made of them, and the gate in front of it. What comes after it has nothing of it.
 */
export class Tenure {
  readonly home: HomeCoordinator;
  /** Which queues it takes. */
  readonly routed: RoutedHome;
  readonly #gate: PartitionGate;
  readonly #journal: HeldJournal;
  #failovers = 0;
  #isRewriting = false;
  /** Of tokens that were raised: written down with the claim that lets it go on. */
  #floor: number | undefined;

  constructor(
    host: TenureHost,
    readonly store: PartitionStore,
    { guard, floorBefore, now }: Claimed,
    lapsed: () => void,
    fellBack: () => void,
  ) {
    this.#gate = new PartitionGate(host.clock, host.deadline, lapsed);
    this.#journal = new HeldJournal(store, host);
    this.#journal.onFellBack = fellBack;
    const { record, map } = host.routes.now;
    const tokenFloor = Math.max(floorBefore, aboveIn(record, map, guard.partition) + 1);
    const partition = { number: guard.partition, of: host.partitions, tokenFloor };
    const clock = new PartitionClock(host.clock, now);
    this.home = host.makeHome({ clock, journal: this.#journal, gate: this.#gate, partition });
    this.routed = new RoutedHome(guard.partition, this.home, host);
    this.home.sendBy(
      (request) => placeFollowUps(host.routes.now.map, request, (queue, target) => host.policyTakenAt(queue, target)),
      ({ queue, item }) => host.routes.now.map.of(queue, item.key, item.itemId) === guard.partition,
      (target) => host.between.hasParcels(guard.partition, target),
    );
    this.home.askBy(
      (request) => placeAfter(host.routes.now.map, request),
      () => host.between.awaitsFar(guard.partition),
    );
  }

  /** Nothing leaves and nothing is written any more, and time stands still, since then. */
  freeze(at: number): void {
    this.#gate.shut(at);
    this.#journal.hold();
  }

  shut(refusal: Refusal): void {
    this.home.shut(refusal);
  }

  /** @returns what a claim from oneself has to say of tokens */
  raiseTokens(): number {
    this.#floor = this.home.raiseTokens();
    return this.#floor;
  }

  reopen(): void {
    const stoodStill = this.#gate.open();
    this.#journal.letGo();
    this.home.reopen(stoodStill, this.#floor);
    this.#floor = undefined;
  }

  /**
   * Writes what is left, and lets what was held leave; then nothing is written any more. Precondition: it is shut.
   * @returns whether all is there
   */
  async empty(): Promise<boolean> {
    if (!(await this.home.empty(LONGEST_HAND_OVER))) return false;
    this.#journal.hold();
    await this.#journal.idle;
    return true;
  }

  /** Nothing speaks against the guard being there. */
  get isAsserted(): boolean {
    return this.#gate.isAsserted;
  }

  /**
   * After a failover: until it is known that the guard is there, only what stands now is believed.
   * @param since the last answer of the store that counts; unset: as of the whole store
   * @throws JournalError
   */
  async assert(since?: number): Promise<void> {
    this.#gate.assertInTime(since);
    this.#failovers += 1;
    const failovers = this.#failovers;
    await this.store.assert();
    // There may have been another one meanwhile.
    if (failovers === this.#failovers) this.#gate.asserted();
  }

  /**
   * The store lost more than can be sent again: the partition is written anew as it is in memory. No write passes meanwhile: one that
   * is older would make rows old again.
   * @param evenWithoutGuard a person wants that
   * @returns whether it was this call that did it
   * @throws JournalError
   */
  async rewrite(evenWithoutGuard: boolean): Promise<boolean> {
    if (this.#isRewriting) return false;
    this.#isRewriting = true;
    const wasHeld = this.#journal.isHeld;
    try {
      this.#journal.hold();
      await this.#journal.idle;
      const isThere = this.#journal.cover();
      const { rows, instant } = this.home.snapshot();
      await this.store.rewrite([rows], instant, { evenWithoutGuard });
      isThere();
    } finally {
      this.#isRewriting = false;
      // It may have been closed meanwhile.
      if (!wasHeld && this.#gate.mayAnswer()) this.#journal.letGo();
    }
    this.#gate.asserted();
    return true;
  }

  /** Another one is, or will be, the home. */
  abandon(refusal: Refusal): void {
    this.store.onFenced = undefined;
    this.#journal.stop();
    this.home.abandon(refusal);
  }

  /** It was never open, so nobody waits. */
  async giveUp(): Promise<void> {
    this.#journal.stop();
    await this.home.close();
    this.store.onFenced = undefined;
  }
}
