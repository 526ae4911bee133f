/** Groups of leaders on a table: workers that stand, at moments that the test chooses, and what each was told as short words. */
import type {
  CandidateKnows,
  CandidateView,
  GroupView,
  LeaderReport,
  ReportAnswer,
  StandRequest,
  YieldView,
} from '../../../src/coordinator.js';
import { knowsOf } from '../../../src/core/contract/leader.js';
import { Core, type Effect, type WaitingLeaderCall } from '../../../src/core/core.js';
import type { CoreState } from '../../../src/core/state/state.js';
import * as build from '../../support/builders.js';
import { FIRST_WALL } from '../../support/fake-clock.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { recount } from '../../support/recount.js';

const ALL = 1_000_000;
const BEGAN = 5_000;

export const GROUP = 'g';
export const TTL = 5_000;
export const NOTHING = new Uint8Array(0);

export class LeaderStage {
  core: Core;
  now = BEGAN;
  /** Who was told what, in order. */
  readonly told: string[] = [];
  /** Terms in the order in which somebody was told of them, as the test calls them: 1, 2, … */
  readonly terms: number[] = [];
  /** Tokens in the order in which leaders were inaugurated first. */
  readonly begun: number[] = [];
  readonly disk: MemoryDisk | undefined;
  #wall = FIRST_WALL;
  #began = BEGAN;
  #stamps = 0;
  #carries = true;
  /** What is told late waits for {@link flush}. */
  #held: Effect[] = [];

  constructor(
    kept: 'kept' | 'not_kept' = 'not_kept',
    private readonly change: build.SettingsChange = {},
  ) {
    this.disk = kept === 'kept' ? new MemoryDisk(true) : undefined;
    this.core = this.#makeCore(undefined);
    // Long before, if ever, somebody led.
    if (kept === 'not_kept') this.pass(TTL);
  }

  #makeCore(tokenFloor: number | undefined): Core {
    const start = { now: this.now, wall: this.#wall, seed: 1, durable: this.disk !== undefined, keepsContents: true };
    const partition = this.disk && { number: 0, of: 1 };
    return new Core(build.settings(this.change), { ...start, tokenFloor, partition });
  }

  get state(): CoreState {
    return this.core.inside;
  }

  /** What this does is not on the disk when the sidecar is killed, which follows: nobody is told anything of it. */
  unwritten(task: () => void): void {
    this.#carries = false;
    task();
    this.#carries = true;
  }

  /** Carries out what waits for nothing, and what is kept. */
  carry(): void {
    if (!this.#carries) return;
    for (;;) {
      const effect = this.core.takeEffect() ?? this.#takeHeld();
      if (effect === undefined) break;
      this.#carry(effect);
    }
    recount(this.state, this.now);
  }

  #takeHeld(): Effect | undefined {
    this.flush();
    return this.#held.shift();
  }

  flush(): void {
    if (this.disk === undefined || !this.core.hasHeld) return;
    for (let next = this.core.takeHeld(); next !== undefined; next = this.core.takeHeld()) this.#held.push(next);
    const batch = this.core.collect(this.now);
    this.disk.apply(batch.changes, batch.instant);
    this.core.written(batch);
  }

  #carry(effect: Effect): void {
    if (effect.kind === 'candidate') effect.to.answer(effect.answer);
    else if (effect.kind === 'reported') effect.to.answer(effect.answer);
    else if (effect.kind === 'leader') effect.to.answer(effect.answer);
    else if (effect.kind === 'yielded') effect.to.answer(effect.answer);
    else if (effect.kind === 'withdrawn') effect.to.answer();
    else if (effect.kind === 'refuse') effect.to.refuse(effect.refusal);
  }

  pass(ms: number): void {
    const end = this.now + ms;
    while (this.core.wakeAt <= end) {
      this.now = Math.max(this.now, this.core.wakeAt);
      this.core.tick(this.now, ALL);
      this.carry();
    }
    this.now = end;
  }

  /** The wheel is late: nothing happens by itself meanwhile. */
  sleep(ms: number): void {
    this.now += ms;
  }

  /** The sidecar ends without a word and begins again, `away` ms later. Streams are gone. */
  restart(away = 0): void {
    this.#wall += this.now - this.#began + away;
    this.now = 300;
    this.#began = 300;
    this.#held = [];
    const rows = this.disk?.rows() ?? [];
    const [floor] = rows;
    this.core = this.#makeCore(floor?.table === 'floor' ? floor.token : undefined);
    if (this.disk === undefined) return;
    this.core.restore(rows, this.now, this.disk.past);
    while (this.core.finishRestore(this.now, 1));
    this.carry();
  }

  nextStamp(): number {
    this.#stamps += 1;
    return this.#stamps;
  }

  /** @returns its name in the test */
  nameOf(term: number): number {
    const at = this.terms.indexOf(term);
    return at >= 0 ? at + 1 : this.terms.push(term);
  }

  worker(id: string, change: Partial<StandRequest> = {}): Worker {
    return new Worker(this, id, change);
  }

  leader(group = GROUP): GroupView {
    let seen: GroupView | undefined;
    const answer = (view: GroupView) => {
      seen = view;
      return true;
    };
    this.core.awaitLeader({ group, knows: undefined }, { answer, refuse: throwIt }, this.now);
    this.carry();
    if (seen === undefined) throw new Error('it was not said who leads');
    return seen;
  }

  operatorYield(group = GROUP): YieldView {
    let seen: YieldView | undefined;
    const answer = (view: YieldView) => {
      seen = view;
      return true;
    };
    this.core.yieldLeader(group, { answer, refuse: throwIt }, this.now);
    this.carry();
    if (seen === undefined) throw new Error('it was not said who was asked');
    return seen;
  }
}

