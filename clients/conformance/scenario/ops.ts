/** The ops of players, as `PLAYER.md` has them: what each may be told, and what its answer may have. */
import {
  anything,
  count,
  either,
  fields,
  flag,
  listOf,
  mapOf,
  pattern,
  type Shape,
  text,
  value,
  word,
} from './shapes.js';

export interface Op {
  readonly args: Shape;
  readonly ok: Shape;
}

type Shapes = Readonly<Record<string, Shape>>;

const t = value(text);
const n = value(count);
const b = value(flag);
const bytes = value(either(text, fields({ base64: text }, ['base64'])));
// Words are the client's to refuse: a scenario may send a wrong one.
const list = (shape: Shape) => value(listOf(value(shape)));

const ITEM: Shapes = {
  key: t,
  payload: bytes,
  headers: value(mapOf(t)),
  item_id: t,
  idempotency_key: t,
  delay_ms: n,
  after: list(fields({ queue: t, item_id: t }, ['queue', 'item_id'])),
  after_unknown: t,
};
const item = value(fields(ITEM));
const followUps = list(fields({ queue: t, item }, ['queue', 'item']));

const OUTCOME: Shapes = {
  ack: b,
  result: bytes,
  follow_ups: followUps,
  retry: b,
  delay_ms: n,
  dead_letter: t,
  release: b,
  done: n,
  throw: t,
  value: t,
  state: t,
};
const outcome = value(fields(OUTCOME));

const work = value(
  fields({
    held: b,
    does: outcome,
    takes_ms: n,
    by_payload: value(mapOf(outcome)),
    ledger: t,
    ignores_loss: b,
  }),
);

/** What a leader does in one phase. */
const PHASE = value(fields({ held: b, does: outcome, blocks_ms: n, ignores_loss: b }));

const KEYED: Shapes = { queue: t, key: t };
const CLIENT: Shapes = { client: text };
const ACQUIRE: Shapes = {
  queues: list(t),
  key: t,
  ticket: t,
  max_turns: n,
  max_items_per_turn: n,
  wait_ms: n,
  lease_ms: n,
};
const HELD: Shapes = {
  ...CLIENT,
  handle: text,
  ...KEYED,
  wait_ms: n,
  order: t,
  lease_ms: n,
  max_hold_ms: n,
  idempotency_key: t,
  work,
};
const TLS = value(fields({ ca: t, cert: t, key: t, server_name: t }));

/** How a client gets its token: one of these. */
const BEARER = value(fields({ text: t, file: t, gives: t, fails: t }));

export const OPEN: Shapes = {
  address: t,
  transport: t,
  consumer_id: t,
  session_id: t,
  session_ttl_ms: n,
  margin_ms: n,
  open_commands: n,
  open_bytes: n,
  tls: TLS,
  bearer: BEARER,
};

const TURN: Shapes = {
  queue: pattern(),
  key: pattern(),
  token: pattern(),
  lease_ms: pattern(),
  attempt: pattern(),
};
const GIVEN_ITEM: Shapes = {
  item_id: pattern(),
  payload: pattern(),
  headers: pattern(),
  idempotency_key: pattern(),
  attempt: pattern(),
};
const DELIVERIES: Shapes = { deliveries: pattern({ turn: pattern(TURN), items: pattern(GIVEN_ITEM) }) };
const RESULT: Shapes = {
  item_id: pattern(),
  decision: pattern(),
  reason: pattern(),
  survivor_id: pattern(),
  superseded_id: pattern(),
  retry_after_ms: pattern(),
  on_its_way: pattern(),
};
const RESULTS = pattern({ results: pattern(RESULT) });
const DECLINED: Shapes = {
  reason: pattern(),
  ahead: pattern(),
  survivor_id: pattern(),
  retry_after_ms: pattern(),
  result: pattern(),
};
const STATUS = pattern({ status: pattern(), value: pattern(), ...DECLINED });
const NOTHING = pattern({});

function op(args: Shapes, needed: readonly string[], ok: Shape): Op {
  return { args: fields(args, needed), ok };
}

