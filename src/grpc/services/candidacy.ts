/**
 * One candidacy of a stream: asks how it stands, tells what is new, and asks again. What its worker says goes to the port until
 * it is counted.
 */
import {
  type CandidateKnows,
  type CandidateView,
  knowsOf,
  type LeaderReport,
  type Leaders,
  type Pending,
  type Refusal,
  type ReportAnswer,
  type ReportRequest,
  type SessionStamp,
} from '../../coordinator.js';
import { lostNews, newsOf, type StandTerms } from '../convert/leaders.js';
import { toDuration } from '../convert/time.js';
import type { LeadNews } from '../gen/keyturn/v1/leader.js';

type News = LeadNews['news'];

/** What is around a candidacy. */
export interface CandidacyHost {
  readonly leaders: Leaders;
  tell(candidacy: number, news: News): void;
  /** It is over: nothing is told of it any more. @param why unset: its worker withdrew it */
  over(candidacy: Candidacy, why: Refusal | undefined): void;
  /** @returns calls it off */
  after(ms: number, task: () => void): () => void;
}

/** An `alive` that nobody counted: which one of the candidacy, and of which term. */
interface Unheard {
  readonly number: number;
  readonly term: number;
}

/** More of them are not remembered: their worker has given the term up long before. */
const MOST_UNHEARD = 100;
/** Who has stopped and is still known as one that lost its term says so again after this long, ms. */
const STOPPED_AGAIN = 1_000;
const NONE: readonly Unheard[] = [];
/** No worker says so many different things. */
const MOST_LATER = 100;

export class Candidacy {
  /** The term that its worker was told of, until that is released. */
  #term: number | undefined;
  #knows: CandidateKnows | undefined;
  #pending: Pending | undefined;
  /** Set: the client reads nothing, and it asks when that ends. */
  #isHeldBack = false;
  #asks = false;
  #isOver = false;
  /** Its worker wants no term any more: that is said with every question. */
  #isWithdrawn = false;
  /** Of the question that counts. */
  #question = 0;
  #alives = 0;
  /** Most have none, so that nothing is held for it. */
  #unheard: readonly Unheard[] = NONE;
  /** Calls that are repeated later, by what they say: what is said twice is repeated once. Made with the first. */
  #later: Map<string, () => void> | undefined;

  constructor(
    readonly id: number,
    private readonly terms: StandTerms,
    private readonly stamp: SessionStamp,
    private readonly host: CandidacyHost,
  ) {
    this.#term = terms.term;
  }

  /** Asks how it stands, unless it does. */
  ask(): void {
    if (this.#isOver || this.#asks || this.#isHeldBack) return;
    this.#asks = true;
    this.#question += 1;
    const question = this.#question;
    const counts = (): boolean => this.#question === question;
    const reply = {
      isAnswered: false,
      answer: (view: CandidateView) => {
        reply.isAnswered = true;
        return counts() && this.#look(view);
      },
      refuse: (refusal: Refusal) => {
        reply.isAnswered = true;
        if (counts()) this.#refused(refusal);
      },
    };
    const { terms, stamp } = this;
    const asked = { ...terms, stamp, term: this.#term, knows: this.#knows, withdrawn: this.#isWithdrawn };
    const waiting = this.host.leaders.stand(asked, reply);
    if (!reply.isAnswered && counts()) this.#pending = waiting;
  }

  /** The client reads, or does not: whoever does not is told nothing, and counts as absent. */
  flows(flows: boolean): void {
    this.#isHeldBack = !flows;
    this.ask();
  }

  say(term: number, report: LeaderReport): void {
    if (this.#isOver) return;
    if (report.kind === 'alive') return this.#live(term);
    this.host.leaders.report(this.#said(term, report), {
      answer: (said) => this.#answered(term, report, said),
      refuse: (refusal) => this.#again(`${report.kind} ${term}`, refusal, () => this.say(term, report)),
    });
  }

  #said(term: number, report: LeaderReport): ReportRequest {
    const { group, candidateId } = this.terms;
    return { group, candidateId, term, report };
  }

  /** It is not repeated: the worker says the next one soon, and counts by its own clock. */
  #live(term: number): void {
    this.#alives += 1;
    const number = this.#alives;
    this.host.leaders.report(this.#said(term, { kind: 'alive' }), {
      answer: (said) => this.#lives(term, number, said),
      refuse: () => {
        if (this.#unheard.length < MOST_UNHEARD) this.#unheard = [...this.#unheard, { number, term }];
      },
    });
  }

