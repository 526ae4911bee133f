/** What the log of a step that failed says of it, in short. */
import { withoutColours } from './closing-line.js';

export interface Said {
  /** The lines that name tests that failed. */
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

export function saidOf(output: string): Said {
  const lines = withoutColours(output).split('\n');
  const failures = new Set(
    lines
      .filter((line) => NAMES_A_FAILURE.some((names) => names.test(line)))
      .map((line) => line.trim().slice(0, LONGEST_LINE)),
  );
  return { failures: [...failures].slice(0, MOST_FAILURES), last: lastLines(output, LAST) };
}

export function lastLines(output: string, count: number): string {
  return output.trimEnd().split('\n').slice(-count).join('\n');
}

export function indented(text: string): string {
  return text.replace(/^/gm, '  | ');
}
