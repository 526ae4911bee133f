/** Rows of every kind, with what is rare in them too, and short ways to make some. */
import { Buffer } from 'node:buffer';
import type { Bytes } from '../../../src/core/contract/payload.js';
import type { Content, ItemRow, Row, RowChange } from '../../../src/core/contract/rows.js';

export const NO_CONTENT: Content = { payload: new Uint8Array(), headers: undefined };

/** Its payload is bytes, whatever its size: as it is read. */
export function contentOf(text: string, headers?: Readonly<Record<string, string>>): Content & { payload: Bytes } {
  return {
    payload: Uint8Array.from(Buffer.from(text)),
    headers: headers === undefined ? undefined : new Map(Object.entries(headers)),
  };
}

/** The bytes that the core counts for a content. */
export function bytesOf({ payload, headers }: Content): number {
  const names = [...(headers ?? [])].flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return payload.length + names;
}

export function itemRow(seq: number, differences: Partial<ItemRow> = {}): ItemRow {
  const content = differences.content ?? contentOf(`payload of ${seq}`);
  return {
    table: 'items',
    seq,
    state: 'open',
    queue: 'orders',
    key: `customer-${seq % 7}`,
    id: `item-${seq}`,
    idempotencyKey: undefined,
    contentHash: seq * 1_000_003,
    submittedAt: 1_763_000_000_000.25 + seq,
    notBefore: 0,
    takesRoom: true,
    after: [],
    contentBytes: bytesOf(content),
    ...differences,
    content,
  };
}

const LIVE = {
  table: 'tokens',
  state: 'live',
  queue: 'orders',
  key: 'customer-1',
  lane: undefined,
  startedAt: 1_763_000_000_001.5,
  consumerId: 'worker-1',
  lease: 20_000,
  since: 1_763_000_000_002,
} as const;

const ENDED = {
  table: 'tokens',
  state: 'ended',
  queue: 'orders',
  key: 'customer-2',
  lane: undefined,
  startedAt: 1_763_000_000_003,
  ticket: undefined,
} as const;

