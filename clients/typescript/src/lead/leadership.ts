import { BackOff } from '../retry/back-off.js';
import type { Clock, Random } from '../time/clock.js';
import type { KeyturnError } from '../words/errors.js';
import { Insiders } from '../words/insiders.js';
import type { LeadNews, LeadSaying, Predecessor, TermLoss } from '../words/leader-words.js';
import type { Logger } from '../words/logger.js';
import { runAlone } from '../words/run-alone.js';
import type { Bytes } from '../words/worker-words.js';
import type { LeadLink, LinkedCandidacy } from './lead-link.js';
import { type LeaderCareer, type LeadSettings, stateOf } from './options.js';
import { Term, type TermHost } from './term.js';

const NOTHING: Bytes = new Uint8Array(0);
/** A hand-over that is not confirmed is said again after this long, ms. */
const SAY_AGAIN = 1_000;
const WORTH_ANOTHER_TRY: ReadonlySet<string> = new Set(['UNAVAILABLE', 'RESOURCE_EXHAUSTED']);

/** Phases of a term in which nothing of the worker runs. */
const WAITING: ReadonlySet<Term['phase']> = new Set(['confirmed_not', 'inaugurated', 'ended']);

/** What was said at the end of a term and is not confirmed yet. */
type Farewell = Extract<LeadSaying, { readonly say: 'handed_over' }>;

/** A worker that stands, and leads when its turn comes, until it is stopped. */
export class Leadership implements LinkedCandidacy, TermHost {
  readonly clock: Clock;
  /** Resolves when it stands no more; rejects when the sidecar refused it for good. */
  readonly ended: Promise<void>;
  #end: { resolve(): void; reject(error: unknown): void } = { resolve: () => {}, reject: () => {} };
  #number: number;
  #term: Term | undefined;
  #farewell: Farewell | undefined;
  #farewellUntil = 0;
  #callOffAgain: (() => void) | undefined;
  readonly #backOff: BackOff;
  #isStopping = false;
  #isOver = false;
  #position: number | undefined;
  /** Its phases: so few that a store costs little on every Node. */
  readonly #phases = new Insiders(true);

