/** What came, held against what a step expects. */
import { match, shown } from '../match/match.js';
import type { Answer } from '../process/player-process.js';
import type { Step } from '../scenario/model.js';
import type { Stage } from './stage.js';

/** What came is not what was expected. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

export function checkAnswer(stage: Stage, { words }: Step, answer: Answer): void {
  if ('error' in answer) {
    // A client that lacks something never passes, whatever a scenario expects.
    const isUnsupported = answer.error['kind'] === 'unsupported';
    if (words['error'] === undefined || isUnsupported) throw new Mismatch(`an error came: ${shown(answer.error)}`);
    return compare(stage, words['error'], answer.error);
  }
  if (words['error'] !== undefined) {
    throw new Mismatch(`an error was expected (${shown(words['error'])}); there is ${shown(answer.ok)}`);
  }
  if (words['expect'] !== undefined) compare(stage, words['expect'], answer.ok);
}

export function compare(stage: Stage, pattern: unknown, value: unknown): void {
  const result = match(pattern, value, stage.bindings);
  if ('wrong' in result) throw new Mismatch(`${result.wrong}\n  in ${shown(value)}`);
  bindAll(stage, result.bound);
}

export function bindAll(stage: Stage, bound: ReadonlyMap<string, unknown>): void {
  for (const [name, value] of bound) stage.bindings.set(name, value);
}

export function originOf(stage: Stage, { words }: Step, otherwise: number): number {
  const { since } = words;
  if (since === undefined) return otherwise;
  const mark = stage.marks.get(String(since));
  if (mark === undefined) throw new Error(`no mark is called ${String(since)}`);
  return mark;
}

export function checkTook(stage: Stage, { words }: Step, ms: number): void {
  if (words['took'] === undefined) return;
  const result = match(words['took'], ms, stage.bindings);
  if ('wrong' in result) throw new Mismatch(`it took ${Math.round(ms)} ms: ${result.wrong}`);
}