/** At least one of each kind, in the order in which they are read. */
export const ALL_KINDS: readonly Row[] = [
  { table: 'floor', token: 2 ** 53 - 1 },
  { table: 'pauses', queue: 'orders' },
  { table: 'sessions', id: 'session-1', ttl: 10_000 },
  {
    ...LIVE,
    token: 7,
    assignment: { kind: 'caller', idempotencyKey: undefined },
    ticket: undefined,
    end: undefined,
    latestEnd: undefined,
    handed: 'given',
    session: 'session-1',
  },
  {
    ...LIVE,
    token: 8,
    key: '',
    lane: 2 ** 40,
    assignment: { kind: 'items', seqs: [1, 2 ** 33, 300], done: true },
    ticket: { of: 'dispatch', ticket: 'ticket-ä' },
    end: 1_763_000_020_000.75,
    latestEnd: 1_763_000_060_000,
    handed: 'kept',
    session: undefined,
  },
  {
    ...LIVE,
    token: 9,
    assignment: { kind: 'caller', idempotencyKey: 'bill-1' },
    ticket: { of: 'key', ticket: 't' },
    end: 1_763_000_020_000,
    latestEnd: undefined,
    handed: 'known',
    session: undefined,
  },
  {
    ...LIVE,
    token: 10,
    assignment: { kind: 'adopted' },
    ticket: undefined,
    end: 0,
    latestEnd: undefined,
    handed: 'given',
    session: undefined,
  },
  { ...ENDED, token: 11, ending: { ended: 'lease_expired' } },
  { ...ENDED, token: 12, ending: { ended: 'evicted' }, ticket: 'ticket-1' },
  { ...ENDED, token: 13, ending: { ended: 'taken_over' }, lane: 5 },
  {
    ...ENDED,
    token: 14,
    ending: { ended: 'settled', call: 'dequeue', abandoned: true, answer: { promoted: true, waiting: 3 } },
  },
  { ...ENDED, token: 15, ending: { ended: 'settled', call: 'ack', followUps: undefined } },
  {
    ...ENDED,
    token: 16,
    ending: {
      ended: 'settled',
      call: 'ack',
      followUps: [
        { decision: 'accept', itemId: 'next-1', supersededId: undefined },
        { decision: 'accept', itemId: 'next-2', supersededId: 'next-0' },
        { decision: 'decline', itemId: 'n', reason: 'waiter_exists', survivorId: 's', retryAfter: undefined },
        { decision: 'decline', itemId: 'm', reason: 'too_soon', survivorId: undefined, retryAfter: 12.5 },
      ],
    },
  },
  {
    ...ENDED,
    token: 17,
    ending: { ended: 'settled', call: 'nack', kind: 'retry', answer: { retryAt: 1_763_000_000_009, deadLettered: 0 } },
  },
  {
    ...ENDED,
    token: 2 ** 52,
    ending: { ended: 'settled', call: 'nack', kind: 'dead_letter', answer: { retryAt: undefined, deadLettered: 2 } },
  },
  {
    table: 'keys',
    queue: 'orders',
    key: 'customer-1',
    idempotencyKey: 'bill-1',
    result: Uint8Array.of(1, 2, 3),
    until: 1_763_000_600_000,
  },
  { table: 'keys', queue: 'orders', key: '', idempotencyKey: 'bill-2', result: undefined, until: 1 },
  {
    table: 'parks',
    queue: 'orders',
    key: 'customer-3',
    lane: undefined,
    since: 1_763_000_000_000,
    because: 'dead_letter',
    itemId: 'item-9',
  },
  { table: 'parks', queue: 'orders', key: '', lane: 12, since: 5, because: 'no_room', itemId: '' },
  {
    table: 'progress',
    seq: 1,
    attempts: 3,
    crashes: 0,
    lastError: 'it broke: \u{1f600}',
    notBefore: 1_763_000_001_000.5,
    takesRoom: false,
    rank: -4.5,
    after: undefined,
    dependencyFailed: false,
    dead: undefined,
  },
  {
    table: 'progress',
    seq: 3,
    attempts: 0,
    crashes: 0,
    lastError: undefined,
    notBefore: 0,
    takesRoom: true,
    rank: 3,
    after: [
      { queue: 'orders', itemId: 'item-9' },
      { queue: 'a/b', itemId: 'schlüssel' },
    ],
    dependencyFailed: true,
    dead: undefined,
  },
  {
    table: 'progress',
    seq: 2 ** 33,
    attempts: 10,
    crashes: 0,
    lastError: undefined,
    notBefore: 0,
    takesRoom: true,
    rank: 2 ** 33,
    after: [],
    dependencyFailed: false,
    dead: { cause: 'max_attempts', at: 1_763_000_002_000 },
  },
  {
    table: 'progress',
    seq: 2 ** 33 + 1,
    attempts: 10,
    crashes: 7,
    lastError: undefined,
    notBefore: 0,
    takesRoom: false,
    rank: 2 ** 33 + 1,
    after: undefined,
    dependencyFailed: false,
    dead: { cause: 'max_crashes', at: 1_763_000_002_000 },
  },
  itemRow(1),
  itemRow(2, { key: '', idempotencyKey: 'bill-1', takesRoom: false, content: NO_CONTENT }),
  itemRow(3, { notBefore: 1_763_000_003_000.125, key: 'schlüssel/\u{1f511}', id: 'x'.repeat(256) }),
  itemRow(4, {
    after: [
      { queue: 'a', itemId: 'b' },
      { queue: 'orders', itemId: 'item-1' },
    ],
  }),
  itemRow(5, { content: contentOf('with headers', { trace: '00-1', 'content-type': 'text/plain' }) }),
  itemRow(6, { content: contentOf('', {}) }),
  itemRow(7, { content: contentOf('l'.repeat(100_000), { large: 'yes' }) }),
  itemRow(8, { content: contentOf('m'.repeat(1_048_576)) }),
  {
    table: 'items',
    seq: 300,
    state: 'done',
    queue: 'orders',
    id: 'item-300',
    result: Uint8Array.of(9, 8),
    error: undefined,
    attempt: 2,
    contentHash: 2 ** 53 - 1,
    until: 1_763_000_600_000.5,
  },
  {
    table: 'items',
    seq: 301,
    state: 'superseded',
    queue: 'other',
    id: 'item-301',
    result: undefined,
    error: undefined,
    attempt: 0,
    contentHash: undefined,
    until: 1,
  },
  {
    table: 'items',
    seq: 302,
    state: 'ended',
    queue: 'a/b',
    id: 'schlüssel',
    end: 'done',
  },
  { table: 'items', seq: 303, state: 'ended', queue: 'orders', id: 'x'.repeat(256), end: 'superseded' },
  { table: 'items', seq: 304, state: 'ended', queue: 'orders', id: 'a', end: 'discarded' },
  { table: 'items', seq: 305, state: 'ended', queue: 'orders', id: 'b', end: 'dead' },
  { table: 'items', seq: 306, state: 'ended', queue: 'orders', id: 'c', end: 'declined' },
  {
    table: 'items',
    seq: 2 ** 33,
    state: 'discarded',
    queue: 'orders',
    id: 'item-302',
    result: undefined,
    error: 'by hand',
    attempt: 1,
    contentHash: 0,
    until: 1,
  },
  {
    table: 'leaders',
    group: 'nobody-leads',
    predecessor: { candidateId: '', term: 0, how: 'none' },
    state: new Uint8Array(0),
    since: 0,
    term: undefined,
  },
  {
    table: 'leaders',
    group: 'backup',
    predecessor: { candidateId: 'app-1', term: 2 ** 40, how: 'lost' },
    state: Uint8Array.of(1, 0, 255),
    since: 1_763_000_000_000.5,
    term: {
      token: 2 ** 40 + 1,
      candidateId: 'app-ä',
      phase: 'handing_over',
      worked: true,
      reason: 'operator',
      ttl: 5_000,
      inaugurateTimeout: 30_000,
      handOverTimeout: 10_000,
      metadata: new Map([['host', 'h1']]),
    },
  },
];

export function puts(rows: readonly Row[]): readonly RowChange[] {
  return rows.map((row) => ({ put: row }));
}

/** As it is read at the start. */
export function asRead(row: Row): Row {
  return row.table === 'items' && row.state === 'open' ? { ...row, content: undefined } : row;
}
