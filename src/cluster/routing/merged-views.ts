/** What people see of a queue that is spread: the views of its parts as one. */
import type {
  KeyExplanation,
  LaneState,
  LimitsChange,
  LimitsView,
  RatePolicy,
  Refusal,
  Result,
} from '../../coordinator.js';
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
  const rate = { perSecond: sum(rates.map((one) => one.perSecond)), burst: sum(rates.map((one) => one.burst)) };
  return {
    rate: rates.length === 0 ? undefined : rate,
    maxInFlight: inFlight.length === 0 ? undefined : sum(inFlight),
  };
}

/** What each of `parts` gets of it. Refused where one would get nothing, and its keys would stand. */
export function shareLimits({ rate, maxInFlight }: LimitsChange, parts: number): Result<readonly LimitsChange[]> {
  if (typeof maxInFlight === 'number' && maxInFlight < parts) return tooFew('max_in_flight', maxInFlight, parts);
  if (rate !== undefined && rate !== 'none' && rate.burst < parts) return tooFew('rate.burst', rate.burst, parts);
  const shares = Array.from({ length: parts }, (_, part) => ({
    rate: rate === undefined || rate === 'none' ? rate : shareOfRate(rate, parts, part),
    maxInFlight: typeof maxInFlight === 'number' ? shareOf(maxInFlight, parts, part) : maxInFlight,
  }));
  return { ok: true, value: shares };
}

function shareOfRate({ perSecond, burst }: RatePolicy, parts: number, part: number): RatePolicy {
  return { perSecond: perSecond / parts, burst: shareOf(burst, parts, part) };
}

/** The first ones get what is left over. */
function shareOf(whole: number, parts: number, part: number): number {
  return Math.floor(whole / parts) + (part < whole % parts ? 1 : 0);
}

function tooFew(field: string, value: number, parts: number): { readonly ok: false; readonly refusal: Refusal } {
  const description = `${value} is not allowed: the queue is spread over ${parts} partitions, and each gets a share; allowed: ${parts} or more`;
  return { ok: false, refusal: badRequest(field, description) };
}

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0);
}