export const OPS: Readonly<Record<string, Op>> = {
  hello: op({}, [], pattern({ language: pattern(), version: pattern(), runtime: pattern() })),
  open: op({ client: text, through: word('proxy', 'sidecar'), ...OPEN }, ['client'], NOTHING),
  close: op({ ...CLIENT, timeout_ms: n }, [], NOTHING),
  leftovers: op({}, [], pattern({ count: pattern(), what: pattern() })),
  enqueue: op(
    { ...CLIENT, ...KEYED, ticket: t, wait_ms: n, lease_ms: n, idempotency_key: t, timeout_ms: n },
    ['queue', 'key'],
    pattern({ decision: pattern(), turn: pattern(TURN), ticket: pattern(), ...DECLINED }),
  ),
  dequeue: op(
    { ...CLIENT, ...KEYED, token: n, ticket: t, abandoned: b, result: bytes },
    ['queue', 'key'],
    pattern({ promoted: pattern(), waiting: pattern() }),
  ),
  submit: op(
    { ...CLIENT, queue: t, items: list(fields(ITEM)), wait_for_room_ms: n, durability: t, timeout_ms: n },
    ['queue', 'items'],
    RESULTS,
  ),
  submit_many: op({ ...CLIENT, queue: t, items: list(fields(ITEM)) }, ['queue', 'items'], RESULTS),
  acquire: op({ ...CLIENT, ...ACQUIRE, timeout_ms: n }, ['queues'], pattern(DELIVERIES)),
  ack: op(
    { ...CLIENT, ...KEYED, token: n, result: bytes, follow_ups: followUps, next: value(fields(ACQUIRE, ['queues'])) },
    ['queue', 'key', 'token'],
    pattern({ follow_ups: pattern(RESULT), next: pattern(DELIVERIES) }),
  ),
  nack: op(
    { ...CLIENT, ...KEYED, token: n, kind: t, delay_ms: n, error: t, done: n },
    ['queue', 'key', 'token', 'kind'],
    pattern({ retry: pattern(), dead_lettered: pattern() }),
  ),
  renew: op(
    { ...CLIENT, turns: list(fields({ ...KEYED, token: n }, ['queue', 'key', 'token'])), lease_ms: n },
    ['turns'],
    pattern({ results: pattern({ alive: pattern(), cause: pattern() }) }),
  ),
  await: op(
    { ...CLIENT, queue: t, item_id: t, wait_ms: n },
    ['queue', 'item_id'],
    pattern({ state: pattern(), result: pattern(), error: pattern(), attempt: pattern() }),
  ),
  cancel: op({ ...CLIENT, call: text, leave: b }, ['call'], NOTHING),
  result: op({ ...CLIENT, queue: t, item_id: t, timeout_ms: n }, ['queue', 'item_id'], pattern({ result: pattern() })),
  with_turn: op(HELD, ['handle', 'queue', 'key', 'work'], STATUS),
  turn: op(HELD, ['handle', 'queue', 'key', 'work'], STATUS),
  consume: op(
    { ...CLIENT, handle: text, queues: list(t), concurrency: n, max_items_per_turn: n, lease_ms: n, work },
    ['handle', 'queues', 'work'],
    NOTHING,
  ),
  stop: op({ handle: text, timeout_ms: n }, ['handle'], pattern({ cut_off: pattern() })),
  lead: op(
    {
      ...CLIENT,
      handle: text,
      group: t,
      candidate_id: t,
      ttl_ms: n,
      margin_ms: n,
      inaugurate_timeout_ms: n,
      hand_over_timeout_ms: n,
      metadata: value(mapOf(t)),
      progress: t,
      once: b,
      career: value(fields({ inaugurate: PHASE, execute: PHASE, hand_over: PHASE, ledger: t })),
    },
    ['handle', 'group'],
    NOTHING,
  ),
  yield: op({ handle: text }, ['handle'], NOTHING),
  withdraw: op({ handle: text, timeout_ms: n }, ['handle'], NOTHING),
  finish: op({ handle: text, token: n, with: outcome }, ['handle', 'with'], NOTHING),
  producer: op(
    {
      ...CLIENT,
      handle: text,
      queue: t,
      count: n,
      interval_ms: n,
      max_items: n,
      max_bytes: n,
      when_full: t,
      timeout_ms: n,
      durability: t,
      spool: value(fields({ directory: t, interval_ms: n, count: n, max_bytes: n }, ['directory'])),
    },
    ['handle', 'queue'],
    NOTHING,
  ),
  add: op({ handle: text, item }, ['handle', 'item'], pattern({ ...RESULT })),
  flush: op({ handle: text }, ['handle'], NOTHING),
  close_producer: op({ handle: text }, ['handle'], NOTHING),
  pairs: op(
    { ...CLIENT, queue: t, keys: n, in_flight: n, seconds: n },
    ['queue', 'keys', 'in_flight', 'seconds'],
    pattern({ pairs: pattern() }),
  ),
};

export const OF_A_HANDLE: ReadonlySet<string> = new Set([
  'stop',
  'finish',
  'yield',
  'withdraw',
  'add',
  'flush',
  'close_producer',
]);

/** Ops that go to a client; the others go to a handle, or to the player itself. */
export const OF_A_CLIENT: ReadonlySet<string> = new Set(
  Object.keys(OPS).filter((name) => !['hello', 'leftovers'].includes(name) && !OF_A_HANDLE.has(name)),
);

export const ERROR = pattern({
  kind: pattern(),
  code: pattern(),
  reason: pattern(),
  message: pattern(),
  cause: pattern(),
  retry_after_ms: pattern(),
  violations: pattern({ field: pattern(), description: pattern() }),
  state: pattern(),
});

/** Where a consumer or producer had trouble: the same words in all languages. */
const STAGE = value(word('acquire', 'handler', 'turn_lost', 'settle', 'dead_letter', 'stop', 'producer'));

const EVENT_FIELDS: Shapes = {
  handle: pattern(),
  queue: pattern(),
  key: pattern(),
  token: pattern(),
  attempt: pattern(),
  items: pattern(GIVEN_ITEM),
  cause: pattern(),
  stage: STAGE,
  error: ERROR,
  term: pattern(),
  phase: value(word('inaugurate', 'execute', 'hand_over')),
  reason: pattern(),
  predecessor: pattern({ candidate_id: pattern(), term: pattern(), how: pattern(), state: pattern() }),
};

/** `event: started` with the fields that are expected. */
export const EVENT: Shape = fields(
  {
    event: word('started', 'lost', 'told_to_stop', 'ended', 'trouble', 'failed', 'phase', 'phase_ended', 'withdrawn'),
    ...EVENT_FIELDS,
  },
  ['event'],
);

/** Any value: used where a pattern of its own checks. */
export const ANYTHING = anything;
