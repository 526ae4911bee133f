/** Leaders of a simulated world: workers who stand with whoever lives, hear late or never, and come back; and who judges them. */
import type {
  CandidateKnows,
  CandidateView,
  LeaderReport,
  ReportAnswer,
  WithdrawRequest,
} from '../../src/coordinator.js';
import { knowsOf } from '../../src/core/contract/leader.js';
import type { Heard, Send } from './cluster-network.js';
import type { WorldTime } from './durable-time.js';
import type { Chance } from './random.js';

/** ms */
const TTL = 2_000;
const ALIVE_EVERY = 400;
const SOON = 100;
/** Clocks of homes drift by 1 %. */
const SLOWEST = 0.985;

/** Where workers stand. */
export interface LeaderWorld {
  readonly time: WorldTime;
  readonly chance: Chance;
  /** The name of a stream that nobody had before. */
  nextStream(): string;
  /**
   * @param leaves an answer that was decided leaves its process, of this name; whether anybody hears it is not known
   * @param hear what became of it
   */
  ask<T>(
    group: string,
    send: Send<T>,
    leaves: (answer: T, process: string) => void,
    hear: (heard: Heard<T>) => void,
  ): void;
}

/** One who works in a term, as he knows it himself. */
interface Office {
  readonly group: string;
  readonly token: number;
  readonly id: string;
  /** By the last `alive` that was confirmed. */
  until: number;
  readonly excuse: number;
}

/** Stands outside, and believes nothing but which answers left, and who works. */
export class LeaderLedger {
  readonly #offices = new Map<string, Office>();
  readonly #told = new Map<string, { token: number; home: string; id: string }>();
  readonly #left = new Map<string, { token: number; excuse: number }>();
  readonly #lastLed = new Map<string, number>();
  readonly #kept = new Map<string, string>();
  readonly #inaugurated = new Map<string, number>();
  terms = 0;
  /** Another process than the one that inaugurated has kept the term. */
  keptOn = 0;
  takenOver = 0;
  handedOver = 0;

  constructor(
    private readonly now: () => number,
    private readonly excusesOf: (group: string) => number,
    private readonly broken: (what: string) => void,
  ) {}

  /** An answer of this kind leaves its home. */
  inaugurates(group: string, id: string, token: number, state: string, home: string): void {
    const before = this.#told.get(group);
    if (before !== undefined && token < before.token) {
      this.broken(`${group}: ${home} inaugurates ${id} with ${token}, after ${before.token} of ${before.home}`);
    }
    if (before?.token === token) {
      if (before.id !== id) this.broken(`${group}: ${before.id} and ${id} have the term ${token}`);
      return;
    }
    this.#nobodyElse(group, token, `${home} inaugurates ${id}`);
    const left = this.#left.get(group);
    if (left !== undefined && left.excuse === this.excusesOf(group) && Number(state) < left.token)
      this.broken(`${group}: ${id} gets the state "${state}", and that of ${left.token} was confirmed`);
    if (before !== undefined && before.home !== home) this.takenOver += 1;
    this.#told.set(group, { token, home, id });
  }

  /** A worker begins to work. */
  enters(office: Office): void {
    this.terms += 1;
    this.#nobodyElse(office.group, office.token, `${office.id} begins`);
    this.#offices.set(office.group, office);
  }

  /** He works still. */
  works({ group }: Office): void {
    this.#lastLed.set(group, this.now());
  }

  /** Before he says so. */
  stops(office: Office): void {
    office.until = Math.min(office.until, this.now());
  }

