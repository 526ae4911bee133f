/**
 * Carries follow-ups of Acks from the partitions that this member is the home of to the partitions of their queues, wherever these
 * have their homes. Nothing rests on it: a parcel stays in the core of its Ack, and in the store, until the other partition says that
 * it has it, and that one knows what it has. So it may send twice, late, or to a home that is none any more.
 */
import type { DeliverAnswer, FollowUp, Refusal } from '../../coordinator.js';
import type { Clock } from '../../local/clock.js';
import type { HomeCoordinator } from '../../local/home.js';
import type { FollowedRoutes } from '../partitions/followed-routes.js';
import type { Homes } from '../partitions/homes.js';

/** After a refusal, ms; each time twice as long. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;
/** Then it is sent again: a home that answers nothing may be none any more, ms. */
const PATIENCE = 5_000;

/** After so long it is no moment any more, ms. */
const TOLD_AFTER = 30_000;

/** What goes from one partition to another, and is refused there. */
export interface HeldUp {
  readonly source: number;
  readonly target: number;
  readonly why: Refusal;
  /** ms */
  readonly since: number;
}

/** From one partition to another. It ends when nothing is left to be sent, or the core is not the home any more. */
class Line {
  /** Requests so far: an answer to an older one says what is there, and nothing of what is to be done. */
  asked = 0;
  /** Stamp of the first parcel of the last request. */
  first = 0;
  isAsking = false;
  pause = FIRST_PAUSE;
  callOff: (() => void) | undefined;
  /** Since when each request was refused, and the last reason. Unset: the last one was not. */
  heldUp: { readonly since: number; readonly why: Refusal } | undefined;

  constructor(
    readonly source: number,
    readonly target: number,
    readonly home: HomeCoordinator,
  ) {}
}

export class Sending {
  /** By source and target: at most one for each pair of partitions. */
  readonly #lines = new Map<string, Line>();
  #isEnded = false;
  #isTold = false;