  constructor(
    readonly group: string,
    private readonly career: LeaderCareer,
    private readonly settings: LeadSettings,
    private readonly link: LeadLink,
    random: Random,
    private readonly log: Logger | undefined,
  ) {
    this.clock = link.clock;
    this.#backOff = new BackOff(random);
    this.ended = new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
    });
    // Whether anybody listens is the application's own business.
    this.ended.catch(() => undefined);
    this.#number = 0;
    this.#number = link.add(this);
    if (this.#number !== 0) this.opened();
  }

  get margin(): number | undefined {
    return this.settings.margin;
  }

  get candidateId(): string {
    return this.settings.candidateId;
  }

  /** The term, while this worker has one that is known to live. */
  get term(): number | undefined {
    return this.#term?.isKnownToLive === true ? this.#term.number : undefined;
  }

  /** Among those who wait, from 1. Unset: it leads, or is not known to stand. */
  get position(): number | undefined {
    return this.#position;
  }

  /** Does not want to lead any longer: the worker is asked to hand over, and stands again behind all others. */
  yield(): void {
    if (this.#term === undefined) return;
    this.#say({ say: 'yield', term: this.#term.number, failed: false });
    this.#askItself(this.#term);
  }

  /**
   * Hands over if it leads, and stands no more. What its own career calls does not wait for that: it would wait for itself.
   *
   * @param timeout ms; after that the term ends with its ttl
   */
  async stop(options: { readonly timeout?: number | undefined } = {}): Promise<void> {
    const end = this.end(options);
    if (!this.isCalledInside) await end;
  }

  /** Whether a phase that runs calls this. */
  get isCalledInside(): boolean {
    return this.#phases.caller !== undefined;
  }

  /** The same, and waits for it in any case. */
  async end(options: { readonly timeout?: number | undefined }): Promise<void> {
    this.#isStopping = true;
    if (this.#isOver) return;
    if (this.#term === undefined && this.#farewell === undefined) this.#leave();
    else this.#say({ say: 'withdraw' });
    if (this.#term !== undefined) this.#askItself(this.#term);
    const { timeout } = options;
    const callOff = timeout === undefined ? undefined : this.clock.after(timeout, () => this.#cutOff());
    await this.ended.catch(() => undefined);
    callOff?.();
  }

  #cutOff(): void {
    this.#term?.lose('closed');
    this.#over(undefined);
  }

  opened(): void {
    if (this.#number === 0 || this.#isOver) return;
    const { candidateId, ttl, inaugurateTimeout, handOverTimeout, metadata } = this.settings;
    const term = this.#term?.number ?? this.#farewell?.term ?? 0;
    const call = { group: this.group, candidateId, ttl, inaugurateTimeout, handOverTimeout, metadata, term };
    this.link.say(this.#number, { say: 'stand', call });
    if (this.#isStopping) this.link.say(this.#number, { say: 'withdraw' });
    if (this.#farewell !== undefined) this.link.say(this.#number, this.#farewell);
    else this.#term?.live();
  }

  broke(error: KeyturnError | undefined): void {
    this.#position = undefined;
    this.#term?.broke();
    this.log?.info?.('keyturn: the stream of leaders broke', { group: this.group, error: error?.message });
  }

  alive(term: number): boolean {
    return this.#number !== 0 && this.link.say(this.#number, { say: 'alive', term });
  }

  within(ms: number, task: () => void): () => void {
    return this.link.within(ms, task);
  }

  /** By the clock of this process, or as the sidecar says: the worker has to stop. */
  lost(term: Term, loss: TermLoss): void {
    if (term !== this.#term || !term.lose(loss)) return;
    this.log?.warn?.('keyturn: a term is lost', { group: this.group, term: term.number, loss });
    // In the other phases the worker ends it when it has stopped.
    if (WAITING.has(term.phase)) this.#finish(term, NOTHING, true);
  }

  told(news: LeadNews): void {
    if (this.#isOver) return;
    if (news.news !== 'standing') this.#position = undefined;
    switch (news.news) {
      case 'standing':
        this.#position = news.position;
        return runAlone(() => this.career.standing?.(news.position));
      case 'inaugurate':
        return this.#begin(news.term, news.predecessor);
      case 'kept':
        return this.#kept(news.term, news.ttl);
      case 'execute':
        return this.#execute(news.term);
      case 'hand_over':
        return this.#handOver(news.term, news.reason, news.within);
      case 'lost':
        return this.#isLost(news.term, news.cause);
      case 'released':
        return this.#released(news.term);
      case 'refused':
        return this.#refused(news.error);
    }
  }

  #begin(number: number, predecessor: Predecessor): void {
    const term = this.#term;
    if (term?.number === number) {
      // The sidecar was away when it was told, or knows it no more.
      if (term.phase === 'inaugurated' || term.phase === 'executing') this.#say({ say: 'inaugurated', term: number });
      return;
    }
    if (term !== undefined || this.#farewell?.term === number) return;
    const isManual = this.settings.progress === 'manual';
    this.#term = new Term(number, predecessor, this.settings.ttl, isManual, this);
    this.#term.live();
  }

  #kept(number: number, ttl: number): void {
    const term = this.#term;
    if (term?.number !== number) return;
    term.kept(ttl);
    // Only now it is known since when the term lives at least: `inaugurate` may have been under way for long.
    if (term.phase !== 'confirmed_not' || !term.isKnownToLive) return;
    term.phase = 'inaugurating';
    void this.#inaugurate(term);
  }

  async #inaugurate(term: Term): Promise<void> {
    try {
      await this.#phases.run(() => this.career.inaugurate?.(term.number, term.predecessor, term.signal));
    } catch (error) {
      this.log?.warn?.('keyturn: an inauguration failed', { group: this.group, error: String(error) });
      term.phase = 'ended';
      // One that was told to stop, and did, has not failed.
      return this.#finish(term, NOTHING, term.loss !== undefined);
    }
    if (term.loss !== undefined) return this.#finish(term, NOTHING, true);
    term.phase = 'inaugurated';
    if (term.asked !== undefined) return this.#leaveOffice(term);
    this.#say({ say: 'inaugurated', term: term.number });
  }

  #execute(number: number): void {
    const term = this.#term;
    if (term?.number !== number || term.phase !== 'inaugurated') return;
    if (!term.isKnownToLive) return this.lost(term, 'unreachable');
    term.phase = 'executing';
    void this.#work(term);
  }

  async #work(term: Term): Promise<void> {
    const work = { progress: () => term.progress(), lost: term.lost };
    let failed = false;
    try {
      await this.#phases.run(() => this.career.execute(term.number, term.signal, work));
    } catch (error) {
      failed = !term.signal.aborted || error !== term.signal.reason;
      if (failed) this.log?.warn?.('keyturn: a leader failed', { group: this.group, error: String(error) });
    }
    term.phase = 'ended';
    if (term.loss !== undefined) return this.#finish(term, NOTHING, true);
    if (term.asked !== undefined) return this.#leaveOffice(term);
    if (this.settings.once) this.#isStopping = true;
    this.#say({ say: 'yield', term: term.number, failed });
    this.#askItself(term);
  }

  /** Its own wish needs nobody's word: it hands over also while the sidecar is away. */
  #askItself(term: Term): void {
    this.#handOver(term.number, 'yield', this.settings.handOverTimeout);
  }

  #handOver(number: number, reason: 'yield' | 'operator' | 'drain', within: number): void {
    const term = this.#term;
    if (term?.number !== number || term.asked !== undefined) return;
    term.askedToHandOver(reason, within);
    if (term.phase === 'ended' || term.phase === 'inaugurated') void this.#leaveOffice(term);
    else if (term.phase === 'confirmed_not') this.#finish(term, NOTHING, false);
  }

  async #leaveOffice(term: Term): Promise<void> {
    if (term.phase === 'handing_over') return;
    term.phase = 'handing_over';
    const { reason, until } = term.asked ?? { reason: 'yield', until: this.clock.now() };
    let state: Bytes;
    try {
      const left = Math.max(0, until - this.clock.now());
      state = stateOf(await this.#phases.run(() => this.career.handOver?.(reason, left, term.lost)));
    } catch (error) {
      this.log?.warn?.('keyturn: a hand-over failed', { group: this.group, error: String(error) });
      return this.#finish(term, NOTHING, true);
    }
    this.#finish(term, state, term.loss !== undefined && state.length === 0);
  }

  /** The worker has stopped: that is said until it is confirmed. */
  #finish(term: Term, state: Bytes, lost: boolean): void {
    if (this.#term !== term) return;
    term.end();
    this.#term = undefined;
    this.#farewell = { say: 'handed_over', term: term.number, state, lost };
    this.#farewellUntil = this.clock.now() + this.settings.ttl;
    if (this.settings.once) this.#isStopping = true;
    // First: who has handed over and stands still may be chosen again.
    if (this.#isStopping) this.#say({ say: 'withdraw' });
    this.#sayFarewell();
  }

  /** Who ends does not wait for a sidecar that is away for longer: it is not known whether the term lives there still. */
  #sayFarewell(): void {
    if (this.#farewell === undefined || this.#isOver) return;
    if (this.#isStopping && this.clock.now() >= this.#farewellUntil) return this.#released(this.#farewell.term);
    this.#say(this.#farewell);
    this.#callOffAgain = this.clock.after(SAY_AGAIN, () => this.#sayFarewell());
  }

  #isLost(number: number, cause: TermLoss): void {
    if (this.#term?.number === number) return this.lost(this.#term, cause);
    // What had stopped before is confirmed by that, too.
    if (this.#farewell?.term === number) this.#released(number);
    else this.#say({ say: 'handed_over', term: number, state: NOTHING, lost: true });
  }

  #released(number: number): void {
    if (this.#farewell?.term !== number) return;
    this.#farewell = undefined;
    this.#callOffAgain?.();
    if (this.#isStopping) this.#leave();
  }

  #leave(): void {
    this.#say({ say: 'withdraw' });
    this.#over(undefined);
  }

  #refused(error: KeyturnError): void {
    this.link.remove(this.#number);
    this.#number = 0;
    if (!WORTH_ANOTHER_TRY.has(error.code)) {
      this.#term?.lose('unknown');
      return this.#over(error);
    }
    this.#term?.broke();
    this.#callOffAgain?.();
    this.#callOffAgain = this.clock.after(this.#backOff.next(error.retryAfter), () => {
      if (this.#isOver) return;
      if (this.#isStopping && this.#term === undefined && this.#farewell === undefined) return this.#over(undefined);
      this.#number = this.link.add(this);
      this.opened();
      if (this.#farewell !== undefined) this.#sayFarewell();
    });
  }

  #over(error: KeyturnError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#callOffAgain?.();
    this.#term?.end();
    if (this.#number !== 0) this.link.remove(this.#number);
    if (error === undefined) this.#end.resolve();
    else this.#end.reject(error);
  }

  #say(saying: LeadSaying): void {
    if (this.#number !== 0) this.link.say(this.#number, saying);
  }
}
