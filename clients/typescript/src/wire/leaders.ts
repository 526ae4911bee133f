/** Words about leaders to messages of the proto and back. */
import * as wire from '../gen/keyturn/v1/leader.js';
import type {
  GroupInfo,
  HandOverReason,
  LeaderInfo,
  LeaderPhase,
  LeadNews,
  LeadSaying,
  Predecessor,
  TermLoss,
} from '../words/leader-words.js';
import { commandError } from './status.js';
import { fromDuration, fromTimestamp, fromWireToken, toDuration } from './time.js';

type Command = NonNullable<wire.LeadCommand['command']>;

export function wireCommand(saying: LeadSaying): Command {
  switch (saying.say) {
    case 'stand': {
      const { ttl, inaugurateTimeout, handOverTimeout, metadata, term, ...names } = saying.call;
      const times = {
        ttl: toDuration(ttl),
        inaugurateTimeout: toDuration(inaugurateTimeout),
        handOverTimeout: toDuration(handOverTimeout),
      };
      return { $case: 'stand', value: { ...names, ...times, metadata: new Map(metadata), term: BigInt(term) } };
    }
    case 'inaugurated':
      return { $case: 'inaugurated', value: { term: BigInt(saying.term) } };
    case 'alive':
      return { $case: 'alive', value: { term: BigInt(saying.term) } };
    case 'handed_over': {
      const { state, lost, term } = saying;
      return { $case: 'handedOver', value: { state: Uint8Array.from(state), lost, term: BigInt(term) } };
    }
    case 'yield':
      return { $case: 'yield', value: { term: BigInt(saying.term), failed: saying.failed } };
    case 'withdraw':
      return { $case: 'withdraw', value: {} };
  }
}

/** What is not bounded by a few hundred. */
export function bytesOf(saying: LeadSaying): number {
  if (saying.say === 'handed_over') return saying.state.length;
  if (saying.say !== 'stand') return 0;
  let bytes = 0;
  for (const [name, value] of saying.call.metadata) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  return bytes;
}

/** @returns unset: a newer sidecar tells what this client does not know */
export function newsOf(news: wire.LeadNews['news']): LeadNews | undefined {
  switch (news?.$case) {
    case 'standing':
      return { news: 'standing', position: news.value.position };
    case 'inaugurate': {
      const { term, predecessor } = news.value;
      return { news: 'inaugurate', term: fromWireToken(term), predecessor: predecessorOf(predecessor) };
    }
    case 'execute':
    case 'released':
      return { news: news.$case, term: fromWireToken(news.value.term) };
    case 'handOver': {
      const { term, reason, within } = news.value;
      const ms = within === undefined ? 0 : fromDuration(within);
      return { news: 'hand_over', term: fromWireToken(term), reason: REASONS.get(reason) ?? 'operator', within: ms };
    }
    case 'lost':
      return { news: 'lost', term: fromWireToken(news.value.term), cause: CAUSES.get(news.value.cause) ?? 'unknown' };
    case 'kept': {
      const { term, ttl } = news.value;
      return { news: 'kept', term: fromWireToken(term), ttl: ttl === undefined ? 0 : fromDuration(ttl) };
    }
    case 'refused':
      return { news: 'refused', error: commandError(news.value) };
    case undefined:
      return undefined;
  }
}

const REASONS = new Map<wire.HandOverReason, HandOverReason>([
  [wire.HandOverReason.HAND_OVER_REASON_YIELD, 'yield'],
  [wire.HandOverReason.HAND_OVER_REASON_OPERATOR, 'operator'],
  [wire.HandOverReason.HAND_OVER_REASON_DRAIN, 'drain'],
]);

const CAUSES = new Map<wire.TermLossCause, TermLoss>([
  [wire.TermLossCause.TERM_LOSS_CAUSE_TTL, 'ttl'],
  [wire.TermLossCause.TERM_LOSS_CAUSE_INAUGURATE_TIMEOUT, 'inaugurate_timeout'],
  [wire.TermLossCause.TERM_LOSS_CAUSE_HAND_OVER_TIMEOUT, 'hand_over_timeout'],
]);

const SUCCESSIONS = new Map<wire.Succession, Predecessor['how']>([
  [wire.Succession.SUCCESSION_HANDED_OVER, 'handed_over'],
  [wire.Succession.SUCCESSION_LOST, 'lost'],
]);

const PHASES = new Map<wire.LeaderPhase, LeaderPhase>([
  [wire.LeaderPhase.LEADER_PHASE_INAUGURATING, 'inaugurating'],
  [wire.LeaderPhase.LEADER_PHASE_EXECUTING, 'executing'],
  [wire.LeaderPhase.LEADER_PHASE_HANDING_OVER, 'handing_over'],
]);

function predecessorOf(predecessor: wire.Predecessor | undefined): Predecessor {
  if (predecessor === undefined) return { candidateId: '', term: 0, how: 'none', state: new Uint8Array(0) };
  const { candidateId, term, how, state } = predecessor;
  return { candidateId, term: fromWireToken(term), how: SUCCESSIONS.get(how) ?? 'none', state };
}

export function groupInfo(view: wire.GetLeaderResponse): GroupInfo {
  const { group, leader, candidates, predecessor, why, until } = view;
  const waits = { candidates, why, until: until && fromTimestamp(until) };
  return { group, leader: leader && leaderInfo(leader), ...waits, predecessor: predecessorOf(predecessor) };
}

function leaderInfo({ candidateId, term, phase, since, metadata, holdsUntil, holdsFor }: wire.Leader): LeaderInfo {
  return {
    candidateId,
    term: fromWireToken(term),
    phase: PHASES.get(phase) ?? 'lost',
    since: since === undefined ? 0 : fromTimestamp(since),
    metadata,
    holdsFor: holdsFor === undefined ? 0 : fromDuration(holdsFor),
    holdsUntil: holdsUntil === undefined ? 0 : fromTimestamp(holdsUntil),
  };
}
