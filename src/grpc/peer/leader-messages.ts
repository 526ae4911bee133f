/** Calls about leaders between sidecars: as a gateway writes them and reads the answers, and as a home reads and answers them. */
import type {
  AwaitLeaderRequest,
  CandidateKnows,
  CandidateView,
  GroupView,
  LeaderKnows,
  LeaderReport,
  LeaderView,
  PredecessorView,
  ReportAnswer,
  ReportRequest,
  SessionStamp,
  StandRequest,
  WithdrawRequest,
  YieldView,
} from '../../coordinator.js';
import {
  HAND_OVER_REASONS,
  handedOver,
  LEADER_PHASES,
  leaderResponse,
  newsOf,
  SUCCESSIONS,
  standTerms,
  TERM_LOSS_CAUSES,
  yieldResponse,
} from '../convert/leaders.js';
import { ownBytes } from '../convert/own-bytes.js';
import { steadyNow } from '../convert/steady-time.js';
import { fromWireToken, toDuration } from '../convert/time.js';
import type { Check } from '../convert/validate.js';
import { wordOf } from '../convert/words.js';
import * as wire from '../gen/keyturn/peer/v1/peer.js';
import * as leader from '../gen/keyturn/v1/leader.js';
import type { WireWriter } from '../session/codec/wire-writer.js';
import type { WireReader } from './codec/wire-reader.js';

/** Of a LeaderCall, and of the LeaderReply to it. */
export const LEADER = { stand: 2, report: 3, withdraw: 4, await: 5, yield: 6 } as const;

const STANDPOINTS = {
  standing: wire.Standpoint.STANDPOINT_STANDING,
  inaugurate: wire.Standpoint.STANDPOINT_INAUGURATE,
  execute: wire.Standpoint.STANDPOINT_EXECUTE,
  hand_over: wire.Standpoint.STANDPOINT_HAND_OVER,
  lost: wire.Standpoint.STANDPOINT_LOST,
  replaced: wire.Standpoint.STANDPOINT_REPLACED,
  withdrawn: wire.Standpoint.STANDPOINT_WITHDRAWN,
} as const;

export function writeStand(out: WireWriter, request: StandRequest): void {
  const { group, candidateId, metadata, term = 0, knows, withdrawn = false } = request;
  const stand = {
    group,
    candidateId,
    ttl: toDuration(request.ttl),
    inaugurateTimeout: toDuration(request.inaugurateTimeout),
    handOverTimeout: toDuration(request.handOverTimeout),
    metadata: new Map(metadata),
    term: BigInt(term),
  };
  const known = { knows: STANDPOINTS[knows?.at ?? 'standing'], number: BigInt(knows?.number ?? 0) };
  const stream = streamOf(request.stamp);
  const message = wire.StandCall.encode({ stand, stream, ...(knows ? known : NOTHING_KNOWN), withdrawn });
  out.message(LEADER.stand, message.finish());
}

const NOTHING_KNOWN = { knows: wire.Standpoint.STANDPOINT_UNSPECIFIED, number: 0n } as const;

export function readStand({ stand, stream, knows, number, withdrawn }: wire.StandCall, check: Check): StandRequest {
  if (stand === undefined) throw new RangeError('a candidate that does not say who it is');
  const known = knows === wire.Standpoint.STANDPOINT_UNSPECIFIED ? undefined : knownBy(knows, fromWireToken(number));
  return { ...standTerms(stand, check), stamp: stampOf(stream), knows: known, withdrawn };
}

function knownBy(at: wire.Standpoint, number: number): CandidateKnows {
  return { at: word(STANDPOINTS, at, 'standpoint'), number };
}

/** Ages travel, because the clocks of two sidecars differ. */
function streamOf({ at, by }: SessionStamp): wire.LeadStream {
  return { id: by, age: BigInt(Math.max(0, Math.round(steadyNow() - at))) };
}

function stampOf(stream: wire.LeadStream | undefined): SessionStamp {
  if (stream === undefined) throw new RangeError('a candidate without a stream');
  return { at: Math.round(steadyNow()) - Number(stream.age), by: stream.id };
}

