/**
 * ExplainKey of the empty key: the items without a key, all together (S175). Each is a lane of its own, and there may
 * be very many: the walk stops after every slice.
 */

import type { LaneState } from '../../contract/model.js';
import type { KeyExplanation, LineEntryView } from '../../contract/views.js';
import { attemptOf } from '../../items/item-status.js';
import { stateOf } from '../../state/lane.js';
import { Item, type Lane, type Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import type { Slices } from './dead-letters.js';
import { countDead, entryView, itemOf, MOST_TOLD, namedBy, sinceOf, wall } from './explain.js';
import { keylessLanes } from './listing.js';
import { whyOf } from './why.js';

/** The order in which a state is chosen to be told. What needs a person stands first. */
const STATES = ['PARK', 'READY', 'DELAY', 'BLOCK', 'PROCESS'] as const satisfies readonly LaneState[];

/** What the walk met, as it was at that moment. Others run between two slices, so a lane may have moved on since. */
class Met {
  /** Each lane counts once, though the walk may meet it twice. */
  readonly #lanes = new Set<Lane>();
  /** Lanes by state, INIT left out. */
  readonly counts = new Map<LaneState, number>();
  /** Of each state the one that was met first of those that have not moved on. */
  readonly #first = new Map<LaneState, Lane>();
  /** The first items that wait, `MOST_TOLD` at most. */
  readonly line: LineEntryView[] = [];
  waitingItems = 0;

  constructor(private readonly state: CoreState) {}

  /** Counts a lane that has something to do. Of a lane that was met before nothing is counted again. */
  meet(lane: Lane): void {
    const state = stateOf(lane);
    if (state === 'INIT' || this.#lanes.has(lane)) return;
    this.#lanes.add(lane);
    this.counts.set(state, (this.counts.get(state) ?? 0) + 1);
    const first = this.#first.get(state);
    if (first === undefined || stateOf(first) !== state) this.#first.set(state, lane);
    const head = lane.line?.head;
    if (!(head instanceof Item)) return;
    this.waitingItems += 1;
    if (this.line.length < MOST_TOLD) this.line.push(entryView(this.state, head));
  }

  /** The one that is described, as an example of its state. */
  get example(): { readonly state: LaneState; readonly lane: Lane } | undefined {
    for (const state of STATES) {
      const lane = this.#first.get(state);
      if (lane !== undefined) return { state, lane };
    }
    return undefined;
  }
}

/**
 * Tells as state the first of `STATES` that any keyless lane is in, and describes one lane of that state as an example.
 * No holder is told: each has its own. Nothing is brought up to date for it, and no lane changes.
 */
export function* explainKeyless(
  state: CoreState,
  queue: Queue,
  { size, clock }: Slices,
): Generator<undefined, KeyExplanation> {
  const met = new Met(state);
  let seen = 0;
  for (const lane of keylessLanes(queue)) {
    met.meet(lane);
    if (++seen % size === 0) yield;
  }
  const { example, line, waitingItems } = met;
  // What moved on in a pause is counted as it was met; of where it is now nothing is said.
  const lane = example !== undefined && stateOf(example.lane) === example.state ? example.lane : undefined;
  const item = lane && itemOf(lane);
  const { why, until } =
    example === undefined ? NO_REASON : reasonOf(state, met, { state: example.state, lane }, clock());
  return {
    state: example?.state ?? 'INIT',
    since: lane && wall(state, sinceOf(lane)),
    holder: undefined,
    waitingCallers: 0,
    waitingItems,
    line,
    attempts: item === undefined ? 0 : attemptOf(item),
    lastError: item?.lastError,
    why,
    until: wall(state, until),
    deadLetters: countDead(queue, ''),
    named: lane && namedBy(lane),
  };
}

const NO_REASON = Object.freeze({ why: '', until: undefined });

/** How many lanes are in which state, and why the example does not move, if it has not moved on. */
function reasonOf(
  state: CoreState,
  { counts }: Met,
  { state: first, lane }: { readonly state: LaneState; readonly lane: Lane | undefined },
  now: number,
): { readonly why: string; readonly until: number | undefined } {
  const { why, until } = lane === undefined ? NO_REASON : whyOf(state, lane, now);
  const told = STATES.flatMap((name) => (counts.has(name) ? [`${counts.get(name)} ${name}`] : [])).join(', ');
  const id = lane && itemOf(lane)?.id;
  const example = id === undefined || why === '' ? '' : `; item ${id} is ${first}: ${why}`;
  return { why: `items without a key are each for themselves: ${told}${example}`, until };
}
