/**
 * How all steps went. Continuous integration may keep only the end of what a run says, so this names the tests that failed once
 * more.
 */
import { indented } from './said.js';
import type { Outcome } from './step.js';

export function summary(outcomes: readonly Outcome[]): string {
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  return [...outcomes.flatMap(failureOf), ...outcomes.map((outcome) => line(outcome, width))].join('');
}

function failureOf({ name, why, said }: Outcome): readonly string[] {
  if (why === undefined || said === undefined) return [];
  const failures = said.failures.map((failure) => `  ${failure}\n`);
  return [`${name} failed: ${why}\n`, ...failures, '  the end of its log:\n', `${indented(said.last)}\n\n`];
}

function line({ name, passed, failed, seconds, why }: Outcome, width: number): string {
  const told = `${name.padEnd(width)}  ${passed} passed, ${failed} failed, ${seconds} s`;
  return why === undefined ? `ok     ${told}\n` : `FAILED ${told}: ${why}\n`;
}
