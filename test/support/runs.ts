/** How often a test whose content is random, from a seed, is run. */
import { env } from 'node:process';

/**
 * `KEYTURN_RUNS`, where somebody says a number; else the usual one, or the share of it that `KEYTURN_RUNS_SHARE` says
 * (0 to 1): a second engine runs the same logic, and fewer runs of it are enough there.
 *
 * @param usual how many in `npm test`
 */
export function runsOf(usual: number): number {
  const { KEYTURN_RUNS, KEYTURN_RUNS_SHARE } = env;
  if (KEYTURN_RUNS !== undefined) return checked('KEYTURN_RUNS', KEYTURN_RUNS, Number.isSafeInteger);
  if (KEYTURN_RUNS_SHARE === undefined) return usual;
  return Math.ceil(usual * checked('KEYTURN_RUNS_SHARE', KEYTURN_RUNS_SHARE, (share) => share <= 1));
}

function checked(name: string, value: string, isAllowed: (value: number) => boolean): number {
  const number = Number(value);
  // None at all would pass without having tested anything.
  if (number > 0 && isAllowed(number)) return number;
  throw new Error(`${name} is ${JSON.stringify(value)}: a number above 0 is allowed, of a share at most 1`);
}
