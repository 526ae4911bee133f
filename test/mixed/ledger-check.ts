/**
 * What the ledger of the mixed test must show: one worker per key at a time, tokens that grow, the items of a key in
 * their order, nothing lost, nothing done again that was acknowledged, work for every language.
 */
import type { LedgerLine, TurnLine } from './ledger-line.js';

export const RULES = ['written', 'one at a time', 'tokens', 'order', 'again', 'lost', 'languages'] as const;
export type Rule = (typeof RULES)[number];

export interface Problem {
  readonly rule: Rule;
  readonly what: string;
}

/** What others than the handlers know. */
export interface Facts {
  /** Of each queue the ids of the accepted items by key, in the order in which they were submitted. */
  readonly submitted: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
  /** Of each queue how many turns were asked for with EnQueue and told as done. */
  readonly finishedTurns: ReadonlyMap<string, number>;
  readonly languages: readonly string[];
  /** Which process had a turn; unset: it was killed before it could tell. */
  readonly processOf: (queue: string, token: number) => Process | undefined;
}

export interface Process {
  readonly name: string;
  readonly language: string;
}

export interface Account {
  readonly problems: readonly Problem[];
  /** Turns that a handler ended, by language. */
  readonly ended: ReadonlyMap<string, number>;
  readonly turns: number;
  /** Turns that handlers were told to be lost. */
  readonly lost: number;
  /** Of these, how many were told only after the next worker of the key had begun. */
  readonly toldLate: number;
  /** Turns that died with their process. */
  readonly died: number;
  /** Items that were worked on again. */
  readonly again: number;
}

interface Turn {
  readonly line: TurnLine;
  readonly at: number;
  readonly process: Process | undefined;
  ended: boolean;
  lost: boolean;
}

interface Lane {
  last: Turn | undefined;
  /** How many items of the key have begun. */
  begun: number;
}

export function checkLedger(lines: readonly LedgerLine[], facts: Facts): Account {
  return new Check(facts).run(lines);
}

class Check {
  readonly #problems: Problem[] = [];
  readonly #lanes = new Map<string, Lane>();
  readonly #turns = new Map<string, Turn>();
  readonly #lastTurnOfItem = new Map<string, Turn>();
  readonly #positions: ReadonlyMap<string, number>;
  readonly #killed = new Set<string>();
  /** The tokens that divide the runs of the sidecar. */
  readonly #crashes: number[] = [];
  /** Turns that were still open when the next one of the key began, with that next one. */
  readonly #overtaken = new Map<Turn, Turn>();
  #again = 0;
  #toldLate = 0;
  #at = 0;

  constructor(private readonly facts: Facts) {
    this.#positions = positionsOf(facts);
  }

  run(lines: readonly LedgerLine[]): Account {
    for (const line of lines) {
      this.#at += 1;
      if (line.kind === 'kill') this.#killed.add(line.process);
      else if (line.kind === 'crash') this.#crashes.push(line.token);
      else if (line.kind === 'start') this.#start(line);
      else this.#finish(line);
    }
    this.#at += 1;
    this.#close();
    return this.#account();
  }

