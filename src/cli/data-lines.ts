/**
 * What a data directory holds as JSON lines, both ways. Names are those of the contract, instants ISO 8601 in UTC,
 * payloads and results base64. What is unset is left out. Files outlive versions: a name in a line never changes, though
 * the code may call the same thing otherwise.
 */
import { Buffer } from 'node:buffer';
import { DEFAULT_LIMITS } from '../core/contract/limits.js';
import type { DeathCause, ItemRef } from '../core/contract/model.js';
import { bytesOfPayload } from '../core/contract/payload.js';
import type { Content, EndRow, FinishedRow, ItemRow, ProgressRow } from '../core/contract/rows.js';
import { harmlessJson } from '../observability/harmless.js';
import { LineFields } from './line-fields.js';
import { isoInstant } from './output.js';

/** An item that is open, or a dead letter. */
export interface ItemLine {
  readonly kind: 'item' | 'dead_letter';
  readonly item: Omit<ItemRow, 'seq' | 'contentHash' | 'takesRoom' | 'contentBytes'> & { readonly content: Content };
  /**
   * Of the item as it was submitted. It cannot always be worked out again: what of `after` was done before it was
   * written is not in it any more. Unset: written by a version that did not tell it, or by a person.
   */
  readonly contentHash: number | undefined;
  readonly progress:
    | Pick<ProgressRow, 'attempts' | 'crashes' | 'lastError' | 'notBefore' | 'dead' | 'after' | 'dependencyFailed'>
    | undefined;
}

/** An item that is finished and remembered. */
interface ResultLine {
  readonly kind: 'result';
  readonly row: Omit<FinishedRow, 'seq'>;
}

/** What items on the lines before it wait for has ended, and they were not told yet. */
interface EndLine {
  readonly kind: 'end';
  readonly row: Omit<EndRow, 'seq'>;
}

export type DataLine = ItemLine | ResultLine | EndLine;

export function toItemLine(row: ItemRow, content: Content, progress: ProgressRow | undefined): string {
  const notBefore = progress?.notBefore ?? row.notBefore;
  return harmlessJson({
    kind: progress?.dead === undefined ? 'item' : 'dead_letter',
    queue: row.queue,
    key: row.key,
    item_id: row.id,
    idempotency_key: row.idempotencyKey,
    submitted_at: isoInstant(row.submittedAt),
    not_before: notBefore === 0 ? undefined : isoInstant(notBefore),
    after: row.after.length === 0 ? undefined : refs(row.after),
    waits_for: progress?.after && refs(progress.after),
    doomed: progress?.dependencyFailed === true ? true : undefined,
    principal: row.principal,
    fingerprint: row.contentHash,
    attempts: progress?.attempts,
    crashes: progress?.crashes || undefined,
    last_error: progress?.lastError,
    cause: progress?.dead?.cause,
    died_at: progress?.dead === undefined ? undefined : isoInstant(progress.dead.at),
    headers: content.headers === undefined ? undefined : Object.fromEntries(content.headers),
    payload: base64(bytesOfPayload(content.payload)),
  });
}

export function toResultLine(row: FinishedRow): string {
  return harmlessJson({
    kind: 'result',
    queue: row.queue,
    item_id: row.id,
    state: row.state,
    attempt: row.attempt,
    until: isoInstant(row.until),
    fingerprint: row.contentHash,
    error: row.error,
    result: row.result === undefined ? undefined : base64(row.result),
  });
}

export function toEndLine({ queue, id, end }: EndRow): string {
  return harmlessJson({ kind: 'end', queue, item_id: id, end });
}

function refs(items: readonly ItemRef[]): readonly object[] {
  return items.map(({ queue, itemId }) => ({ queue, item_id: itemId }));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}

const DEATHS = ['max_attempts', 'max_crashes', 'refused', 'dependency'] as const satisfies readonly DeathCause[];
const ENDS = ['done', 'superseded', 'discarded'] as const satisfies readonly FinishedRow['state'][];
const TOLD_ENDS = [...ENDS, 'dead', 'declined'] as const satisfies readonly EndRow['end'][];

/** @throws FieldProblem that names the field */
export function readLine(text: string): DataLine {
  const line = new LineFields(text);
  const read = readKind(line, line.oneOf('kind', ['item', 'dead_letter', 'result', 'end']));
  line.refuseOthers();
  return read;
}

function readKind(line: LineFields, kind: DataLine['kind']): DataLine {
  if (kind === 'result') return readResult(line);
  return kind === 'end' ? readEnd(line) : readItem(line, kind);
}

function readItem(line: LineFields, kind: ItemLine['kind']): ItemLine {
  const { keyBytes, payloadBytes } = DEFAULT_LIMITS;
  const item: ItemLine['item'] = {
    table: 'items',
    state: 'open',
    queue: line.queue('queue'),
    key: line.text('key', 0, keyBytes),
    id: line.id('item_id'),
    idempotencyKey: line.optional('idempotency_key', () => line.id('idempotency_key')),
    submittedAt: line.instant('submitted_at'),
    notBefore: line.optional('not_before', () => line.instant('not_before')) ?? 0,
    after: line.optional('after', () => line.refs('after')) ?? [],
    ...principalIn(line),
    content: {
      headers: line.optional('headers', () => line.headers('headers')),
      payload: line.base64('payload', payloadBytes),
    },
  };
  const contentHash = line.optional('fingerprint', () => line.whole('fingerprint'));
  return { kind, item, contentHash, progress: readProgress(line, kind, item.notBefore) };
}

/** To whom the item is charged. Absent: to nobody. */
function principalIn(line: LineFields): Pick<ItemRow, 'principal'> {
  const principal = line.optional('principal', () => line.text('principal', 1, DEFAULT_LIMITS.idBytes));
  return principal === undefined ? {} : { principal };
}

function readProgress(line: LineFields, kind: ItemLine['kind'], notBefore: number): ItemLine['progress'] {
  const attempts = line.optional('attempts', () => line.whole('attempts')) ?? 0;
  const crashes = line.optional('crashes', () => line.whole('crashes')) ?? 0;
  const lastError = line.optional('last_error', () => line.text('last_error', 0, DEFAULT_LIMITS.errorBytes));
  const after = line.optional('waits_for', () => line.refs('waits_for'));
  const dependencyFailed = line.optional('doomed', () => line.yes('doomed')) ?? false;
  if (kind === 'item' && attempts === 0 && lastError === undefined && after === undefined && !dependencyFailed)
    return undefined;
  const dead = kind === 'item' ? undefined : { cause: line.oneOf('cause', DEATHS), at: line.instant('died_at') };
  return { attempts, crashes, lastError, notBefore, dead, after, dependencyFailed };
}

function readResult(line: LineFields): ResultLine {
  return {
    kind: 'result',
    row: {
      table: 'items',
      queue: line.queue('queue'),
      id: line.id('item_id'),
      state: line.oneOf('state', ENDS),
      attempt: line.whole('attempt'),
      // No instant at all would be another kind of row.
      until: Math.max(1, line.instant('until')),
      contentHash: line.optional('fingerprint', () => line.whole('fingerprint')),
      error: line.optional('error', () => line.text('error', 0, DEFAULT_LIMITS.errorBytes)),
      result: line.optional('result', () => line.base64('result', DEFAULT_LIMITS.payloadBytes)),
    },
  };
}

function readEnd(line: LineFields): EndLine {
  const [queue, id, end] = [line.queue('queue'), line.id('item_id'), line.oneOf('end', TOLD_ENDS)];
  return { kind: 'end', row: { table: 'items', state: 'ended', queue, id, end } };
}
