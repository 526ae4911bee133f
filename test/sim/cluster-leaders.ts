/** Leaders of a simulated cluster: workers who stand at any member, hear late or never, and come back; and who judges them. */
import type { CandidateKnows, CandidateView, LeaderReport, ReportAnswer } from '../../src/coordinator.js';
import { knowsOf } from '../../src/core/contract/leader.js';
import { Client, type ClientWorld } from './cluster-clients.js';

/** ms */
const TTL = 2_000;
const ALIVE_EVERY = 400;
const SOON = 100;
/** Clocks of homes drift by 1 %. */
const SLOWEST = 0.985;

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
  terms = 0;
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

  /** The confirmation of a hand-over leaves. */
  released(group: string, token: number): void {
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

let streams = 0;

/** A worker of a group, through all his lives. */
export class Career extends Client {
  #id = '';
  #life = 0;
  #asks = 0;
  #stream = { at: 0, by: '' };
  #knows: CandidateKnows | undefined;
  #term: Held | undefined;

  constructor(
    world: ClientWorld,
    private readonly ledger: LeaderLedger,
    private readonly name: string,
    private readonly group: string,
  ) {
    super(world);
  }

  /** A new life, which knows nothing. */
  start(): void {
    this.#life += 1;
    this.#id = `${this.name}.${this.#life}`;
    this.#term = undefined;
    this.#connect();
  }

  /** At any member. */
  #connect(): void {
    streams += 1;
    this.#stream = { at: this.world.time.now, by: `stream ${streams}` };
    this.#knows = undefined;
    this.#stand();
  }

  #stand(): void {
    this.#asks += 1;
    const asked = this.#asks;
    const timeouts = { ttl: TTL, inaugurateTimeout: 5_000, handOverTimeout: 2_000 };
    const who = { group: this.group, candidateId: this.#id, metadata: new Map(), ...timeouts };
    const request = { ...who, stamp: this.#stream, term: this.#term?.token, knows: this.#knows };
    const id = this.#id;
    this.ask<CandidateView>(
      { queue: this.group, key: '' },
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
        else this.later(SOON, () => asked === this.#asks && this.#stand());
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
    this.later(ALIVE_EVERY, () => this.#live(term));
  }

  #lives(term: Held, until: number): void {
    const { now } = this.world.time;
    if (term.office !== undefined) {
      if (now >= term.office.until) return this.#stop(term);
      term.office.until = Math.max(term.office.until, until);
      return;
    }
    if (now >= until) return;
    const { group } = this;
    term.office = { group, token: term.token, id: this.#id, until, excuse: this.ledger.excuseOf(group) };
    this.ledger.enters(term.office);
    this.later(1_500, () => this.#inaugurated(term));
  }

  #inaugurated(term: Held): void {
    if (term.isOver || term.isExecuting) return;
    this.#say(term.token, { kind: 'inaugurated' }, () => undefined);
    this.later(500, () => this.#inaugurated(term));
  }

  #execute(term: Held): void {
    if (term.isExecuting || term.isOver || term.office === undefined) return;
    term.isExecuting = true;
    this.ledger.works(term.office);
    const { chance } = this.world;
    const lot = chance.int(0, 9);
    this.later(6_000, () => {
      if (term.isOver) return;
      if (lot < 6) this.#handOver(term);
      else if (lot < 8) this.#die(term);
      else this.#say(term.token, { kind: 'yield', failed: lot === 8 }, () => undefined);
    });
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
    this.later(1_000, () => this.start());
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
    if (tries > 0) this.later(1_000, () => isHeard || this.#farewell(term, report, tries - 1));
  }

  #say(term: number, report: LeaderReport, hear: (answer: ReportAnswer) => void): void {
    this.ask<ReportAnswer>(
      { queue: this.group, key: '' },
      ({ leaders }, reply) => void leaders.report({ group: this.group, term, report }, reply),
      (answer) => {
        if (report.kind === 'handed_over' && answer.counted) this.ledger.released(this.group, term);
      },
      (heard) => {
        if (heard !== 'lost' && 'answer' in heard) hear(heard.answer);
      },
    );
  }
}
