/** Every wait ends. */
import { durationOf } from '../match/durations.js';

/** How long a step may take that does not say, ms. */
const STEP_MS = 20_000;
/** And all steps of a scenario together. */
export const SCENARIO_MS = 90_000;

export class TooLate extends Error {
  override readonly name = 'TooLate';
}

export function boundOf(within: unknown): number {
  return durationOf(within) ?? STEP_MS;
}

/** @throws TooLate when it does not come within `ms` */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLate(`not within ${Math.round(ms)} ms: ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
