/** The row of a group that has a leader, or had one. */
import type { LeaderRow, TermRow } from '../../../core/contract/rows.js';
import type { ByteReader } from './byte-reader.js';
import type { ByteWriter } from './byte-writer.js';
import { readOptional, writeOptional } from './optional.js';
import { HAND_OVER_REASONS, LEADER_PHASES, SUCCESSIONS } from './words.js';

export function writeLeader(to: ByteWriter, { group, predecessor, state, since, term }: LeaderRow): void {
  to.text(group);
  to.text(predecessor.candidateId);
  to.whole(predecessor.term);
  to.byte(SUCCESSIONS.number(predecessor.how));
  to.bytes(state);
  to.number(since);
  writeOptional(to, term, writeTerm);
}

export function readLeader(from: ByteReader): LeaderRow {
  const group = from.text();
  const candidateId = from.text();
  const predecessor = { candidateId, term: from.whole(), how: SUCCESSIONS.word(from.byte()) };
  const state = from.bytes();
  const since = from.number();
  return { table: 'leaders', group, predecessor, state, since, term: readOptional(from, readTerm) };
}

function writeTerm(this: ByteWriter, term: TermRow): void {
  this.whole(term.token);
  this.text(term.candidateId);
  this.byte(LEADER_PHASES.number(term.phase));
  this.byte(term.worked ? 1 : 0);
  writeOptional(this, term.reason, writeReason);
  this.number(term.ttl);
  this.number(term.inaugurateTimeout);
  this.number(term.handOverTimeout);
  this.whole(term.metadata.size);
  for (const [name, value] of term.metadata) {
    this.text(name);
    this.text(value);
  }
}

function writeReason(this: ByteWriter, reason: NonNullable<TermRow['reason']>): void {
  this.byte(HAND_OVER_REASONS.number(reason));
}

function readTerm(this: ByteReader): TermRow {
  const token = this.whole();
  const candidateId = this.text();
  const phase = LEADER_PHASES.word(this.byte());
  const worked = this.byte() !== 0;
  const reason = readOptional(this, readReason);
  const ttl = this.number();
  const inaugurateTimeout = this.number();
  const handOverTimeout = this.number();
  const metadata = new Map<string, string>();
  for (let left = this.whole(); left > 0; left--) metadata.set(this.text(), this.text());
  return { token, candidateId, phase, worked, reason, ttl, inaugurateTimeout, handOverTimeout, metadata };
}

function readReason(this: ByteReader): NonNullable<TermRow['reason']> {
  return HAND_OVER_REASONS.word(this.byte());
}
