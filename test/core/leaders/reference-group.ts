/**
 * One group as docs/SPEC.md has it (S360 to S371), made anew from its words: lists that are gone through, no timers, nothing that
 * is counted twice. Whoever stands has a number of its own, also where two lives have one id.
 */

export interface Life {
  readonly id: string;
  readonly ttl: number;
  readonly inaugurateTimeout: number;
  readonly handOverTimeout: number;
}

/** What a life is told. `number`: the place, or the number of the term. */
export interface Told {
  readonly at: string;
  readonly number: number | undefined;
}

interface Standing {
  readonly life: Life;
  isThere: boolean;
  keptUntil: number;
  /** The term that it has not confirmed to have stopped for. */
  lost: number | undefined;
}

interface RunningTerm {
  /** Its place among all terms, from 1. */
  readonly number: number;
  readonly who: Standing;
  phase: 'inaugurate' | 'execute' | 'hand_over' | 'lost';
  worked: boolean;
  failed: boolean;
  asked: boolean;
  ends: number;
  deadline: number;
  withdrawn: boolean;
  /** Its worker said something of it. */
  heard: boolean;
}

const NEVER = Number.POSITIVE_INFINITY;
/** A term of nobody: one that somebody made up. */
export const MADE_UP = 0;

export class ReferenceGroup {
  line: Standing[] = [];
  term: RunningTerm | undefined;
  terms = 0;
  predecessor: { id: string; term: number; how: string } | undefined;
  state = '';
  #now = 0;
  failures = new Map<string, { count: number; until: number }>();
  /** What ended the candidacy of a life that stands no more. */
  readonly over = new Map<Life, string>();

  /** Time passes, one moment after the other. */
  advance(now: number): void {
    for (;;) {
      const next = Math.min(...this.#moments().filter((moment) => moment > this.#now));
      if (next >= now) break;
      this.#settleAt(next);
    }
    this.#settleAt(now);
  }

  #moments(): number[] {
    const kept = this.line.filter(({ isThere }) => !isThere).map(({ keptUntil }) => keptUntil);
    const back = this.term === undefined ? [...this.failures.values()].map(({ until }) => until) : [];
    return [...(this.term === undefined ? [] : [this.term.ends, this.term.deadline]), ...kept, ...back];
  }

  #settleAt(now: number): void {
    this.#now = now;
    while (this.#settle(now));
  }

