/**
 * Leaders in the mixed test: every worker stands in one group, an operator asks the leader to hand over again and again, and
 * what all of them noted of their phases, in one file in the order in which they did, shows who led when.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Keyturn, KeyturnError } from '@keyturn/client';

const GROUP = 'mixed-leader';
/** Long, and the worker stops half of it before: a machine that does much else is no reason for two to lead. */
const TTL_MS = 10_000;
const MARGIN_MS = 5_000;
/** From one hand-over to the next. */
const TERM_MS = 250;

/** What a worker is told, so that it stands. */
export function candidacy(candidate: string, ledger: string) {
  return {
    handle: 'leader',
    group: GROUP,
    candidate_id: candidate,
    ttl_ms: TTL_MS,
    margin_ms: MARGIN_MS,
    career: { ledger, hand_over: { does: { state: candidate } } },
  };
}

/** Before the signal: whatever this candidate notes afterwards it noted before it died. */
export function noteKill(ledger: string, candidate: string): void {
  appendFileSync(ledger, `kill\t${candidate}\n`);
}

/** Lets all lead in turn. */
export class Operator {
  #isOver = false;

  constructor(
    private readonly watch: Keyturn,
    private readonly ledger: string,
    private readonly languages: readonly string[],
  ) {}

  /** Asks for hand-overs until it is told to stop, and each language has led since. */
  async run(): Promise<void> {
    while (!this.#isOver || idleIn(judged(this.ledger), this.languages).length > 0) {
      await this.#round().catch((error: unknown) => {
        // The sidecar is killed meanwhile.
        if (!(error instanceof KeyturnError && error.code === 'UNAVAILABLE')) throw error;
      });
      await pause(TERM_MS);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async #round(): Promise<void> {
    const { leader } = await this.watch.admin.getLeader(GROUP);
    if (leader?.phase !== 'executing') return;
    await this.watch.admin.yieldLeader(GROUP);
  }
}

export interface LeaderAccount {
  readonly terms: number;
  /** Leaders that were killed. */
  readonly killed: number;
  readonly problems: readonly string[];
}

interface Life {
  readonly term: number;
  readonly candidate: string;
  /** Phases that have begun and not ended. */
  open: number;
}

/** @param languages each of which must have led */
export function judgeLeaders(ledger: string, languages: readonly string[]): LeaderAccount {
  const judge = judged(ledger);
  const idle = idleIn(judge, languages);
  const problems = [...judge.problems, ...idle.map((language) => `no worker of ${language} has led`)];
  return { terms: judge.terms, killed: judge.killed, problems };
}

function judged(ledger: string): Judge {
  const judge = new Judge();
  for (const [at, line] of readFileSync(ledger, 'utf8').split('\n').entries())
    if (line !== '') judge.note(line, at + 1);
  return judge;
}

/** Those of which no worker has noted that it leads: one that was asked to hand over at once notes nothing. */
function idleIn({ led }: Judge, languages: readonly string[]): readonly string[] {
  return languages.filter((language) => !led.has(language));
}

class Judge {
  readonly problems: string[] = [];
  readonly led = new Set<string>();
  terms = 0;
  killed = 0;
  #now: Life | undefined;
  readonly #dead = new Set<string>();

  note(line: string, at: number): void {
    const [what, phase = '', group, number, candidate = ''] = line.split('\t');
    if (what === 'kill') return this.#kill(phase);
    const term = Number(number);
    const isLine =
      (what === 'start' || what === 'end') && group === GROUP && Number.isSafeInteger(term) && candidate !== '';
    if (!isLine) return this.#wrong(at, `this is no line: ${JSON.stringify(line)}`);
    const life = this.#lifeOf(term, candidate, at);
    if (life === undefined) return;
    life.open += what === 'start' ? 1 : -1;
    if (phase === 'execute' && what === 'start') this.led.add(languageOf(candidate));
  }

  #kill(candidate: string): void {
    this.#dead.add(candidate);
    const now = this.#now;
    if (now?.candidate !== candidate || now.open === 0) return;
    this.killed += 1;
    now.open = 0;
  }

  /** The life that notes something: the last that began, or a new one. */
  #lifeOf(term: number, candidate: string, at: number): Life | undefined {
    const now = this.#now;
    if (now?.term === term) {
      if (now.candidate === candidate) return now;
      this.#wrong(at, `${candidate} has the term ${term} of ${now.candidate}`);
      return undefined;
    }
    // What a process did between the note of its end and the signal is no more than that.
    if (this.#dead.has(candidate)) return undefined;
    if (now !== undefined && term < now.term) {
      this.#wrong(at, `${candidate} works with the term ${term}, after ${now.term} of ${now.candidate}`);
      return undefined;
    }
    if (now !== undefined && now.open > 0 && !this.#dead.has(now.candidate))
      this.#wrong(at, `${candidate} begins with ${term} while ${now.candidate} works with ${now.term}`);
    this.terms += 1;
    this.#now = { term, candidate, open: 0 };
    return this.#now;
  }

  #wrong(at: number, what: string): void {
    this.problems.push(`line ${at}: ${what}`);
  }
}

/** Of `java-3`. */
function languageOf(candidate: string): string {
  return candidate.slice(0, candidate.lastIndexOf('-'));
}
