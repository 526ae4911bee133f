/**
 * What an outsider sees who knows the true time: what the sidecar gives, what handlers do, what becomes of items. It
 * believes nobody, and notes what must not be.
 */
import type { Turn } from '../../src/coordinator.js';
import type { Process, World } from './network-world.js';

/** A handler from its beginning to its end. */
export interface Run {
  readonly process: Process;
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  readonly signal: AbortSignal;
  hasEnded: boolean;
}

interface Lane {
  /** The newest that the sidecar gave, and that began to act. */
  given: number;
  begun: number;
  readonly runs: Set<Run>;
}

interface Item {
  /** By which submitter, for which key; of these the order is known. */
  readonly line: string;
  readonly serial: number;
  isAccepted: boolean;
  /** Its first handler, as a place in the order of all of them. */
  firstRun: number | undefined;
  runs: number;
  /** A client was told that its Ack was noted. */
  isAcked: boolean;
  /** The sidecar lost its memory since it was offered: nothing is known of it. */
  isForgotten: boolean;
}

export class Watch {
  /** What must not be, in the order in which it was seen. */
  readonly violations: string[] = [];
  runs = 0;
  aborts = 0;
  #begun = 0;
  /** How often the sidecar lost its memory. */
  #memories = 0;
  readonly #lanes = new Map<string, Lane>();
  readonly #items = new Map<string, Item>();
  readonly #itemsOf = new Map<string, readonly string[]>();
  /** Turns that were ended by somebody else. */
  readonly #excused = new Set<string>();

  constructor(
    private readonly world: World,
    private readonly log: (line: string) => void,
  ) {}

  broken(what: string): void {
    this.log(`VIOLATION ${what}`);
    this.violations.push(`at ${this.world.now.toFixed(3)}: ${what}`);
  }

