/** How many tabs may look on at once: nobody takes the places of all others, from one machine or by one name. */
import type { Refusal } from '../coordinator.js';
import type { Viewer } from './viewer.js';

const MOST = 64;
const MOST_OF_ONE = 16;

/** Why one more may not; unset: it may. @param looking those who do */
export function noRoom(looking: Iterable<Viewer>, newcomer: Viewer): Refusal | undefined {
  const all = [...looking];
  const from = addressOf(newcomer);
  const name = newcomer.principal?.name;
  const sameAddress = all.filter((one) => addressOf(one) === from);
  const sameName = name === undefined ? [] : all.filter(({ principal }) => principal?.name === name);
  if (sameAddress.length >= MOST_OF_ONE) return refusal(MOST_OF_ONE, `of ${from}`);
  if (sameName.length >= MOST_OF_ONE) return refusal(MOST_OF_ONE, `of ${name}`);
  return all.length >= MOST ? refusal(MOST, 'of all who look') : undefined;
}

function addressOf({ from }: Viewer): string {
  return from.slice(0, from.lastIndexOf(':'));
}

function refusal(limit: number, whose: string): Refusal {
  const description = `${limit} tabs ${whose} watch events already; close one, or hide it`;
  return { kind: 'limit', subject: 'console', description, limit, retryAfter: 5_000 };
}