  /**
   * @param own of a partition that this member is the home of now
   * @param tell something has been held up for {@link TOLD_AFTER}; unset: nothing is any more
   */
  constructor(
    private readonly clock: Clock,
    private readonly homes: Pick<Homes, 'home' | 'onChange' | 'partitions'>,
    private readonly own: (partition: number) => HomeCoordinator | undefined,
    private readonly routes: FollowedRoutes,
    private readonly tell: (heldUp: HeldUp | undefined) => void,
  ) {
    homes.onChange((partitions) => this.#changed(partitions));
  }

  /** Of all partitions that this member is the home of: not known to be there. */
  get parcels(): number {
    let parcels = 0;
    for (let partition = 0; partition < this.homes.partitions; partition += 1)
      parcels += this.own(partition)?.outgoing.size ?? 0;
    return parcels;
  }

  /** What has been refused for the longest time. */
  get heldUp(): HeldUp | undefined {
    let longest: HeldUp | undefined;
    for (const { source, target, heldUp } of this.#lines.values())
      if (heldUp !== undefined && heldUp.since < (longest?.since ?? Number.POSITIVE_INFINITY))
        longest = { source, target, ...heldUp };
    return longest;
  }

  #tellOfHeldUp(): void {
    const { heldUp } = this;
    const isHeldUp = heldUp !== undefined && this.clock.now() - heldUp.since >= TOLD_AFTER;
    if (isHeldUp === this.#isTold) return;
    this.#isTold = isHeldUp;
    this.tell(isHeldUp ? heldUp : undefined);
  }

  /** This partition may have something for that one. */
  ready(source: number, target: number): void {
    const home = this.own(source);
    if (home === undefined || this.#isEnded) return;
    const name = `${source} ${target}`;
    const known = this.#lines.get(name);
    // What it waits for it goes on waiting for: others line up behind.
    if (known?.home === home) return;
    if (known !== undefined) this.#end(known);
    const line = new Line(source, target, home);
    this.#lines.set(name, line);
    this.#soon(line);
  }

  /** These have other homes than before, or none. */
  #changed(partitions: readonly number[]): void {
    for (const partition of partitions) {
      const home = this.own(partition);
      for (const target of home?.outgoing.targets ?? []) this.ready(partition, target);
    }
    const changed = new Set(partitions);
    for (const line of this.#lines.values()) if (changed.has(line.target) && !line.isAsking) this.#soon(line);
  }

  end(): void {
    this.#isEnded = true;
    for (const line of [...this.#lines.values()]) this.#end(line);
  }

  #end(line: Line): void {
    line.callOff?.();
    const name = `${line.source} ${line.target}`;
    if (this.#lines.get(name) !== line) return;
    this.#lines.delete(name);
    if (line.heldUp !== undefined) this.#tellOfHeldUp();
  }

  #soon(line: Line): void {
    this.#after(line, 0);
  }

  #later(line: Line): void {
    this.#after(line, line.pause);
    line.pause = Math.min(2 * line.pause, LONGEST_PAUSE);
  }

  #after(line: Line, ms: number): void {
    line.callOff?.();
    line.callOff = this.clock.after(ms, () => {
      line.callOff = undefined;
      this.#send(line);
    });
  }

  #isCurrent(line: Line): boolean {
    return this.own(line.source) === line.home && this.#lines.get(`${line.source} ${line.target}`) === line;
  }

  #send(line: Line): void {
    const { source, target, home } = line;
    if (!this.#isCurrent(line)) return this.#end(line);
    const parcels = home.parcelsFor(target);
    // Those that are written from now on are told.
    const [first] = parcels;
    if (first === undefined) return this.#end(line);
    const to = this.homes.home(target);
    if (to?.deliver === undefined) return this.#later(line);
    line.asked += 1;
    line.first = first.stamp;
    line.isAsking = true;
    const { asked } = line;
    this.#giveUpAfter(line, asked);
    to.deliver(
      { source, parcels, isCounted: this.own(target) === to },
      {
        answer: (answer) => this.#answered(line, asked, answer),
        refuse: (refusal) => this.#refused(line, asked, refusal),
      },
    );
  }

  #giveUpAfter(line: Line, asked: number): void {
    line.callOff?.();
    line.callOff = this.clock.after(PATIENCE, () => {
      line.callOff = undefined;
      if (this.#isOver(line, asked)) this.#later(line);
    });
  }

  /** @returns whether it was the request that is waited for: it is not any more */
  #isOver(line: Line, asked: number): boolean {
    if (line.asked !== asked || !line.isAsking) return false;
    line.isAsking = false;
    return true;
  }

  #answered(line: Line, asked: number, { upTo, isElsewhere }: DeliverAnswer): true {
    const isAwaited = this.#isOver(line, asked);
    if (!this.#isCurrent(line)) {
      this.#end(line);
      return true;
    }
    line.home.delivered(line.target, upTo);
    if (!isAwaited) return true;
    line.pause = FIRST_PAUSE;
    line.heldUp = undefined;
    this.#tellOfHeldUp();
    const isHeld = isElsewhere && !line.home.sendElsewhere(line.target, (followUp) => this.#targetOf(followUp));
    // Not now: this may be in the middle of a step of the other core.
    if (isHeld) this.#later(line);
    else this.#soon(line);
    return true;
  }

  /** By the routes as they are now. */
  #targetOf({ queue, item }: FollowUp): number {
    return this.routes.now.map.of(queue, item.key, item.itemId);
  }

  #refused(line: Line, asked: number, refusal: Refusal): void {
    if (!this.#isOver(line, asked)) return;
    const isNone = refusal.kind === 'no_such_queue' && this.#isCurrent(line);
    if (isNone && line.home.notTaken(line.target, line.first, refusal.queue)) return this.#soon(line);
    line.heldUp = { since: line.heldUp?.since ?? this.clock.now(), why: refusal };
    this.#tellOfHeldUp();
    this.#later(line);
  }
}