function throwIt(refusal: unknown): never {
  throw new Error(JSON.stringify(refusal));
}

/** One who stands: asks again whenever it was told something, as the stream of a client does. */
export class Worker {
  /** The term that it was told of last. */
  term: number | undefined;
  view: CandidateView | undefined;
  #stamp: number;
  #knows: CandidateKnows | undefined;
  #call: WaitingLeaderCall | undefined;
  #listens = false;
  #isWithdrawn = false;

  constructor(
    private readonly stage: LeaderStage,
    readonly id: string,
    private readonly change: Partial<StandRequest>,
  ) {
    this.#stamp = stage.nextStamp();
  }

  /** @param term the one that it says it has; unset: none */
  stand(term?: number): this {
    this.#isWithdrawn = false;
    return this.#come(term);
  }

  /** Comes back, or asks once more, after it withdrew. */
  standWithdrawn(term = this.term): this {
    this.#isWithdrawn = true;
    return this.#come(term);
  }

  #come(term: number | undefined): this {
    this.#listens = true;
    this.#stamp = this.stage.nextStamp();
    this.#knows = undefined;
    this.term = term;
    this.#ask();
    this.stage.carry();
    return this;
  }

  get #streamStamp(): { readonly at: number; readonly by: string } {
    return { at: this.#stamp, by: `stream ${this.#stamp}` };
  }

  #ask(): void {
    let isAnswered = false;
    const call = this.stage.core.stand(
      {
        group: GROUP,
        candidateId: this.id,
        stamp: this.#streamStamp,
        ttl: TTL,
        inaugurateTimeout: 30_000,
        handOverTimeout: 10_000,
        metadata: new Map(),
        term: this.term,
        knows: this.#knows,
        withdrawn: this.#isWithdrawn,
        ...this.change,
      },
      {
        answer: (view) => {
          isAnswered = true;
          return this.#look(view);
        },
        refuse: (refusal) => {
          isAnswered = true;
          if (refusal.kind !== 'cancelled') this.stage.told.push(`${this.id} refused ${refusal.kind}`);
        },
      },
      this.stage.now,
    );
    if (!isAnswered) this.#call = call;
  }

  #look(view: CandidateView): boolean {
    if (!this.#listens) return false;
    this.view = view;
    this.#call = undefined;
    if (view.at === 'inaugurate' && !this.stage.begun.includes(view.term)) this.stage.begun.push(view.term);
    this.stage.told.push(`${this.id} ${this.#inWords(view)}`);
    if (view.at === 'replaced' || view.at === 'withdrawn') return true;
    this.#knows = knowsOf(view);
    this.term = 'term' in view ? view.term : undefined;
    this.#ask();
    return true;
  }

  #inWords(view: CandidateView): string {
    switch (view.at) {
      case 'standing':
        return `standing ${view.position}`;
      case 'inaugurate': {
        const { candidateId, how } = view.predecessor;
        const state = view.state.length === 0 ? '' : ` "${Buffer.from(view.state).toString()}"`;
        return `inaugurate ${this.stage.nameOf(view.term)}${how === 'none' ? '' : ` after ${candidateId} ${how}`}${state}`;
      }
      case 'execute':
        return `execute ${this.stage.nameOf(view.term)}`;
      case 'hand_over':
        return `hand over ${this.stage.nameOf(view.term)}: ${view.reason} within ${view.within}`;
      case 'lost':
        return `lost ${this.stage.nameOf(view.term)}: ${view.cause}`;
      default:
        return view.at;
    }
  }

  say(report: LeaderReport, term = this.term ?? 0): ReportAnswer | undefined {
    let said: ReportAnswer | undefined;
    const answer = (value: ReportAnswer) => {
      said = value;
      return true;
    };
    const refuse = (refusal: { readonly kind: string }) =>
      void this.stage.told.push(`${this.id} refused ${refusal.kind}`);
    this.stage.core.report({ group: this.change.group ?? GROUP, term, report }, { answer, refuse }, this.stage.now);
    this.stage.carry();
    return said;
  }

  inaugurated(): ReportAnswer | undefined {
    return this.say({ kind: 'inaugurated' });
  }

  alive(): ReportAnswer | undefined {
    return this.say({ kind: 'alive' });
  }

  handOver(state = ''): ReportAnswer | undefined {
    return this.say({ kind: 'handed_over', state: Buffer.from(state) });
  }

  yields(failed = false): ReportAnswer | undefined {
    return this.say({ kind: 'yield', failed });
  }

  /** Lives through so many ms: says so every second. */
  live(ms: number): void {
    for (let left = ms; left > 0; left -= 1_000) {
      this.stage.pass(Math.min(1_000, left));
      this.alive();
    }
  }

  /** Its stream broke. */
  breakOff(): void {
    this.#listens = false;
    if (this.#call !== undefined) this.stage.core.cancelLeaderCall(this.#call, this.stage.now);
    this.#call = undefined;
    this.stage.carry();
  }

  /** Its sidecar is gone, and its call with it. */
  cutOff(): void {
    this.#listens = false;
    this.#call = undefined;
  }

  withdraw(): void {
    const request = { group: GROUP, candidateId: this.id, stamp: this.#streamStamp };
    this.stage.core.withdraw(request, { answer: () => true, refuse: () => undefined }, this.stage.now);
    this.stage.carry();
  }

  /** What a stream asks that was told something, and that has heard of the withdrawal since. */
  askOnWithdrawn(): void {
    this.#isWithdrawn = true;
    this.#ask();
    this.stage.carry();
  }

  /** Stands and leads. */
  lead(): this {
    this.stand();
    this.inaugurated();
    return this;
  }
}