  /**
   * The worker takes the first `kept` for the first `alive` that is not confirmed. So those before this one that nobody counted
   * are confirmed with it: the term lives longer than they could have said.
   */
  #lives(term: number, number: number, said: ReportAnswer): boolean {
    if (!said.counted) {
      this.host.tell(this.id, lostNews(term, said.cause));
      return true;
    }
    const isBefore = (one: Unheard) => one.term === term && one.number < number;
    const confirmed = 1 + this.#unheard.filter(isBefore).length;
    if (this.#unheard.length > 0) this.#unheard = this.#unheard.filter((one) => one.term >= term && !isBefore(one));
    const kept = { term: BigInt(term), ttl: toDuration(said.ttl) };
    for (let left = confirmed; left > 0; left -= 1) this.host.tell(this.id, { $case: 'kept', value: kept });
    return true;
  }

  withdraw(): void {
    if (this.#isOver) return;
    this.#sayWithdrawn();
    if (this.#isOver || this.#isWithdrawn) return;
    this.#isWithdrawn = true;
    // The question that is under way does not say so: to a home that hears it late it would be a new candidate.
    const before = this.#pending;
    this.#pending = undefined;
    this.#asks = false;
    this.#question += 1;
    before?.cancel();
    this.ask();
  }

  #sayWithdrawn(): void {
    if (this.#isOver) return;
    const { group, candidateId } = this.terms;
    const again = (refusal: Refusal) => this.#again('withdraw', refusal, () => this.#sayWithdrawn());
    this.host.leaders.withdraw({ group, candidateId, stamp: this.stamp }, { answer: () => true, refuse: again });
  }

  /** The stream is gone: the candidate is absent from now on. */
  close(): void {
    this.#isOver = true;
    for (const callOff of this.#later?.values() ?? []) callOff();
    this.#later = undefined;
    this.#pending?.cancel();
    this.#pending = undefined;
  }

  #look(view: CandidateView): boolean {
    if (this.#isOver) return false;
    this.#asks = false;
    this.#pending = undefined;
    if (view.at === 'replaced' || view.at === 'withdrawn') {
      this.#end(view.at === 'replaced' ? { kind: 'session_replaced', sessionId: this.terms.candidateId } : undefined);
      return true;
    }
    this.#knows = knowsOf(view);
    this.#term = 'term' in view ? view.term : undefined;
    this.host.tell(this.id, newsOf(view));
    this.ask();
    return true;
  }

  /** Of what its worker waits no answer for. */
  #report(term: number, report: LeaderReport): void {
    if (this.#isOver) return;
    const refuse = (refusal: Refusal) =>
      this.#again(`${report.kind} ${term}`, refusal, () => this.#report(term, report));
    this.host.leaders.report(this.#said(term, report), {
      answer: () => {
        if (report.kind === 'stopped') this.#checkStopped(term);
        return true;
      },
      refuse,
    });
  }

  /**
   * What it said may have come to a home that has given the group up since, or before the next one heard that it stands: that one
   * passes it over until it has stopped, and its worker has nothing more to say.
   */
  #checkStopped(term: number): void {
    if (this.#isOver) return;
    this.#inTime(`stopped ${term}`, STOPPED_AGAIN, () => {
      const { at, number } = this.#knows ?? {};
      if (at === 'lost' && number === term) this.#report(term, { kind: 'stopped' });
    });
  }

  #refused(refusal: Refusal): void {
    if (this.#isOver) return;
    this.#asks = false;
    this.#pending = undefined;
    if (refusal.kind === 'store_unavailable' || refusal.kind === 'no_home')
      this.#repeat('stand', refusal, () => this.ask());
    else if (refusal.kind !== 'cancelled') this.#end(refusal);
  }

  #end(why: Refusal | undefined): void {
    this.close();
    this.host.over(this, why);
  }

  /** Also when the candidacy ended with that: who withdrew still waits to hear that its hand-over was counted. */
  #answered(term: number, { kind }: LeaderReport, said: ReportAnswer): boolean {
    // Who confirms that it has stopped wants to know no more than that it was heard.
    if (!said.counted && kind !== 'stopped') this.host.tell(this.id, lostNews(term, said.cause));
    else if (kind === 'handed_over' || kind === 'stopped') {
      this.host.tell(this.id, { $case: 'released', value: { term: BigInt(term) } });
    }
    if (kind === 'handed_over' || kind === 'stopped') this.#checkStopped(term);
    return true;
  }

  #again(what: string, refusal: Refusal, task: () => void): void {
    if (!this.#isOver) this.#repeat(what, refusal, task);
  }

  #repeat(what: string, refusal: Refusal, task: () => void): void {
    this.#inTime(what, 'retryAfter' in refusal ? refusal.retryAfter : 1_000, task);
  }

  #inTime(what: string, wait: number, task: () => void): void {
    this.#callOff(what);
    this.#later ??= new Map();
    const later = this.#later;
    const [oldest] = later.keys();
    if (oldest !== undefined && later.size >= MOST_LATER) this.#callOff(oldest);
    const callOff = this.host.after(wait, () => {
      later.delete(what);
      task();
    });
    later.set(what, callOff);
  }

  #callOff(what: string): void {
    this.#later?.get(what)?.();
    this.#later?.delete(what);
  }
}
