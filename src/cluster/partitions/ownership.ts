/**
 * What a member does about one partition: (what it is to it, what happened) → (what it is then, what is to be done).
 *
 * One thing at a time: `claiming`, `loading`, `handing_over`, `reclaiming` and `dropping` last until what is under way has
 * ended, however it does. So no late answer meets a state that does not know it. Safety does not rest on this machine: the
 * guard in the store keeps two homes apart, and the gate in front of the effects keeps a home quiet whose time is over.
 */
import type { Guard } from '../store/cluster-store.js';
import { EACH_RANK } from './wanted-homes.js';

export type Ownership =
  /** Not this member's. `claimable`: the guard that it could take over, and since when that stands so. */
  | { readonly at: 'free'; readonly claimable: Claimable | undefined }
  /** The store is asked for the guard. */
  | { readonly at: 'claiming'; readonly isLapsed: boolean }
  /** The guard is had; its rows become a core. */
  | { readonly at: 'loading' }
  /** This member is the home. */
  | { readonly at: 'open' }
  /** No call is let in; what is left is written, then the guard is given up. */
  | { readonly at: 'handing_over'; readonly isLapsed: boolean }
  /** The deadline passed: nothing is answered, time stands still, the core is kept. */
  | { readonly at: 'closed' }
  /** The guard is claimed from oneself: if nobody was there in between, the core is still the truth. */
  | { readonly at: 'reclaiming'; readonly isLapsed: boolean }
  /** The core is not the truth any more, or is not needed: callers are refused, nothing else is told. */
  | { readonly at: 'dropping' };

interface Claimable {
  /** Of the guard, with its epoch. */
  readonly guard: string;
  readonly since: number;
}

/** What is known when members and guards have been listed. */
export interface Sight {
  /** Monotonic, ms. */
  readonly now: number;
  readonly guard: Guard;
  /** The session of the member that holds it is not over. */
  readonly isOwnerLive: boolean;
  /** This incarnation was the last that claimed it, be it without knowing; it may have been given up since. */
  readonly isMine: boolean;
  /** Of this member among those who may own it, 0 is the best; unset: it may not. */
  readonly rank: number | undefined;
  /** The session is live, nothing speaks against claims now. */
  readonly mayClaim: boolean;
  /** Somebody else holds the guard by a claim after the one that is this member's. */
  readonly isSucceeded: boolean;
}

export type OwnershipEvent =
  | { readonly kind: 'seen'; readonly sight: Sight }
  /** The local deadline has passed: of the session, or of the store's silence. */
  | { readonly kind: 'lapsed' }
  | { readonly kind: 'claimed' }
  | { readonly kind: 'not_claimed' }
  /** No answer came: it may have been done. */
  | { readonly kind: 'claim_unknown' }
  | { readonly kind: 'loaded' }
  | { readonly kind: 'load_failed' }
  | { readonly kind: 'hand_over' }
  /** All is written, and the guard is free. */
  | { readonly kind: 'handed_over' }
  /** It took too long, and the guard is still this member's. */
  | { readonly kind: 'called_off' }
  /** All is written, and it is not known whether the guard is free. */
  | { readonly kind: 'release_unknown' }
  | { readonly kind: 'reclaimed' }
  | { readonly kind: 'reclaim_lost' }
  /** No answer came, or it is too early: it is tried again. */
  | { readonly kind: 'reclaim_unknown' }
  /** A write found another home. */
  | { readonly kind: 'fenced' }
  | { readonly kind: 'dropped' };

export type OwnershipAction =
  | { readonly do: 'claim'; readonly expected: string }
  | { readonly do: 'load' }
  /** Calls are let in. */
  | { readonly do: 'open' }
  /** Nothing leaves any more. */
  | { readonly do: 'shut' }
  /** Calls are let in again, held answers leave. */
  | { readonly do: 'reopen' }
  | { readonly do: 'reclaim' }
  | { readonly do: 'hand_over' }
  | { readonly do: 'drop'; readonly why: DropReason };

/** `handed_over`: all of it is kept. `given_up`: it was not open yet. `succeeded`: another home has it. */
export type DropReason = 'handed_over' | 'given_up' | 'succeeded';

export interface Step {
  readonly state: Ownership;
  readonly action?: OwnershipAction;
}

export const NOT_OURS: Ownership = Object.freeze({ at: 'free', claimable: undefined });

type StateOf<A extends Ownership['at']> = Extract<Ownership, { readonly at: A }>;
type EventOf<K extends OwnershipEvent['kind']> = Extract<OwnershipEvent, { readonly kind: K }>;
type Cell<A extends Ownership['at'], K extends OwnershipEvent['kind']> = (state: StateOf<A>, event: EventOf<K>) => Step;
type Row<A extends Ownership['at']> = { readonly [K in OwnershipEvent['kind']]: Cell<A, K> };
type Table = { readonly [A in Ownership['at']]: Row<A> };

/** Nothing follows from it in this state. */
const stay = (state: Ownership): Step => ({ state });
/** It answers nothing that is under way. */
const never = (state: Ownership, event: OwnershipEvent): Step => {
  throw new TypeError(`a partition that is ${state.at} is told ${event.kind}`);
};
const go = (state: Ownership, action?: OwnershipAction): Step => (action === undefined ? { state } : { state, action });
const drop = (why: DropReason) => (): Step => go({ at: 'dropping' }, { do: 'drop', why });
const lapse = (state: StateOf<'claiming' | 'reclaiming'>): Step => ({ state: { ...state, isLapsed: true } });