  /** The confirmation of an `alive` leaves. */
  keeps(group: string, token: number, home: string): void {
    const told = this.#told.get(group);
    if (told?.token !== token || told.home === home || this.#kept.get(group) === `${token} ${home}`) return;
    this.#kept.set(group, `${token} ${home}`);
    this.keptOn += 1;
  }

  /** The confirmation of an inauguration leaves. */
  inaugurated(group: string, token: number): void {
    this.#inaugurated.set(group, token);
  }

  /** The confirmation of a hand-over leaves. Who was not inaugurated yet leaves nothing: it has not worked. */
  released(group: string, token: number): void {
    if (this.#inaugurated.get(group) !== token) return;
    this.handedOver += 1;
    const before = this.#left.get(group);
    if (before !== undefined && before.token > token) return;
    this.#left.set(group, { token, excuse: this.excusesOf(group) });
  }

  wasLed(group: string, ago: number): boolean {
    return this.now() - (this.#lastLed.get(group) ?? 0) < ago;
  }

  #nobodyElse(group: string, token: number, what: string): void {
    const office = this.#offices.get(group);
    if (office === undefined || office.token === token || this.now() >= office.until) return;
    if (office.excuse < this.excusesOf(group)) return;
    this.broken(`${group}: ${what} with ${token}, and ${office.id} works with ${office.token} until ${office.until}`);
  }

  excuseOf(group: string): number {
    return this.excusesOf(group);
  }
}

interface Held {
  readonly token: number;
  office: Office | undefined;
  isExecuting: boolean;
  isOver: boolean;
}

/** A worker of a group, through all his lives. */
export class Career {
  #isLeaving = false;
  #id = '';
  #life = 0;
  #asks = 0;
  #stream = { at: 0, by: '' };
  #knows: CandidateKnows | undefined;
  #term: Held | undefined;

  constructor(
    private readonly world: LeaderWorld,
    private readonly ledger: LeaderLedger,
    private readonly name: string,
    private readonly group: string,
  ) {}

  /** A new life, which knows nothing. */
  start(): void {
    if (this.#isLeaving) return;
    this.#life += 1;
    this.#id = `${this.name}.${this.#life}`;
    this.#term = undefined;
    this.#connect();
  }

  /** Hands over, and does not stand again. */
  leave(): void {
    this.#isLeaving = true;
    this.#asks += 1;
    const request = { group: this.group, candidateId: this.#id, stamp: this.#stream };
    this.#withdraw(request);
    if (this.#term !== undefined) this.#handOver(this.#term);
  }

  #withdraw(request: WithdrawRequest): void {
    this.#ask<void>(
      ({ leaders }, reply) => void leaders.withdraw(request, reply),
      () => undefined,
      (heard) => {
        if (heard === 'lost' || 'refusal' in heard) this.#later(SOON, () => this.#withdraw(request));
      },
    );
  }

  /** At any member. */
  #connect(): void {
    this.#stream = { at: this.world.time.now, by: this.world.nextStream() };
    this.#knows = undefined;
    this.#stand();
  }

  #stand(): void {
    if (this.#isLeaving) return;
    this.#asks += 1;
    const asked = this.#asks;
    const timeouts = { ttl: TTL, inaugurateTimeout: 5_000, handOverTimeout: 2_000 };
    const who = { group: this.group, candidateId: this.#id, metadata: new Map(), ...timeouts };
    const request = { ...who, stamp: this.#stream, term: this.#term?.token, knows: this.#knows };
    const id = this.#id;
    this.#ask<CandidateView>(
      ({ leaders }, reply) => leaders.stand(request, reply),
      (view, home) => {
        if (view.at !== 'inaugurate') return;
        this.ledger.inaugurates(this.group, id, view.term, Buffer.from(view.state).toString() || '0', home);
      },
      (heard) => {
        if (asked !== this.#asks) return;
        if (heard !== 'lost' && 'answer' in heard) this.#look(heard.answer);
        // Nothing was heard for long: the stream breaks, and he comes back somewhere else.
        else if (this.world.chance.in100(20)) this.#connect();
        else this.#later(SOON, () => asked === this.#asks && this.#stand());
      },
    );
  }

  #look(view: CandidateView): void {
    if (view.at === 'replaced' || view.at === 'withdrawn') return this.#connect();
    this.#knows = knowsOf(view);
    const term = this.#term;
    if (view.at === 'inaugurate' && term === undefined) this.#begin(view.term);
    else if (view.at === 'execute' && view.term === term?.token) this.#execute(term);
    else if (view.at === 'hand_over' && view.term === term?.token) this.#handOver(term);
    else if (view.at === 'lost' && view.term === term?.token) this.#stop(term);
    else if (view.at === 'lost') this.#say(view.term, { kind: 'stopped' }, () => undefined);
    this.#stand();
  }

  #begin(token: number): void {
    const term: Held = { token, office: undefined, isExecuting: false, isOver: false };
    this.#term = term;
    this.#live(term);
  }

  #live(term: Held): void {
    if (term.isOver) return;
    if (term.office !== undefined && this.world.time.now >= term.office.until) return this.#stop(term);
    const sent = this.world.time.now;
    this.#say(term.token, { kind: 'alive' }, (answer) => {
      if (term.isOver) return;
      if (!answer.counted) return this.#stop(term);
      this.#lives(term, sent + answer.ttl * SLOWEST);
    });
    this.#later(ALIVE_EVERY, () => this.#live(term));
  }

  #lives(term: Held, until: number): void {
    const { now } = this.world.time;
    if (term.office !== undefined) {
      if (now >= term.office.until) return this.#stop(term);
      term.office.until = Math.max(term.office.until, until);
      if (term.isExecuting) this.ledger.works(term.office);
      return;
    }
    if (now >= until) return;
    const { group } = this;
    term.office = { group, token: term.token, id: this.#id, until, excuse: this.ledger.excuseOf(group) };
    this.ledger.enters(term.office);
    this.#later(1_500, () => this.#inaugurated(term));
  }

  #inaugurated(term: Held): void {
    if (term.isOver || term.isExecuting) return;
    this.#say(term.token, { kind: 'inaugurated' }, () => undefined);
    this.#later(500, () => this.#inaugurated(term));
  }

  #execute(term: Held): void {
    if (term.isExecuting || term.isOver || term.office === undefined) return;
    term.isExecuting = true;
    this.ledger.works(term.office);
    const { chance } = this.world;
    const lot = chance.int(0, 9);
    this.#later(6_000, () => {
      if (term.isOver) return;
      if (lot < 6) this.#handOver(term);
      else if (lot < 8) this.#die(term);
      else this.#yield(term, lot === 8);
    });
  }

  /** Until that was heard: who is not asked to hand over leads on. */
  #yield(term: Held, failed: boolean): void {
    if (term.isOver) return;
    let isHeard = false;
    this.#say(term.token, { kind: 'yield', failed }, () => {
      isHeard = true;
    });
    this.#later(1_000, () => isHeard || this.#yield(term, failed));
  }

  #handOver(term: Held): void {
    if (term.isOver) return;
    this.#end(term);
    this.#farewell(term, { kind: 'handed_over', state: Buffer.from(String(term.token)) }, 5);
  }

  /** By his own clock, or because he was told so. */
  #stop(term: Held): void {
    if (term.isOver) return;
    this.#end(term);
    this.#farewell(term, { kind: 'stopped' }, 5);
  }

  /** Without a word; another life of the worker begins. */
  #die(term: Held): void {
    this.#end(term);
    this.#asks += 1;
    this.#later(1_000, () => this.start());
  }

  #end(term: Held): void {
    term.isOver = true;
    if (term.office !== undefined) this.ledger.stops(term.office);
    if (this.#term === term) this.#term = undefined;
  }

  #farewell(term: Held, report: LeaderReport, tries: number): void {
    let isHeard = false;
    this.#say(term.token, report, () => {
      isHeard = true;
    });
    if (tries > 0) this.#later(1_000, () => isHeard || this.#farewell(term, report, tries - 1));
  }

  #say(term: number, report: LeaderReport, hear: (answer: ReportAnswer) => void): void {
    this.#ask<ReportAnswer>(
      ({ leaders }, reply) => void leaders.report({ group: this.group, term, report }, reply),
      (answer, process) => {
        if (answer.counted) this.#counted(term, report, process);
      },
      (heard) => {
        if (heard !== 'lost' && 'answer' in heard) hear(heard.answer);
      },
    );
  }

  #counted(term: number, { kind }: LeaderReport, process: string): void {
    if (kind === 'inaugurated') this.ledger.inaugurated(this.group, term);
    if (kind === 'handed_over') this.ledger.released(this.group, term);
    if (kind === 'alive') this.ledger.keeps(this.group, term, process);
  }

  #ask<T>(send: Send<T>, leaves: (answer: T, process: string) => void, hear: (heard: Heard<T>) => void): void {
    this.world.ask(this.group, send, leaves, hear);
  }

  #later(most: number, task: () => void): void {
    this.world.time.after(this.world.chance.int(1, most), task);
  }
}