  #start(line: TurnLine): void {
    const lane = this.#laneOf(line);
    const turn: Turn = {
      line,
      at: this.#at,
      process: this.facts.processOf(line.queue, line.token),
      ended: false,
      lost: false,
    };
    const { last } = lane;
    if (last !== undefined) this.#follow(last, turn);
    for (const id of line.items) this.#begin(id, turn, lane);
    lane.last = turn;
    this.#turns.set(turnName(line), turn);
  }

  #follow(last: Turn, turn: Turn): void {
    if (turn.line.token <= last.line.token) this.#wrong('tokens', `${told(turn)} came after ${told(last)}`);
    if (last.ended || last.lost || this.#wasKilled(last)) return;
    // It may still be told that it is lost: a handler that was stopped learns it when it goes on.
    this.#overtaken.set(last, turn);
  }

  #begin(id: string, turn: Turn, lane: Lane): void {
    const name = itemName(turn.line.queue, turn.line.key, id);
    const position = this.#positions.get(name);
    if (position === undefined) return this.#wrong('written', `${told(turn)} has an item that nobody submitted: ${id}`);
    const before = this.#lastTurnOfItem.get(name);
    this.#lastTurnOfItem.set(name, turn);
    if (before !== undefined) return this.#beginAgain(id, before, turn, lane);
    if (position !== lane.begun)
      this.#wrong('order', `${told(turn)} begins item ${position + 1} of its key, ${id}, after ${lane.begun} items`);
    lane.begun = position + 1;
  }

  /** The last turn of the key may have ended without its Ack coming through; any earlier one was acknowledged. */
  #beginAgain(id: string, before: Turn, turn: Turn, lane: Lane): void {
    this.#again += 1;
    if (!before.ended) return;
    const unanswered = this.#wasKilled(before) || this.#crashedBetween(before, turn);
    if (lane.last === before && unanswered) return;
    this.#wrong('again', `${told(turn)} begins ${id} again, which ${told(before)} had done`);
  }

  #finish(line: TurnLine): void {
    const turn = this.#turns.get(turnName(line));
    if (turn === undefined) return this.#wrong('written', `${line.kind} without a start: ${JSON.stringify(line)}`);
    if (turn.ended || turn.lost) return this.#wrong('written', `${line.kind} of ${told(turn)}, which was over`);
    if (line.kind === 'end') turn.ended = true;
    else turn.lost = true;
    if (turn.lost && this.#overtaken.delete(turn)) this.#toldLate += 1;
  }

  #close(): void {
    for (const [turn, next] of this.#overtaken)
      this.#wrong('one at a time', `${told(next)} began while ${told(turn)} was at work and not told that it is lost`);
    for (const turn of this.#turns.values()) {
      if (turn.ended || turn.lost || this.#wasKilled(turn)) continue;
      this.#wrong('lost', `${told(turn)} neither ended nor was it told that it is lost`);
    }
    this.#closeItems();
    for (const [queue, count] of this.facts.finishedTurns) this.#closeTurns(queue, count);
    for (const language of this.facts.languages)
      if (!this.#endedBy().has(language)) this.#wrong('languages', `${language} ended no turn`);
  }

  #closeItems(): void {
    for (const name of this.#positions.keys()) {
      const turn = this.#lastTurnOfItem.get(name);
      if (turn === undefined) this.#wrong('lost', `nobody ever began ${name}`);
      else if (!turn.ended) this.#wrong('lost', `${name} was not done: its last was ${told(turn)}`);
    }
  }

  #closeTurns(queue: string, count: number): void {
    let ended = 0;
    for (const turn of this.#turns.values()) if (turn.ended && turn.line.queue === queue) ended += 1;
    if (ended < count) this.#wrong('lost', `${count} turns of ${queue} were told as done, ${ended} ended`);
  }

  /**
   * Until now. It may have begun turns between the line that says so and the signal. Whose turn it was is not known if
   * its process could not tell: then it was one of those that were killed.
   */
  #wasKilled({ process }: Turn): boolean {
    return process === undefined ? this.#killed.size > 0 : this.#killed.has(process.name);
  }

  #crashedBetween(before: Turn, after: Turn): boolean {
    return this.#crashes.some((token) => before.line.token < token && token <= after.line.token);
  }

  #account(): Account {
    const turns = [...this.#turns.values()];
    return {
      problems: this.#problems,
      ended: this.#endedBy(),
      turns: turns.length,
      lost: turns.filter(({ lost }) => lost).length,
      toldLate: this.#toldLate,
      died: turns.filter(({ ended, lost }) => !ended && !lost).length,
      again: this.#again,
    };
  }

  #endedBy(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { ended, process } of this.#turns.values())
      if (ended && process !== undefined) counts.set(process.language, (counts.get(process.language) ?? 0) + 1);
    return counts;
  }

  #laneOf({ queue, key }: TurnLine): Lane {
    const name = `${queue}\t${key}`;
    const lane = this.#lanes.get(name) ?? { last: undefined, begun: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }

  #wrong(rule: Rule, what: string): void {
    this.#problems.push({ rule, what });
  }
}

/** From 0, within the key. */
function positionsOf({ submitted }: Facts): ReadonlyMap<string, number> {
  const positions = new Map<string, number>();
  for (const [queue, keys] of submitted)
    for (const [key, ids] of keys)
      for (const [position, id] of ids.entries()) positions.set(itemName(queue, key, id), position);
  return positions;
}

function itemName(queue: string, key: string, id: string): string {
  return `${queue}\t${key}\t${id}`;
}

/** Tokens of a queue are never given twice; of two queues they may be alike. */
function turnName({ queue, token }: TurnLine): string {
  return `${queue}\t${token}`;
}

function told({ line: { queue, key, token }, process, at }: Turn): string {
  return `turn ${token} of ${queue} ${key} (${process?.name ?? 'a killed process'}, line ${at})`;
}
