/** Live and ended turns on the disk. */
import type { SubmitResult } from '../../../core/contract/model.js';
import type { AssignmentRow, EndedRow, EndingRow, TicketRow, TurnRow } from '../../../core/contract/rows.js';
import { type ByteReader, NotAValue } from './byte-reader.js';
import type { ByteWriter } from './byte-writer.js';
import { readOptional, writeOptional } from './optional.js';
import { CARGOES, HANDED, LOSS_CAUSES, NACK_KINDS, REASONS, TICKETS } from './words.js';

const LIVE = 1;
const ENDED = 2;

export function writeToken(to: ByteWriter, row: TurnRow | EndedRow): void {
  to.byte(row.state === 'live' ? LIVE : ENDED);
  to.text(row.queue);
  to.text(row.key);
  writeOptional(to, row.lane, to.whole);
  to.number(row.startedAt);
  if (row.state === 'live') writeLive(to, row);
  else writeEnded(to, row);
}

/** @throws NotAValue */
export function readToken(from: ByteReader, token: number): TurnRow | EndedRow {
  const tag = from.byte();
  if (tag !== LIVE && tag !== ENDED) throw new NotAValue(`a token of the kind ${tag}`);
  const turn = {
    table: 'tokens',
    token,
    queue: from.queue(),
    key: from.text(),
    lane: readOptional(from, from.whole),
    startedAt: from.number(),
  } as const;
  return tag === LIVE ? { ...turn, ...readLive(from) } : { ...turn, ...readEnded(from) };
}

function writeLive(to: ByteWriter, row: TurnRow): void {
  writeAssignment(to, row.assignment);
  to.text(row.consumerId);
  writeOptional(to, row.ticket, writeTicket);
  to.number(row.lease);
  to.number(row.since);
  writeOptional(to, row.end, to.number);
  writeOptional(to, row.latestEnd, to.number);
  to.byte(HANDED.number(row.handed));
  writeOptional(to, row.session, to.text);
  // Last, and only where there is one: other rows are as they were, and versions that do not know it pass it over.
  if (row.principal !== undefined) to.text(row.principal);
}

type Live = Omit<TurnRow, 'table' | 'token' | 'queue' | 'key' | 'lane' | 'startedAt'>;
type Ended = Omit<EndedRow, 'table' | 'token' | 'queue' | 'key' | 'lane' | 'startedAt'>;

function readLive(from: ByteReader): Live {
  const live: Live = {
    state: 'live',
    assignment: readAssignment(from),
    consumerId: from.text(),
    ticket: readOptional(from, readTicket),
    lease: from.number(),
    since: from.number(),
    end: readOptional(from, from.number),
    latestEnd: readOptional(from, from.number),
    handed: HANDED.word(from.byte()),
    session: readOptional(from, from.text),
  };
  return from.hasMore ? { ...live, principal: from.text() } : live;
}

function writeEnded(to: ByteWriter, row: EndedRow): void {
  writeOptional(to, row.ticket, to.text);
  writeEnding(to, row.ending);
}

function readEnded(from: ByteReader): Ended {
  return { state: 'ended', ticket: readOptional(from, from.text), ending: readEnding(from) };
}

function writeAssignment(to: ByteWriter, assignment: AssignmentRow): void {
  to.byte(CARGOES.number(assignment.kind));
  if (assignment.kind === 'caller') writeOptional(to, assignment.idempotencyKey, to.text);
  if (assignment.kind === 'items') {
    to.byte(assignment.done ? 1 : 0);
    to.whole(assignment.seqs.length);
    for (const seq of assignment.seqs) to.whole(seq);
  }
}

function readAssignment(from: ByteReader): AssignmentRow {
  const kind = CARGOES.word(from.byte());
  if (kind === 'adopted') return { kind };
  if (kind === 'caller') return { kind, idempotencyKey: readOptional(from, from.text) };
  const done = from.byte() === 1;
  const seqs: number[] = [];
  for (let left = from.whole(); left > 0; left -= 1) seqs.push(from.whole());
  return { kind, seqs, done };
}

function writeTicket(this: ByteWriter, { of, ticket }: TicketRow): void {
  this.byte(TICKETS.number(of));
  this.text(ticket);
}

function readTicket(this: ByteReader): TicketRow {
  return { of: TICKETS.word(this.byte()), ticket: this.text() };
}

/** How a turn ended, as numbers. */
const ENDING = { loss: 1, dequeue: 2, ack: 3, nack: 4 } as const;

function writeEnding(to: ByteWriter, ending: EndingRow): void {
  if (ending.ended !== 'settled') {
    to.byte(ENDING.loss);
    to.byte(LOSS_CAUSES.number(ending.ended));
    return;
  }
  to.byte(ENDING[ending.call]);
  if (ending.call === 'dequeue') {
    to.byte((ending.abandoned ? 1 : 0) | (ending.answer.promoted ? 2 : 0));
    to.whole(ending.answer.waiting);
  } else if (ending.call === 'ack') {
    writeOptional(to, ending.followUps, writeResults);
  } else {
    to.byte(NACK_KINDS.number(ending.kind));
    writeOptional(to, ending.answer.retryAt, to.number);
    to.whole(ending.answer.deadLettered);
  }
}

function readEnding(from: ByteReader): EndingRow {
  const how = from.byte();
  switch (how) {
    case ENDING.loss:
      return { ended: LOSS_CAUSES.word(from.byte()) };
    case ENDING.dequeue: {
      const flags = from.byte();
      const answer = { promoted: (flags & 2) !== 0, waiting: from.whole() };
      return { ended: 'settled', call: 'dequeue', abandoned: (flags & 1) !== 0, answer };
    }
    case ENDING.ack:
      return { ended: 'settled', call: 'ack', followUps: readOptional(from, readResults) };
    case ENDING.nack: {
      const kind = NACK_KINDS.word(from.byte());
      const answer = { retryAt: readOptional(from, from.number), deadLettered: from.whole() };
      return { ended: 'settled', call: 'nack', kind, answer };
    }
    default:
      throw new NotAValue(`an ending of the kind ${how}`);
  }
}

/** In the place of a reason. Only where there is an outbox. */
const ON_ITS_WAY = 255;

function writeResults(this: ByteWriter, results: readonly SubmitResult[]): void {
  this.whole(results.length);
  for (const result of results) writeResult(this, result);
}

function writeResult(to: ByteWriter, result: SubmitResult): void {
  to.text(result.itemId);
  if (result.decision === 'accept') {
    if (result.onItsWay === true) return to.byte(ON_ITS_WAY);
    to.byte(0);
    writeOptional(to, result.supersededId, to.text);
    return;
  }
  to.byte(REASONS.number(result.reason));
  writeOptional(to, result.survivorId, to.text);
  writeOptional(to, result.retryAfter, to.number);
}

function readResults(this: ByteReader): readonly SubmitResult[] {
  const results: SubmitResult[] = [];
  for (let left = this.whole(); left > 0; left -= 1) results.push(readResult(this));
  return results;
}

function readResult(from: ByteReader): SubmitResult {
  const itemId = from.text();
  const reason = from.byte();
  if (reason === 0) return { decision: 'accept', itemId, supersededId: readOptional(from, from.text) };
  if (reason === ON_ITS_WAY) return { decision: 'accept', itemId, supersededId: undefined, onItsWay: true };
  return {
    decision: 'decline',
    itemId,
    reason: REASONS.word(reason),
    survivorId: readOptional(from, from.text),
    retryAfter: readOptional(from, from.number),
  };
}