  /** The sidecar gives a turn, or tells of it again. */
  granted({ queue, key, token }: Turn): void {
    const lane = this.#lane(queue, key, token);
    if (token < lane.given) this.broken(`token ${token} of ${queue}/${key} after ${lane.given}`);
    if (token <= lane.given) return;
    lane.given = token;
    this.log(`given ${queue}/${key} ${token}`);
    for (const run of lane.runs) {
      if (run.token !== token && this.#acts(run))
        this.broken(`${queue}/${key} is given as ${token} while ${told(run)}`);
    }
  }

  /**
   * Somebody ends the turn of a key: its holder can be told only afterwards, and must be at the latest at `until`. A
   * sidecar that loses its memory before its word was out has evicted nobody: the next one may adopt the turn.
   *
   * @param end ends it. @returns which one that was; nothing when there was none
   */
  async evicts(queue: string, key: string, until: number, end: () => Promise<number | undefined>): Promise<void> {
    const lane = this.#lane(queue, key, 0);
    // Whoever is next may be given the key before it has returned.
    const newest = lane.given;
    this.#excused.add(`${queue} ${newest}`);
    const token = await end();
    if (token !== newest) this.#excused.delete(`${queue} ${newest}`);
    if (token === undefined) return;
    this.#excused.add(`${queue} ${token}`);
    this.log(`evicted ${queue}/${key} ${token}`);
    const memories = this.#memories;
    this.world.at(until, () => {
      if (memories !== this.#memories) return;
      for (const run of lane.runs) {
        if (run.token === token && isActing(run)) this.broken(`nobody told ${told(run)} of its eviction`);
      }
    });
  }

  begins(process: Process, turn: Omit<Run, 'process' | 'hasEnded'>, items: readonly string[] = []): Run {
    const run: Run = { ...turn, process, hasEnded: false };
    const lane = this.#lane(run.queue, run.key, run.token);
    this.runs += 1;
    this.log(`begin ${told(run)} ${items.join()}`);
    for (const other of lane.runs) {
      if (this.#acts(other) && this.#acts(run)) this.broken(`${told(run)} begins while ${told(other)}`);
    }
    if (run.token < lane.begun && this.#acts(run)) this.broken(`${told(run)} begins after ${lane.begun}`);
    lane.begun = Math.max(lane.begun, run.token);
    lane.runs.add(run);
    for (const id of items) this.#handled(run, id);
    if (items.length > 0) this.#itemsOf.set(`${run.queue} ${run.token}`, items);
    return run;
  }

  ends(run: Run): void {
    if (run.signal.aborted) this.aborts += 1;
    run.hasEnded = true;
    this.#lane(run.queue, run.key, run.token).runs.delete(run);
    this.log(`end ${told(run)}${run.signal.aborted ? ' aborted' : ''}`);
  }

  /** A process that stood still goes on: its handlers were to be told before they do anything. */
  caughtUp(process: Process): void {
    for (const [name, lane] of this.#lanes) {
      const acting = [...lane.runs].filter((run) => this.#acts(run));
      if (acting.length > 1 && acting.some((run) => run.process === process))
        this.broken(`${name}: ${acting.map(told).join(' and ')} after ${process.name} stood still`);
      for (const run of acting) {
        if (run.process === process && run.token < lane.given) this.broken(`${told(run)} goes on after ${lane.given}`);
      }
    }
  }

  offered(queue: string, line: string, id: string): void {
    const serial = this.#items.size;
    const item = {
      line: `${queue}/${line}`,
      serial,
      isAccepted: false,
      firstRun: undefined,
      runs: 0,
      isAcked: false,
      isForgotten: false,
    };
    this.#items.set(id, item);
  }

  accepted(id: string): void {
    const item = this.#items.get(id);
    if (item === undefined) this.broken(`${id} is accepted, and nobody offered it`);
    else item.isAccepted = true;
  }

  /** A client was answered that its Ack was noted. */
  acked(queue: string, token: number): void {
    for (const id of this.#itemsOf.get(`${queue} ${token}`) ?? []) {
      const item = this.#items.get(id);
      if (item !== undefined) item.isAcked = true;
    }
  }

  /** Everything that was in memory only is gone, and with it what was known of repeated calls. */
  memoryLost(): void {
    this.#memories += 1;
    for (const item of this.#items.values()) item.isForgotten = true;
  }

  /** Items that somebody was told of as accepted. */
  get acceptedItems(): string[] {
    return [...this.#items].flatMap(([id, { isAccepted, isForgotten }]) => (isAccepted && !isForgotten ? [id] : []));
  }

  wasHandled(id: string): boolean {
    return (this.#items.get(id)?.runs ?? 0) > 0;
  }

  /** Per submitter and key the first handlers came in the order of the submissions. */
  checkOrder(): void {
    const last = new Map<string, { id: string; run: number }>();
    for (const [id, { line, firstRun, isForgotten }] of this.#items) {
      if (firstRun === undefined || isForgotten || line.endsWith('/')) continue;
      const before = last.get(line);
      if (before !== undefined && before.run > firstRun) this.broken(`${before.id} of ${line} was handled after ${id}`);
      last.set(line, { id, run: firstRun });
    }
  }

  #handled(run: Run, id: string): void {
    const item = this.#items.get(id);
    this.#begun += 1;
    if (item === undefined) return;
    if (item.isAcked && !item.isForgotten && this.#acts(run))
      this.broken(`${id} is handed to ${told(run)} after its Ack was noted`);
    item.firstRun ??= this.#begun;
    item.runs += 1;
  }

  #lane(queue: string, key: string, token: number): Lane {
    const name = key === '' ? `${queue}/ ${token}` : `${queue}/${key}`;
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane: Lane = { given: 0, begun: 0, runs: new Set() };
    this.#lanes.set(name, lane);
    return lane;
  }

  /** It has no excuse for it. */
  #acts(run: Run): boolean {
    return isActing(run) && !this.#excused.has(`${run.queue} ${run.token}`);
  }
}

/** Of a process that stands still nothing acts; when it goes on it has the chance to hear what it missed first. */
function isActing(run: Run): boolean {
  return !run.hasEnded && !run.signal.aborted && run.process.state === 'running';
}

function told({ process, queue, key, token }: Run): string {
  return `${process.name} ${queue}/${key} ${token}`;
}
