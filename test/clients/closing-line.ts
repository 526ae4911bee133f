/** How many tests a runner says have passed and failed, by the last line in which it says so. */

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

type Reading = (line: string) => Partial<Counts> | undefined;

const READINGS: readonly Reading[] = [
  // pytest: `= 3 failed, 120 passed, 1 skipped in 4.20s =`, and ours: `120 passed, 3 failed`.
  (line) => {
    if (
      !/^[=\s]*\d+ (passed|failed|errors?|skipped|xfailed|deselected|warnings?)\b.*?(in [\d.:]+s?.*)?[=\s]*$/.test(line)
    )
      return undefined;
    const [passed, failed, errors] = [/(\d+) passed/, /(\d+) failed/, /(\d+) errors?/].map((word) => count(word, line));
    return passed === undefined && failed === undefined && errors === undefined
      ? undefined
      : { passed: passed ?? 0, failed: (failed ?? 0) + (errors ?? 0) };
  },
  // Maven: `Tests run: 12, Failures: 1, Errors: 0, Skipped: 0`.
  (line) => {
    const [, run, failures, errors, skipped] =
      /Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)\s*$/.exec(line)?.map(Number) ?? [];
    if (run === undefined || failures === undefined || errors === undefined || skipped === undefined) return undefined;
    return { passed: run - failures - errors - skipped, failed: failures + errors };
  },
  // Node: `# pass 12` and `# fail 0`, or with another sign before them.
  (line) => {
    const passed = count(/^(?:#|ℹ) pass (\d+)$/, line);
    const failed = count(/^(?:#|ℹ) fail (\d+)$/, line);
    if (passed !== undefined) return { passed };
    return failed === undefined ? undefined : { failed };
  },
];

/** @returns undefined when no runner that is known has said anything */
export function closingCounts(output: string): Counts | undefined {
  const lines = withoutColours(output).split('\n');
  for (let at = lines.length - 1; at >= 0; at--) {
    const found = READINGS.map((read) => read(lines[at] ?? '')).find((reading) => reading !== undefined);
    if (found === undefined) continue;
    // Node says what passed on the line before what failed.
    if (found.passed !== undefined) return { passed: found.passed, failed: found.failed ?? 0 };
    const before = READINGS.map((read) => read(lines[at - 1] ?? '')).find((reading) => reading?.passed !== undefined);
    if (before?.passed !== undefined) return { passed: before.passed, failed: found.failed ?? 0 };
  }
  return undefined;
}

function count(pattern: RegExp, line: string): number | undefined {
  const [, number] = pattern.exec(line) ?? [];
  return number === undefined ? undefined : Number(number);
}

export function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what colours begin with
  return text.replace(/\u001b\[[\d;]*m/g, '');
}
