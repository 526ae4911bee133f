/** What the log of a step that failed says of it, in short. */
import { withoutColours } from './closing-line.js';

export interface Said {
  /** The lines that name tests that failed, those of the conformance suite with what went wrong in them. */
  readonly failures: readonly string[];
  readonly last: string;
}

/** Lines that the end of a run shows. */
const LAST = 25;
const MOST_FAILURES = 30;
const LONGEST_LINE = 300;

const NAMES_A_FAILURE: readonly RegExp[] = [
  // pytest's summary, the conformance suite, the rules of the mixed test.
  /^FAILED\s/,
  /^ERROR (?:tests\/|at )/,
  // Go, sub-tests too.
  /^\s*--- FAIL: /,
  /^(?:FAIL\s|panic: |fatal error: |WARNING: DATA RACE)/,
  // Maven: in its list at the end, and where it happened.
  /^\[ERROR\].*<<< (?:FAILURE|ERROR)!/,
  /^\[ERROR\]\s+\w+Test\b/,
  // Node.
  /^\s*(?:✖ |not ok )/,
  // Python, of a test that hangs.
  /^Timeout \(\d/,
];

/** The conformance suite says below a failure, this far in, which step it was and what there was instead. */
const OF_A_SCENARIO = /^FAILED {2}\S/;
const WHAT_WENT_WRONG = /^ {10}\S/;
const LINES_OF_A_SCENARIO = 3;
const LONGEST_STEP = 1_000;

export function saidOf(output: string): Said {
  const lines = withoutColours(output).split('\n');
  const failures = new Set(lines.flatMap((line, at) => (namesAFailure(line) ? [failureAt(lines, at)] : [])));
  return { failures: [...failures].slice(0, MOST_FAILURES), last: lastLines(output, LAST) };
}

function namesAFailure(line: string): boolean {
  return NAMES_A_FAILURE.some((names) => names.test(line));
}

function failureAt(lines: readonly string[], at: number): string {
  const [line = '', ...after] = lines.slice(at, at + 1 + LINES_OF_A_SCENARIO);
  const first = line.trim().slice(0, LONGEST_LINE);
  if (!OF_A_SCENARIO.test(line)) return first;
  const end = after.findIndex((below) => !WHAT_WENT_WRONG.test(below));
  const steps = after.slice(0, end === -1 ? LINES_OF_A_SCENARIO : end);
  return [first, ...steps.map((step) => `    ${step.trim().slice(0, LONGEST_STEP)}`)].join('\n  ');
}

export function lastLines(output: string, count: number): string {
  return output.trimEnd().split('\n').slice(-count).join('\n');
}

export function indented(text: string): string {
  return text.replace(/^/gm, '  | ');
}
