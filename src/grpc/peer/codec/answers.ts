/** Replies of the public proto as answers of the port: what `session/codec/answers.ts` writes. */
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  DeliveredItem,
  Delivery,
  DeQueueAnswer,
  EnQueueAnswer,
  HelloAnswer,
  ItemState,
  LossCause,
  NackAnswer,
  Notice,
  Payload,
  Reason,
  RenewAnswer,
  RenewResult,
  SubmitAnswer,
  SubmitResult,
  Turn,
  TurnRef,
} from '../../../coordinator.js';
import { ownPayload } from '../../convert/own-bytes.js';
import { DECISIONS, ITEM_STATES, LOSS_CAUSES, NOTICE_KINDS, REASONS, wordOf } from '../../convert/words.js';
import type { WireReader } from './wire-reader.js';

/** What a turn does not name, because the command did. */
export interface Named {
  readonly queue: string;
  readonly key: string;
}

export const UNNAMED: Named = Object.freeze({ queue: '', key: '' });

/** Reads the answer from the field in which its reader stands. */
export type ReadAnswer<A> = (from: WireReader, named: Named) => A;

const ENDLESS = Number.POSITIVE_INFINITY;
const LOSSES = byNumber(LOSS_CAUSES);
const REASONS_BY_NUMBER = byNumber(REASONS);
const STATES = byNumber(ITEM_STATES);

/** The answer to EnQueue, with fields of all three decisions. */
export function readEnQueue(from: WireReader, named: Named): EnQueueAnswer {
  const outer = from.enter();
  let decision = 0;
  let turn: Turn | undefined;
  let ticket: string | undefined;
  let ahead = 0;
  let reason = 0;
  let retryAfter: number | undefined;
  let result: Uint8Array | undefined;
  let survivorId: string | undefined;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) decision = from.number();
    else if (field === 2) turn = readTurn(from, named);
    else if (field === 3) ticket = from.text();
    else if (field === 4) ahead = from.number();
    else if (field === 5) reason = from.number();
    else if (field === 6) retryAfter = from.ms();
    else if (field === 7) result = new Uint8Array(from.window());
    else if (field === 8) survivorId = from.text();
    else from.skip();
  }
  from.leave(outer);
  if (decision === DECISIONS.accept && turn !== undefined) return { decision: 'accept', turn, ticket };
  if (decision === DECISIONS.block) return { decision: 'block', ahead, retryAfter, ticket };
  if (decision !== DECISIONS.decline)
    throw new RangeError(`decision ${decision} is not allowed; allowed: 1 with a turn, 2 and 3`);
  return { decision: 'decline', reason: reasonOf(reason), survivorId, retryAfter, result };
}

export function readDeQueue(from: WireReader): DeQueueAnswer {
  const outer = from.enter();
  let promoted = false;
  let waiting = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) promoted = from.flag();
    else if (field === 2) waiting = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { promoted, waiting };
}

export function readSubmit(from: WireReader): SubmitAnswer {
  const outer = from.enter();
  const results: SubmitResult[] = [];
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) results.push(readSubmitResult(from));
    else from.skip();
  }
  from.leave(outer);
  return { results };
}

function readSubmitResult(from: WireReader): SubmitResult {
  const outer = from.enter();
  let itemId = '';
  let decision = 0;
  let reason = 0;
  let survivorId: string | undefined;
  let supersededId: string | undefined;
  let retryAfter: number | undefined;
  let onItsWay = false;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) itemId = from.text();
    else if (field === 2) decision = from.number();
    else if (field === 3) reason = from.number();
    else if (field === 4) survivorId = from.text();
    else if (field === 5) supersededId = from.text();
    else if (field === 6) retryAfter = from.ms();
    else if (field === 7) onItsWay = from.flag();
    else from.skip();
  }
  from.leave(outer);
  if (decision === DECISIONS.accept) return { decision: 'accept', itemId, supersededId, ...(onItsWay && { onItsWay }) };
  return { decision: 'decline', itemId, reason: reasonOf(reason), survivorId, retryAfter };
}

export function readAcquire(from: WireReader, named: Named): AcquireAnswer {
  const outer = from.enter();
  const deliveries: Delivery[] = [];
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) deliveries.push(readDelivery(from, named));
    else from.skip();
  }
  from.leave(outer);
  return { deliveries };
}

function readDelivery(from: WireReader, named: Named): Delivery {
  const outer = from.enter();
  const items: DeliveredItem[] = [];
  let turn: Turn | undefined;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) turn = readTurn(from, named);
    else if (field === 2) items.push(readItem(from));
    else from.skip();
  }
  from.leave(outer);
  if (turn === undefined) throw new RangeError('a delivery without a turn');
  return { turn, items };
}

/** Its payload is a copy: a worker that does not read its answers must not keep whole messages alive. */
function readItem(from: WireReader): DeliveredItem {
  const outer = from.enter();
  let itemId = '';
  let payload: Payload = NOTHING;
  let headers: Map<string, string> | undefined;
  let idempotencyKey: string | undefined;
  let submittedAt = 0;
  let attempt = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) itemId = from.text();
    else if (field === 2) payload = ownPayload(from.window());
    else if (field === 3) {
      headers ??= new Map();
      readHeader(from, headers);
    } else if (field === 4) idempotencyKey = from.text();
    else if (field === 5) submittedAt = from.ms();
    else if (field === 6) attempt = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { itemId, payload, headers, idempotencyKey, submittedAt, attempt };
}