export function writeReport(out: WireWriter, { group, term: number, report, candidateId = '' }: ReportRequest): void {
  const term = BigInt(number);
  const call = { group, report: reportMessage(report, term), candidateId };
  out.message(LEADER.report, wire.ReportCall.encode(call).finish());
}

function reportMessage(report: LeaderReport, term: bigint): NonNullable<wire.ReportCall['report']> {
  switch (report.kind) {
    case 'inaugurated':
    case 'alive':
      return { $case: report.kind, value: { term } };
    case 'handed_over':
      return { $case: 'handedOver', value: { term, state: report.state, lost: false } };
    case 'stopped':
      return { $case: 'handedOver', value: { term, state: NO_STATE, lost: true } };
    case 'yield':
      return { $case: 'yield', value: { term, failed: report.failed } };
  }
}

const NO_STATE = new Uint8Array(0);

export function readReport({ group, report: said, candidateId }: wire.ReportCall, check: Check): ReportRequest {
  if (said === undefined) throw new RangeError('a report that says nothing');
  const whose = { group: check.queue('group', group), candidateId: check.id('candidate_id', candidateId) };
  const term = fromWireToken(said.value.term);
  if (said.$case === 'handedOver') return { ...whose, term, report: handedOver(said.value, check) };
  if (said.$case === 'yield') return { ...whose, term, report: { kind: 'yield', failed: said.value.failed } };
  return { ...whose, term, report: { kind: said.$case } };
}

export function writeWithdraw(out: WireWriter, { group, candidateId, stamp }: WithdrawRequest): void {
  const message = wire.WithdrawCall.encode({ group, candidateId, stream: streamOf(stamp) });
  out.message(LEADER.withdraw, message.finish());
}

export function readWithdraw({ group, candidateId, stream }: wire.WithdrawCall, check: Check): WithdrawRequest {
  return {
    group: check.queue('group', group),
    candidateId: check.requiredId('candidate_id', candidateId),
    stamp: stampOf(stream),
  };
}

export function writeAwaitLeader(out: WireWriter, { group, knows }: AwaitLeaderRequest): void {
  out.message(LEADER.await, wire.AwaitLeaderCall.encode({ group, knows: knows && knownLeader(knows) }).finish());
}

function knownLeader({ term, phase }: LeaderKnows): wire.KnownLeader {
  return { beyond: BigInt(term + 1), phase: phase === undefined ? NO_PHASE : LEADER_PHASES[phase] };
}

const NO_PHASE = leader.LeaderPhase.LEADER_PHASE_UNSPECIFIED;

export function readAwaitLeader({ group, knows }: wire.AwaitLeaderCall, check: Check): AwaitLeaderRequest {
  return { group: check.queue('group', group), knows: knows && leaderKnown(knows) };
}

function leaderKnown({ beyond, phase }: wire.KnownLeader): LeaderKnows {
  const term = Number(beyond) - 1;
  return { term, phase: phase === NO_PHASE ? undefined : word(LEADER_PHASES, phase, 'phase') };
}

export function writeYield(out: WireWriter, group: string): void {
  out.message(LEADER.yield, leader.YieldLeaderRequest.encode({ group, reason: '' }).finish());
}

export function writeCandidateView(out: WireWriter, view: CandidateView): void {
  const isOver = view.at === 'replaced' || view.at === 'withdrawn';
  const news = isOver ? undefined : { candidacy: 0, news: newsOf(view) };
  out.message(LEADER.stand, wire.StandReply.encode({ at: STANDPOINTS[view.at], news }).finish());
}

export function readCandidateView(from: WireReader): CandidateView {
  const { at, news } = wire.StandReply.decode(from.window());
  const standpoint = word(STANDPOINTS, at, 'standpoint');
  if (standpoint === 'replaced' || standpoint === 'withdrawn') return { at: standpoint };
  const told = news?.news;
  if (told === undefined) throw new RangeError('a candidate that is told nothing');
  return viewOf(told);
}