  /** @returns whether anything happened */
  #settle(now: number): boolean {
    const before = this.#picture();
    const { term } = this;
    if (term !== undefined && term.ends <= now && term.ends <= term.deadline) this.#end(now, 'lost');
    else if (term !== undefined && term.deadline <= now) {
      term.phase = 'lost';
      term.deadline = NEVER;
      term.ends = now + term.who.life.ttl;
    }
    this.line = this.line.filter(({ isThere, keptUntil }) => isThere || keptUntil > now);
    if (this.term === undefined) this.#elect(now);
    return this.#picture() !== before;
  }

  #picture(): string {
    return JSON.stringify([this.term?.number, this.term?.phase, this.line.length]);
  }

  #elect(now: number): void {
    const who = this.line.find(
      ({ isThere, lost, life }) => isThere && lost === undefined && (this.failures.get(life.id)?.until ?? 0) <= now,
    );
    if (who === undefined) return;
    this.line = this.line.filter((one) => one !== who);
    this.terms += 1;
    const { ttl, inaugurateTimeout } = who.life;
    const begins = {
      phase: 'inaugurate',
      worked: false,
      failed: false,
      asked: false,
      heard: false,
      withdrawn: false,
    } as const;
    this.term = { ...begins, number: this.terms, who, ends: now + ttl, deadline: now + inaugurateTimeout };
  }

  #end(now: number, how: 'handed_over' | 'lost', state = ''): void {
    const { term } = this;
    if (term === undefined) return;
    const { who, worked, number } = term;
    this.term = undefined;
    if (worked) this.predecessor = { id: who.life.id, term: number, how };
    if (worked && how === 'handed_over') this.state = state;
    if (term.failed || (!worked && !term.asked)) this.#failed(who.life.id, now);
    else if (worked) this.failures.delete(who.life.id);
    if (how === 'lost') who.lost = number;
    if (term.withdrawn) this.over.set(who.life, 'withdrawn');
    else if (this.line.some(({ life }) => life.id === who.life.id)) this.over.set(who.life, 'replaced');
    else if (who.isThere) this.line.push(who);
  }

  #failed(id: string, now: number): void {
    const before = this.failures.get(id);
    const count = before === undefined || now >= before.until + 60_000 ? 1 : before.count + 1;
    this.failures.set(id, { count, until: now + Math.min(1_000 * 2 ** (count - 1), 60_000) });
  }

  /** A life comes, with the number of a term or none. @param by the stream that stood with this id before, if it is the same place */
  stand(life: Life, said: number | undefined): void {
    const { term } = this;
    const same = term?.who.life.id === life.id && said === term.number ? term.who : undefined;
    const standing = same ?? this.line.find((one) => one.life.id === life.id);
    const isReleased = said === this.predecessor?.term && this.predecessor?.how === 'handed_over';
    const lost = isReleased ? undefined : said;
    if (standing === undefined) return void this.line.push({ life, isThere: true, keptUntil: NEVER, lost });
    if (standing !== same && standing.lost !== said) standing.lost = lost;
    this.#takeOver(standing, life);
  }

  /** The newer stream has the candidacy, and says anew what it wants. */
  #takeOver(standing: Standing, life: Life): void {
    if (standing.life !== life) this.over.set(standing.life, 'replaced');
    Object.assign(standing, { life, isThere: true, keptUntil: NEVER });
  }

  breakOff(life: Life, now: number): void {
    const standing = this.#of(life);
    if (standing === undefined) return;
    standing.isThere = false;
    standing.keptUntil = now + life.ttl;
  }

  #of(life: Life): Standing | undefined {
    return [this.term?.who, ...this.line].find((one) => one?.life === life);
  }

  withdraw(life: Life, now: number): void {
    const { term } = this;
    if (term?.who.life === life) {
      term.withdrawn = true;
      this.ask(now);
      if (!term.heard) this.#end(now, 'handed_over');
    }
    if (!this.line.some((one) => one.life === life)) return;
    this.line = this.line.filter((one) => one.life !== life);
    this.over.set(life, 'withdrawn');
  }

  /** Somebody asks for the hand-over: who asks later changes nothing. */
  ask(now: number): void {
    const { term } = this;
    if (term === undefined || term.asked || term.phase === 'lost') return;
    term.asked = true;
    term.phase = 'hand_over';
    term.deadline = now + term.who.life.handOverTimeout;
  }

  /** @returns whether it counts */
  say(
    number: number,
    what: 'inaugurated' | 'alive' | 'yield' | 'failed' | 'handed_over' | 'stopped',
    now: number,
    left = '',
  ): boolean {
    const { term } = this;
    if (term?.number !== number) return this.#sayLate(number, what);
    term.heard = true;
    const isLost = term.phase === 'lost';
    if (what === 'handed_over') this.#end(now, 'handed_over', left);
    if (what === 'stopped') {
      this.#end(now, 'lost');
      term.who.lost = undefined;
    }
    if (what === 'failed') term.failed = true;
    if (what === 'yield' || what === 'failed') this.ask(now);
    if (!isLost && what === 'alive') term.ends = now + term.who.life.ttl;
    if (!isLost && what === 'inaugurated' && !term.worked) {
      term.worked = true;
      if (term.phase === 'inaugurate') Object.assign(term, { phase: 'execute', deadline: NEVER });
    }
    return !isLost || what === 'handed_over' || what === 'stopped';
  }

  #sayLate(number: number, what: string): boolean {
    if (what === 'handed_over' && this.predecessor?.term === number && this.predecessor.how === 'handed_over')
      return true;
    if (what !== 'handed_over' && what !== 'stopped') return false;
    const loser = this.line.find(({ lost }) => lost === number);
    if (loser !== undefined) loser.lost = undefined;
    return false;
  }

  /** The sidecar ends and begins again, with what is kept. */
  restart(now: number): void {
    this.#now = now;
    this.line = [];
    this.failures = new Map();
    const { term } = this;
    if (term === undefined) return;
    term.withdrawn = false;
    // What was said before is not known any more.
    term.heard = true;
    term.failed = false;
    term.who.isThere = false;
    term.ends = now + term.who.life.ttl;
    if (term.phase === 'inaugurate') term.deadline = now + term.who.life.inaugurateTimeout;
    if (term.phase === 'hand_over') term.deadline = now + term.who.life.handOverTimeout;
  }

  /** What a life whose stream stands has been told last. */
  toldTo(life: Life): Told {
    const over = this.over.get(life);
    if (over !== undefined) return { at: over, number: undefined };
    const { term } = this;
    if (term?.who.life === life) return { at: term.phase, number: term.number };
    const at = this.line.findIndex((one) => one.life === life);
    const standing = this.line[at];
    if (standing === undefined) return { at: 'nothing', number: undefined };
    return standing.lost === undefined ? { at: 'standing', number: at + 1 } : { at: 'lost', number: standing.lost };
  }
}