/** Of operations that are not under way. */
const NO_CLAIM = { claimed: never, not_claimed: never, claim_unknown: never } as const;
const NO_LOAD = { loaded: never, load_failed: never } as const;
const NO_HAND_OVER = { handed_over: never, called_off: never, release_unknown: never } as const;
const NO_RECLAIM = { reclaimed: never, reclaim_lost: never, reclaim_unknown: never } as const;

const TABLE: Table = {
  free: {
    ...NO_CLAIM,
    ...NO_LOAD,
    ...NO_HAND_OVER,
    ...NO_RECLAIM,
    seen: look,
    lapsed: () => go(NOT_OURS),
    hand_over: stay,
    fenced: never,
    dropped: never,
  },
  claiming: {
    ...NO_LOAD,
    ...NO_HAND_OVER,
    ...NO_RECLAIM,
    seen: stay,
    lapsed: lapse,
    // It is found again as this incarnation's own, or free, when the session is back.
    claimed: ({ isLapsed }) => (isLapsed ? go(NOT_OURS) : go({ at: 'loading' }, { do: 'load' })),
    not_claimed: () => go(NOT_OURS),
    claim_unknown: () => go(NOT_OURS),
    hand_over: stay,
    fenced: never,
    dropped: never,
  },
  loading: {
    ...NO_CLAIM,
    ...NO_HAND_OVER,
    ...NO_RECLAIM,
    seen: stay,
    lapsed: drop('given_up'),
    loaded: () => go({ at: 'open' }, { do: 'open' }),
    load_failed: drop('given_up'),
    hand_over: stay,
    fenced: drop('succeeded'),
    dropped: never,
  },
  open: {
    ...NO_CLAIM,
    ...NO_LOAD,
    ...NO_HAND_OVER,
    ...NO_RECLAIM,
    seen: (state, { sight }) => (sight.isSucceeded ? drop('succeeded')() : stay(state)),
    lapsed: () => go({ at: 'closed' }, { do: 'shut' }),
    hand_over: () => go({ at: 'handing_over', isLapsed: false }, { do: 'hand_over' }),
    fenced: drop('succeeded'),
    dropped: never,
  },
  handing_over: {
    ...NO_CLAIM,
    ...NO_LOAD,
    ...NO_RECLAIM,
    // Who is seen there may be the one that it is handed to.
    seen: stay,
    lapsed: () => go({ at: 'handing_over', isLapsed: true }, { do: 'shut' }),
    hand_over: stay,
    handed_over: drop('handed_over'),
    called_off: ({ isLapsed }) => (isLapsed ? go({ at: 'closed' }) : go({ at: 'open' }, { do: 'reopen' })),
    release_unknown: drop('handed_over'),
    fenced: drop('succeeded'),
    dropped: never,
  },
  closed: {
    ...NO_CLAIM,
    ...NO_LOAD,
    ...NO_HAND_OVER,
    ...NO_RECLAIM,
    seen: lookClosed,
    lapsed: stay,
    hand_over: stay,
    fenced: drop('succeeded'),
    dropped: never,
  },
  reclaiming: {
    ...NO_CLAIM,
    ...NO_LOAD,
    ...NO_HAND_OVER,
    seen: stay,
    lapsed: lapse,
    hand_over: stay,
    reclaimed: ({ isLapsed }) => (isLapsed ? go({ at: 'closed' }) : go({ at: 'open' }, { do: 'reopen' })),
    reclaim_lost: drop('succeeded'),
    reclaim_unknown: () => go({ at: 'closed' }),
    fenced: drop('succeeded'),
    dropped: never,
  },
  // What was under way when it began to be dropped may end now.
  dropping: {
    ...NO_CLAIM,
    seen: stay,
    lapsed: stay,
    loaded: stay,
    load_failed: stay,
    hand_over: stay,
    handed_over: stay,
    called_off: stay,
    release_unknown: stay,
    reclaimed: stay,
    reclaim_lost: stay,
    reclaim_unknown: stay,
    fenced: stay,
    dropped: () => go(NOT_OURS),
  },
};

export function step(state: Ownership, event: OwnershipEvent): Step {
  // The row is the state's and the cell is the event's: the table is total, which the compiler cannot see through both.
  const cell = TABLE[state.at][event.kind] as (state: Ownership, event: OwnershipEvent) => Step;
  return cell(state, event);
}

/** A live owner is never robbed: it hands over by itself. */
function look(state: StateOf<'free'>, { sight }: EventOf<'seen'>): Step {
  const { guard, isOwnerLive, rank, mayClaim, now } = sight;
  const isFree = guard.owner === '';
  // What this member handed over still has its name on it: as one among others it leaves it to the one that is meant to have it.
  const isMine = sight.isMine && !isFree;
  const isClaimable = isFree || isMine || !isOwnerLive;
  if (!mayClaim || !isClaimable || rank === undefined) return go(NOT_OURS);
  const name = `${guard.epoch} ${guard.owner}`;
  const claimable = state.claimable?.guard === name ? state.claimable : { guard: name, since: now };
  if (!isMine && now - claimable.since < rank * EACH_RANK) return go({ at: 'free', claimable });
  return go({ at: 'claiming', isLapsed: false }, { do: 'claim', expected: guard.owner });
}

function lookClosed(state: StateOf<'closed'>, { sight }: EventOf<'seen'>): Step {
  if (sight.isSucceeded) return drop('succeeded')();
  return sight.mayClaim ? go({ at: 'reclaiming', isLapsed: false }, { do: 'reclaim' }) : stay(state);
}
