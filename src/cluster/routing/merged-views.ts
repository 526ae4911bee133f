/** What people see of a queue that is spread: the views of its parts as one. */
import type { KeyExplanation, LaneState, LimitsChange, LimitsView, RatePolicy, Refusal } from '../../coordinator.js';
import { badRequest } from '../../core/contract/refusals.js';

/** The order in which a state is chosen to be told, as of keyless items at one home (S175). */
const STATES: readonly LaneState[] = ['PARK', 'READY', 'DELAY', 'BLOCK', 'PROCESS', 'INIT'];
const MOST_TOLD = 100;

/** Of items without a key: the state that needs a person most, and why; counts added up. */
export function mergeExplanations(all: readonly [KeyExplanation, ...KeyExplanation[]]): KeyExplanation {
  const [first] = all;
  const worst = all.reduce((a, b) => (STATES.indexOf(b.state) < STATES.indexOf(a.state) ? b : a), first);
  return {
    ...worst,
    waitingCallers: sum(all.map(({ waitingCallers }) => waitingCallers)),
    waitingItems: sum(all.map(({ waitingItems }) => waitingItems)),
    line: all
      .flatMap(({ line }) => line)
      .sort((a, b) => a.since - b.since)
      .slice(0, MOST_TOLD),
    deadLetters: sum(all.map(({ deadLetters }) => deadLetters)),
  };
}

/** The parts together are what the whole queue may do. */
export function mergeLimits(all: readonly LimitsView[]): LimitsView {
  const rates = all.flatMap(({ rate }) => rate ?? []);
  const inFlight = all.flatMap(({ maxInFlight }) => maxInFlight ?? []);
  const rate = { perSecond: whole(rates), burst: sum(rates.map((one) => one.burst)) };
  return {
    rate: rates.length === 0 ? undefined : rate,
    maxInFlight: inFlight.length === 0 ? undefined : sum(inFlight),
  };
}

/** Shares are no whole numbers: their sum is as exact as it was said. */
export function whole(rates: readonly RatePolicy[]): number {
  return Math.round(sum(rates.map(({ perSecond }) => perSecond)) * 1_000_000) / 1_000_000;
}

/** Refused where a part would get nothing, and its keys would stand. */
export function tooFewForParts({ rate, maxInFlight }: LimitsChange, spread: number): Refusal | undefined {
  if (typeof maxInFlight === 'number' && maxInFlight < spread) return tooFew('max_in_flight', maxInFlight, spread);
  if (typeof rate !== 'object') return undefined;
  if (rate.burst < spread) return tooFew('rate.burst', rate.burst, spread);
  return rate.perSecond < spread ? tooFew('rate.per_second', rate.perSecond, spread) : undefined;
}

function tooFew(field: string, value: number, spread: number): Refusal {
  const description = `${value} is not allowed: the queue is spread over ${spread} parts, and each gets a share; allowed: ${spread} or more, or none`;
  return badRequest(field, description);
}

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0);
}
