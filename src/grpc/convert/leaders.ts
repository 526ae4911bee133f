/** Calls about leaders, from the wire to the port and back. */
import {
  type CandidateTerms,
  type CandidateView,
  type GroupView,
  LEADER_LIMITS,
  type LeaderReport,
  type LeaderView,
  type PredecessorView,
  type TermLossCause,
  type YieldView,
} from '../../coordinator.js';
import * as wire from '../gen/keyturn/v1/leader.js';
import { ownBytes } from './own-bytes.js';
import { fromWireToken, toDuration, toTimestamp } from './time.js';
import type { Check } from './validate.js';

const { minTtl, maxTtl, minTimeout, maxTimeout, stateBytes, metadataEntries, metadataBytes } = LEADER_LIMITS;
const TTL = 5_000;
const INAUGURATE_TIMEOUT = 30_000;
const HAND_OVER_TIMEOUT = 10_000;

/** What a candidacy begins with. */
export interface StandTerms extends CandidateTerms {
  readonly group: string;
  readonly candidateId: string;
  readonly term: number | undefined;
}

export function standTerms(message: wire.Stand, check: Check): StandTerms {
  metadataCheck(check, message.metadata);
  return {
    group: check.queue('group', message.group),
    candidateId: check.requiredId('candidate_id', message.candidateId),
    ttl: check.duration('ttl', message.ttl, minTtl, maxTtl) ?? TTL,
    inaugurateTimeout:
      check.duration('inaugurate_timeout', message.inaugurateTimeout, minTimeout, maxTimeout) ?? INAUGURATE_TIMEOUT,
    handOverTimeout:
      check.duration('hand_over_timeout', message.handOverTimeout, minTimeout, maxTimeout) ?? HAND_OVER_TIMEOUT,
    metadata: message.metadata,
    term: message.term === 0n ? undefined : fromWireToken(message.term),
  };
}

function metadataCheck(check: Check, metadata: ReadonlyMap<string, string>): void {
  if (metadata.size > metadataEntries) check.wrong('metadata', `${metadata.size} entries`, `up to ${metadataEntries}`);
  let bytes = 0;
  for (const [name, value] of metadata) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  if (bytes > metadataBytes) check.wrong('metadata', `${bytes} bytes`, `up to ${metadataBytes} bytes together`);
}

/** The state has memory of its own: it is kept. */
export function handedOver({ state, lost }: wire.HandedOver, check: Check): LeaderReport {
  if (lost) return { kind: 'stopped' };
  if (state.length > stateBytes) check.wrong('state', `${state.length} bytes`, `up to ${stateBytes} bytes`);
  return { kind: 'handed_over', state: ownBytes(state) };
}

export function groupName({ group }: { readonly group: string }, check: Check): string {
  return check.queue('group', group);
}

type News = NonNullable<wire.LeadNews['news']>;

export function newsOf(view: Exclude<CandidateView, { readonly at: 'replaced' | 'withdrawn' }>): News {
  switch (view.at) {
    case 'standing':
      return { $case: 'standing', value: { position: view.position } };
    case 'inaugurate': {
      const predecessor = predecessorMessage(view.predecessor, view.state);
      return { $case: 'inaugurate', value: { term: BigInt(view.term), predecessor } };
    }
    case 'execute':
      return { $case: 'execute', value: { term: BigInt(view.term) } };
    case 'hand_over': {
      const { term, reason, deadline, within } = view;
      const times = { deadline: toTimestamp(deadline), within: toDuration(within) };
      return { $case: 'handOver', value: { term: BigInt(term), reason: HAND_OVER_REASONS[reason], ...times } };
    }
    case 'lost':
      return lostNews(view.term, view.cause);
  }
}

export function lostNews(term: number, cause: TermLossCause): News {
  return { $case: 'lost', value: { term: BigInt(term), cause: TERM_LOSS_CAUSES[cause] } };
}

export const HAND_OVER_REASONS = {
  yield: wire.HandOverReason.HAND_OVER_REASON_YIELD,
  operator: wire.HandOverReason.HAND_OVER_REASON_OPERATOR,
  drain: wire.HandOverReason.HAND_OVER_REASON_DRAIN,
} as const;

export const TERM_LOSS_CAUSES: Readonly<Record<TermLossCause, wire.TermLossCause>> = {
  ttl: wire.TermLossCause.TERM_LOSS_CAUSE_TTL,
  inaugurate_timeout: wire.TermLossCause.TERM_LOSS_CAUSE_INAUGURATE_TIMEOUT,
  hand_over_timeout: wire.TermLossCause.TERM_LOSS_CAUSE_HAND_OVER_TIMEOUT,
  unknown: wire.TermLossCause.TERM_LOSS_CAUSE_UNKNOWN,
};

export const SUCCESSIONS = {
  none: wire.Succession.SUCCESSION_NONE,
  handed_over: wire.Succession.SUCCESSION_HANDED_OVER,
  lost: wire.Succession.SUCCESSION_LOST,
} as const;

export const LEADER_PHASES = {
  inaugurating: wire.LeaderPhase.LEADER_PHASE_INAUGURATING,
  executing: wire.LeaderPhase.LEADER_PHASE_EXECUTING,
  handing_over: wire.LeaderPhase.LEADER_PHASE_HANDING_OVER,
  lost: wire.LeaderPhase.LEADER_PHASE_LOST,
} as const;

const NO_STATE: Uint8Array = new Uint8Array(0);

function predecessorMessage(
  { candidateId, term, how }: PredecessorView,
  state: Uint8Array = NO_STATE,
): wire.Predecessor {
  return { candidateId, term: BigInt(term), how: SUCCESSIONS[how], state };
}

export function leaderResponse({ group, leader, candidates, predecessor, waits }: GroupView): wire.GetLeaderResponse {
  return {
    group,
    leader: leader && leaderMessage(leader),
    candidates,
    predecessor: predecessorMessage(predecessor),
    why: waits?.why ?? '',
    until: waits?.until === undefined ? undefined : toTimestamp(waits.until),
  };
}

function leaderMessage({ candidateId, term, phase, since, metadata, holdsUntil, holdsFor }: LeaderView): wire.Leader {
  return {
    candidateId,
    term: BigInt(term),
    phase: LEADER_PHASES[phase],
    since: toTimestamp(since),
    metadata: new Map(metadata),
    holdsUntil: toTimestamp(holdsUntil),
    holdsFor: toDuration(holdsFor),
  };
}

export function yieldResponse({ asked }: YieldView): wire.YieldLeaderResponse {
  return { asked: asked !== undefined, candidateId: asked?.candidateId ?? '', term: BigInt(asked?.term ?? 0) };
}