const NOTHING = new Uint8Array(0);

function readHeader(from: WireReader, headers: Map<string, string>): void {
  const outer = from.enter();
  let name = '';
  let value = '';
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) name = from.text();
    else if (field === 2) value = from.text();
    else from.skip();
  }
  from.leave(outer);
  headers.set(name, value);
}

export function readAck(from: WireReader, _named: Named, asksNext = false): AckAnswer {
  const outer = from.enter();
  const followUps: SubmitResult[] = [];
  let next: AcquireAnswer | undefined;
  const deliveries: Delivery[] = [];
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) followUps.push(readSubmitResult(from));
    else if (field === 2) next = readAcquire(from, UNNAMED);
    else from.skip();
  }
  from.leave(outer);
  return { followUps, next: next ?? (asksNext ? { deliveries } : undefined) };
}

export function readNack(from: WireReader): NackAnswer {
  const outer = from.enter();
  let retryAt: number | undefined;
  let deadLettered = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) retryAt = from.ms();
    else if (field === 2) deadLettered = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { retryAt, deadLettered };
}

export function readRenew(from: WireReader): RenewAnswer {
  const outer = from.enter();
  const results: RenewResult[] = [];
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) results.push(readRenewResult(from));
    else from.skip();
  }
  from.leave(outer);
  return { results };
}

function readRenewResult(from: WireReader): RenewResult {
  const outer = from.enter();
  let alive = false;
  let leaseExpiresAt = ENDLESS;
  let cause = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) alive = from.flag();
    else if (field === 2) leaseExpiresAt = from.ms();
    else if (field === 3) cause = from.number();
    else from.skip();
  }
  from.leave(outer);
  return alive ? { alive, leaseExpiresAt } : { alive, cause: causeOf(cause) };
}

export function readAwait(from: WireReader): AwaitAnswer {
  const outer = from.enter();
  let state = 0;
  let result: Uint8Array | undefined;
  let error: string | undefined;
  let attempt = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) state = from.number();
    else if (field === 2) result = new Uint8Array(from.window());
    else if (field === 3) error = from.text();
    else if (field === 4) attempt = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { state: stateOf(state), result, error, attempt };
}

export function readHello(from: WireReader): HelloAnswer {
  const outer = from.enter();
  const turns: TurnRef[] = [];
  let sessionId = '';
  let ttl = 0;
  let turnCount = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) sessionId = from.text();
    else if (field === 2) ttl = from.ms();
    else if (field === 3) turns.push(readTurnRef(from));
    else if (field === 4) turnCount = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { sessionId, ttl, turns, turnCount };
}

export function readTurnRef(from: WireReader): TurnRef {
  const outer = from.enter();
  let queue = '';
  let key = '';
  let token = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) queue = from.text();
    else if (field === 2) key = from.text();
    else if (field === 3) token = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { queue, key, token };
}

/** Unset: one of a kind that this version does not know. */
export function readNotice(from: WireReader): Notice | undefined {
  const outer = from.enter();
  let turn: Turn | undefined;
  let kind = 0;
  let cause = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) turn = readTurn(from, UNNAMED);
    else if (field === 2) kind = from.number();
    else if (field === 3) cause = from.number();
    else from.skip();
  }
  from.leave(outer);
  if (turn === undefined) throw new RangeError('a notice without a turn');
  switch (wordOf(NOTICE_KINDS, kind)) {
    case 'turn_lost':
      return { kind: 'turn_lost', turn, cause: causeOf(cause) };
    case 'turn_ending':
      return { kind: 'turn_ending', turn };
    case 'turn_kept':
      return { kind: 'turn_kept', turn: { queue: turn.queue, key: turn.key, token: turn.token } };
    case undefined:
      return undefined;
  }
}

function readTurn(from: WireReader, named: Named): Turn {
  const outer = from.enter();
  let { queue, key } = named;
  let token = 0;
  let lease = 0;
  let leaseExpiresAt = ENDLESS;
  let attempt = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) queue = from.text();
    else if (field === 2) key = from.text();
    else if (field === 3) token = from.number();
    else if (field === 4) lease = from.ms();
    else if (field === 5) leaseExpiresAt = from.ms();
    else if (field === 6) attempt = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { queue, key, token, lease, leaseExpiresAt, attempt };
}

/** What a newer version says and this one does not know. */
function causeOf(wire: number): LossCause {
  return LOSSES[wire] ?? 'unknown';
}

function reasonOf(wire: number): Reason {
  return REASONS_BY_NUMBER[wire] ?? 'waiter_exists';
}

function stateOf(wire: number): ItemState {
  return STATES[wire] ?? 'unknown';
}

/** A table of words, the other way round. */
function byNumber<W extends string>(table: Readonly<Record<W, number>>): readonly (W | undefined)[] {
  const words: (W | undefined)[] = [];
  for (const word in table) words[table[word]] = word;
  return words;
}