function viewOf(news: NonNullable<leader.LeadNews['news']>): CandidateView {
  switch (news.$case) {
    case 'standing':
      return { at: 'standing', position: news.value.position };
    case 'inaugurate': {
      const { term, predecessor } = news.value;
      // Its message may be gone when it is told.
      const state = ownBytes(predecessor?.state ?? NO_STATE);
      return { at: 'inaugurate', term: fromWireToken(term), predecessor: predecessorOf(predecessor), state };
    }
    case 'execute':
      return { at: 'execute', term: fromWireToken(news.value.term) };
    case 'handOver': {
      const { term, reason, within, deadline } = news.value;
      return {
        at: 'hand_over',
        term: fromWireToken(term),
        reason: word(HAND_OVER_REASONS, reason, 'reason'),
        within: msOf(within),
        deadline: msOf(deadline),
      };
    }
    case 'lost':
      return { at: 'lost', term: fromWireToken(news.value.term), cause: causeOf(news.value.cause) };
    default:
      throw new RangeError(`${news.$case} is not how a candidate stands`);
  }
}

function causeOf(cause: leader.TermLossCause) {
  return word(TERM_LOSS_CAUSES, cause, 'cause');
}

function predecessorOf(message: leader.Predecessor | undefined): PredecessorView {
  if (message === undefined) throw new RangeError('nothing is said of who led before');
  const { candidateId, term, how } = message;
  return { candidateId, term: fromWireToken(term), how: word(SUCCESSIONS, how, 'succession') };
}

export function writeReportAnswer(out: WireWriter, said: ReportAnswer): void {
  const message = said.counted
    ? { ttl: toDuration(said.ttl), cause: leader.TermLossCause.TERM_LOSS_CAUSE_UNSPECIFIED }
    : { ttl: undefined, cause: TERM_LOSS_CAUSES[said.cause] };
  out.message(LEADER.report, wire.ReportReply.encode(message).finish());
}

export function readReportAnswer(from: WireReader): ReportAnswer {
  const { ttl, cause } = wire.ReportReply.decode(from.window());
  return ttl === undefined ? { counted: false, cause: causeOf(cause) } : { counted: true, ttl: msOf(ttl) };
}

export function writeWithdrawn(out: WireWriter): void {
  out.message(LEADER.withdraw, NO_STATE);
}

export function readWithdrawn(from: WireReader): void {
  from.window();
}

export function writeGroupView(out: WireWriter, view: GroupView): void {
  out.message(LEADER.await, leader.GetLeaderResponse.encode(leaderResponse(view)).finish());
}

export function readGroupView(from: WireReader): GroupView {
  const { group, leader: leads, candidates, predecessor, why, until } = leader.GetLeaderResponse.decode(from.window());
  const waits = why === '' ? undefined : { why, until: until && msOf(until) };
  return { group, leader: leads && leaderOf(leads), candidates, predecessor: predecessorOf(predecessor), waits };
}

function leaderOf({ candidateId, term, phase, since, metadata, holdsUntil, holdsFor }: leader.Leader): LeaderView {
  return {
    candidateId,
    term: fromWireToken(term),
    phase: word(LEADER_PHASES, phase, 'phase'),
    since: msOf(since),
    metadata,
    holdsFor: msOf(holdsFor),
    holdsUntil: msOf(holdsUntil),
  };
}

export function writeYieldView(out: WireWriter, view: YieldView): void {
  out.message(LEADER.yield, leader.YieldLeaderResponse.encode(yieldResponse(view)).finish());
}

export function readYieldView(from: WireReader): YieldView {
  const { asked, candidateId, term } = leader.YieldLeaderResponse.decode(from.window());
  return { asked: asked ? { candidateId, term: fromWireToken(term) } : undefined };
}

function word<W extends string>(table: Readonly<Record<W, number>>, wireNumber: number, what: string): W {
  const found = wordOf(table, wireNumber);
  if (found === undefined) throw new RangeError(`${what} ${wireNumber} is not allowed`);
  return found;
}

const NANOS_PER_MS = 1_000_000;

function msOf(time: { readonly seconds: bigint; readonly nanos: number } | undefined): number {
  return time === undefined ? 0 : Number(time.seconds) * 1_000 + time.nanos / NANOS_PER_MS;
}
