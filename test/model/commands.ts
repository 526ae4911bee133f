/** Random scenarios as plain data, so that a failing one can be printed and made smaller. */
import fc from 'fast-check';
import type { ItemRef, Limits, NackKind, Policy } from '../../src/coordinator.js';

export const QUEUES = ['q', 'r'] as const;
export const KEYS = ['a', 'b', 'c'] as const;
export type QueueName = (typeof QUEUES)[number];

export interface ItemPart {
  readonly key: string;
  readonly id: string;
  readonly idempotencyKey: string | undefined;
  readonly delay: number;
  readonly after: readonly ItemRef[];
  readonly afterUnknown: 'refuse' | 'wait';
}

export interface AcquirePart {
  readonly queues: readonly QueueName[];
  readonly key: string | undefined;
  readonly consumer: string;
  readonly ticket: string | undefined;
  readonly maxTurns: number;
  readonly maxItems: number;
  readonly wait: number;
  readonly lease: number | undefined;
  readonly deliverable: boolean;
}

/** Places for streams: in each there is one, or none. */
export const SLOTS = [0, 1] as const;
export type Slot = (typeof SLOTS)[number];

/** How long turns outlive each session: never the same, so that no two end in one moment. */
export const SESSIONS = { x: 1_217, y: 6_421 } as const;
export type SessionName = keyof typeof SESSIONS;

/** On which stream a call comes; where there is none, and where it is unset: on none. */
interface OnStream {
  readonly on: Slot | undefined;
}

/** `turn` and `call` count back from the newest that was seen. */
export type Command = (CallCommand & OnStream) | StreamCommand | PeopleCommand;

export type StreamCommand =
  | { readonly type: 'open'; readonly slot: Slot }
  | { readonly type: 'hello'; readonly slot: Slot; readonly session: SessionName }
  /** `unsent`: the last answer with turns was written and not sent. */
  | { readonly type: 'break'; readonly slot: Slot; readonly unsent: boolean };

/** Calls of workers. */
export type CallCommand =
  | {
      readonly type: 'enQueue';
      readonly queue: QueueName;
      readonly key: string;
      readonly consumer: string;
      readonly ticket: string | undefined;
      readonly wait: number | undefined;
      readonly lease: number | undefined;
      readonly idempotencyKey: string | undefined;
      readonly deliverable: boolean;
    }
  | { readonly type: 'deQueue'; readonly turn: number; readonly abandoned: boolean; readonly result: string }
  | {
      readonly type: 'leave';
      readonly queue: QueueName;
      readonly key: string;
      readonly ticket: string;
      readonly abandoned: boolean;
    }
  | {
      readonly type: 'submit';
      readonly queue: QueueName;
      readonly items: readonly ItemPart[];
      readonly waitForRoom: number;
    }
  | ({ readonly type: 'acquire' } & AcquirePart)
  | {
      readonly type: 'ack';
      readonly turn: number;
      readonly result: string;
      readonly followUps: readonly { readonly queue: QueueName; readonly item: ItemPart }[];
      readonly next: AcquirePart | undefined;
    }
  | {
      readonly type: 'nack';
      readonly turn: number;
      readonly kind: NackKind;
      readonly delay: number | undefined;
      readonly done: number;
    }
  /** Acks a turn that no command settled before. */
  | { readonly type: 'settleOnce'; readonly turn: number; readonly result: string }
  | { readonly type: 'renew'; readonly turns: readonly number[]; readonly lease: number | undefined }
  | { readonly type: 'await'; readonly queue: QueueName; readonly id: string; readonly wait: number };

export type PeopleCommand =
  | { readonly type: 'cancel'; readonly call: number; readonly leave: boolean }
  | { readonly type: 'again'; readonly call: number }
  | { readonly type: 'resumeKey'; readonly queue: QueueName; readonly key: string }
  | { readonly type: 'evict'; readonly queue: QueueName; readonly key: string; readonly discard: boolean }
  | { readonly type: 'pause' | 'resume'; readonly queue: QueueName }
  | { readonly type: 'maxInFlight'; readonly queue: QueueName; readonly most: number | undefined }
  | { readonly type: 'rate'; readonly queue: QueueName; readonly rate: Policy['rate'] }
  | {
      readonly type: 'redrive' | 'discard';
      readonly queue: QueueName;
      readonly key: string | undefined;
      readonly ids: readonly string[];
      readonly waiting: boolean;
    }
  | { readonly type: 'advance'; readonly ms: number };

export interface Scenario {
  readonly policies: Readonly<Record<QueueName, Partial<Policy>>>;
  readonly startupHold: number;
  /** Unset: the usual ones. */
  readonly limits?: Partial<Limits>;
  readonly commands: readonly Command[];
}

export const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const queue = oneOf(...QUEUES, 'q' as const);
const key = oneOf(...KEYS, 'a' as const);
const consumer = oneOf('c0', 'c1', 'c2');
const ticket = oneOf(undefined, undefined, 't0', 't1');
const deliverable = fc.nat(19).map((roll) => roll !== 0);
export const IDS: readonly string[] = Array.from({ length: 24 }, (_, index) => `i${index}`);

// Durations are primes of very different sizes, so that two moments that nothing connects rarely fall together.
const lease = oneOf(undefined, 1_009, 5_003, 41_011);
const wait = oneOf(0, 0, 211, 1_511, 7_013);
const delay = oneOf(0, 0, 0, 613, 3_001);

/** The content follows from the id, mostly, so that repeats are repeats. */
const item: fc.Arbitrary<ItemPart> = fc
  .record({ number: fc.nat(IDS.length - 1), odd: fc.nat(39), delay })
  .map(({ number, odd, delay: after }) => ({
    id: IDS[number] ?? 'i0',
    key: odd === 0 ? 'b' : ([...KEYS, 'a', ''][number % 5] ?? 'a'),
    idempotencyKey: number % 3 === 0 ? `b${number % 2}` : undefined,
    // Of items that come together no two are due together.
    delay: after === 0 ? 0 : after + 17 * number,
    after: [],
    afterUnknown: 'refuse',
  }));

/** What an item waits for follows from its id too: mostly others with a smaller number, a few with a larger one. */
const dependant: fc.Arbitrary<ItemPart> = fc
  .record({ plain: item, odd: fc.nat(29), wait: oneOf(true, false) })
  .map(({ plain, odd, wait: waits }) => {
    const number = IDS.indexOf(plain.id);
    const after = awaitedBy(odd === 0 ? number + 1 : number);
    return { ...plain, after, afterUnknown: waits ? 'wait' : 'refuse' };
  });

function awaitedBy(number: number): readonly ItemRef[] {
  const of = (other: number, queue: QueueName) => ({ queue, itemId: IDS[other % IDS.length] ?? 'i0' });
  switch (number % 6) {
    case 1:
      return [of(number - 1, 'q')];
    case 3:
      return [of(number - 1, 'r'), of(number - 2, 'q')];
    case 4:
      return [of(number + 3, 'q')];
    case 5:
      return [of(number - 2, 'q'), of(number - 1, 'q'), of(number + 7, 'r')];
    default:
      return [];
  }
}

const acquirePart: fc.Arbitrary<AcquirePart> = fc
  .record({
    both: fc.boolean(),
    queue,
    key: oneOf(undefined, undefined, undefined, ...KEYS),
    consumer,
    ticket,
    maxTurns: oneOf(1, 1, 2, 5),
    maxItems: oneOf(1, 1, 2, 5),
    wait,
    lease,
    deliverable,
  })
  .map(({ both, queue: one, ...rest }) => ({
    ...rest,
    queues: rest.key === undefined ? queuesOf(rest.ticket, both, one) : [one],
  }));

/** One ticket of dispatch is always for the same queues, as that of a client that retries. */
function queuesOf(ofTicket: string | undefined, both: boolean, one: QueueName): readonly QueueName[] {
  if (ofTicket !== undefined) return ofTicket === 't0' ? QUEUES : ['q'];
  return both ? QUEUES : [one];
}

const turn = oneOf(0, 0, 0, 0, 1, 1, 2, 3, 5, 8);
const slot = oneOf<Slot>(...SLOTS);
const on = oneOf<Slot | undefined>(undefined, ...SLOTS, ...SLOTS);

const commands = {
  enQueue: fc.record({
    type: fc.constant('enQueue' as const),
    on,
    queue,
    key,
    consumer,
    ticket,
    wait: oneOf(undefined, 0, 0, 211, 1_511, 7_013),
    lease,
    idempotencyKey: oneOf(undefined, undefined, undefined, 'b0', 'b1'),
    deliverable,
  }),
  deQueue: fc.record({
    type: fc.constant('deQueue' as const),
    on,
    turn,
    abandoned: fc.boolean(),
    result: oneOf('', 'r1', 'r2'),
  }),
  leave: fc.record({
    type: fc.constant('leave' as const),
    on,
    queue,
    key,
    ticket: oneOf('t0', 't1'),
    abandoned: fc.boolean(),
  }),
  submit: fc.record({
    type: fc.constant('submit' as const),
    on,
    queue,
    items: fc.array(item, { minLength: 1, maxLength: 5, size: 'max' }),
    waitForRoom: oneOf(0, 0, 2_003),
  }),
  submitDependants: fc.record({
    type: fc.constant('submit' as const),
    on,
    queue,
    items: fc.array(dependant, { minLength: 1, maxLength: 6, size: 'max' }),
    waitForRoom: oneOf(0, 0, 2_003),
  }),
  acquire: fc
    .tuple(acquirePart, on)
    .map(([part, its]) => ({ type: 'acquire' as const, on: its, ...part, key: undefined })),
  acquireKey: fc
    .tuple(acquirePart, on, queue, key)
    .map(([part, stream, one, its]) => ({ type: 'acquire' as const, on: stream, ...part, queues: [one], key: its })),
  open: fc.record({ type: fc.constant('open' as const), slot }),
  hello: fc.record({ type: fc.constant('hello' as const), slot, session: oneOf<SessionName>('x', 'y') }),
  break: fc.record({ type: fc.constant('break' as const), slot, unsent: oneOf(false, false, true) }),
  ack: fc.record({
    type: fc.constant('ack' as const),
    on,
    turn,
    result: oneOf('', 'r1', 'r2'),
    followUps: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.record({ queue, item }), { minLength: 1, maxLength: 3, size: 'max' }) },
    ),
    next: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: acquirePart }),
  }),
  ackDependants: fc.record({
    type: fc.constant('ack' as const),
    on,
    turn,
    result: oneOf('', 'r1'),
    followUps: fc.array(fc.record({ queue, item: dependant }), { minLength: 1, maxLength: 4, size: 'max' }),
    next: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: acquirePart }),
  }),
  settleOnce: fc.record({ type: fc.constant('settleOnce' as const), on, turn, result: oneOf('', 'r1') }),
  nack: fc.record({
    type: fc.constant('nack' as const),
    on,
    turn,
    kind: oneOf<NackKind>('retry', 'retry', 'release', 'dead_letter'),
    delay: oneOf(undefined, undefined, 0, 419),
    done: oneOf(0, 0, 0, 1, 2),
  }),
  renew: fc.record({
    type: fc.constant('renew' as const),
    on,
    turns: fc.array(turn, { minLength: 1, maxLength: 3, size: 'max' }),
    lease,
  }),
  await: fc.record({ type: fc.constant('await' as const), on, queue, id: oneOf(...IDS), wait }),
  cancel: fc.record({ type: fc.constant('cancel' as const), call: fc.nat(4), leave: fc.boolean() }),
  again: fc.record({ type: fc.constant('again' as const), call: fc.nat(6) }),
  evict: fc.record({ type: fc.constant('evict' as const), queue, key, discard: oneOf(false, false, true) }),
  resumeKey: fc.record({ type: fc.constant('resumeKey' as const), queue, key: oneOf(...KEYS, '') }),
  pause: fc.record({ type: oneOf('pause' as const, 'resume' as const, 'resume' as const), queue }),
  maxInFlight: fc.record({ type: fc.constant('maxInFlight' as const), queue, most: oneOf(undefined, 1, 3) }),
  rate: fc.record({
    type: fc.constant('rate' as const),
    queue,
    rate: oneOf(undefined, { perSecond: 1, burst: 1 }, { perSecond: 2, burst: 2 }, { perSecond: 4, burst: 1 }),
  }),
  people: fc.record({
    type: oneOf('redrive' as const, 'redrive' as const, 'discard' as const),
    queue,
    key: oneOf(undefined, undefined, ...KEYS, ''),
    ids: fc.oneof(fc.constant([]), fc.array(oneOf(...IDS), { minLength: 1, maxLength: 6, size: 'max' })),
    waiting: fc.boolean(),
  }),
  advance: fc.record({
    type: fc.constant('advance' as const),
    // Quarters of a millisecond are exact in binary. None: two commands in one moment, with the wheel in between.
    ms: fc.oneof(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 0, max: 1_600 }).map((quarters) => quarters / 4),
      fc.integer({ min: 1, max: 5_000 }),
      fc.constant(30_011),
    ),
  }),
} satisfies Record<string, fc.Arbitrary<Command>>;

export type CommandName = keyof typeof commands;

const policyPart: fc.Arbitrary<Partial<Policy>> = fc
  .record({
    waitingPerKey: oneOf<Policy['waitingPerKey']>(undefined, 1, 2, 'unlimited'),
    whenFull: oneOf('decline' as const, 'decline' as const, 'replace' as const),
    lease: oneOf(2_003, 9_001, 60_013),
    maxHold: oneOf(undefined, undefined, undefined, 12_007),
    wait: oneOf(307, 2_503),
    onWaitTimeout: oneOf('block' as const, 'block' as const, 'take_over' as const),
    ticketTtl: oneOf(701, 10_007),
    minInterval: oneOf(0, 0, 0, 907),
    whenTooSoon: oneOf('wait' as const, 'decline' as const),
    rate: oneOf(undefined, undefined, undefined, { perSecond: 2, burst: 1 }, { perSecond: 1, burst: 3 }),
    maxInFlight: oneOf(undefined, undefined, undefined, 1, 2),
    retry: oneOf(
      { maxAttempts: 10, initial: 1_013, factor: 2, max: 30_029, jitter: 'none' as const },
      { maxAttempts: 1, initial: 1_013, factor: 2, max: 30_029, jitter: 'none' as const },
      { maxAttempts: 10, maxCrashes: 1, initial: 1_013, factor: 2, max: 30_029, jitter: 'none' as const },
      { maxAttempts: 3, maxCrashes: 2, initial: 503, factor: 3, max: 1_021, jitter: 'none' as const },
      { maxAttempts: 2, initial: 503, factor: 3, max: 1_021, jitter: 'none' as const },
    ),
    onDeadLetter: oneOf('skip' as const, 'skip' as const, 'park' as const),
    delivery: oneOf(
      'at_least_once' as const,
      'at_least_once' as const,
      'at_least_once' as const,
      'at_most_once' as const,
    ),
    idempotencyTtl: oneOf(0, 15_013),
    resultTtl: oneOf(4_001, 600_011),
    maxWaiting: oneOf(1_000_000, 1_000_000, 1_000_000, 6),
    maxDeadLetters: oneOf(10_000, 10_000, 1),
  })
  .map((part) => part);

const withDependencies: fc.Arbitrary<Partial<Policy>> = fc
  .record({ part: policyPart, onDependencyDead: oneOf('dead' as const, 'dead' as const, 'run' as const) })
  .map(({ part, onDependencyDead }) => ({ ...part, onDependencyDead }));

/** The first choice of each setting: what a scenario that was made small is left with. */
export const SIMPLEST_POLICY: Partial<Policy> = {
  whenFull: 'decline',
  lease: 2_003,
  wait: 307,
  onWaitTimeout: 'block',
  ticketTtl: 701,
  minInterval: 0,
  whenTooSoon: 'wait',
  retry: { maxAttempts: 10, initial: 1_013, factor: 2, max: 30_029, jitter: 'none' },
  onDeadLetter: 'skip',
  delivery: 'at_least_once',
  idempotencyTtl: 0,
  resultTtl: 4_001,
  maxWaiting: 1_000_000,
  maxDeadLetters: 10_000,
  onDependencyDead: 'dead',
};

/** Few of something; the weights of what is plenty keep the others from hiding behind it. */
const tightLimits: fc.Arbitrary<Partial<Limits>> = fc.record({
  waitingCallers: oneOf(1_000, 1_000, 1, 3),
  waitingAcquires: oneOf(1_000, 1_000, 0, 1),
  waitingAwaits: oneOf(1_000, 0, 1),
  waitingSubmits: oneOf(1_000, 1_000, 0, 1),
  busyLanes: oneOf(1_000, 1_000, 2, 4),
  dependencies: oneOf(1_000, 1_000, 0, 2, 4),
  payloadMemoryBytes: oneOf(1_000_000, 1_000_000, 900, 2_000),
});

/** What a scenario is mostly about: the weights of its commands. */
export type Mix = Partial<Record<CommandName, number>>;

/** Between queues nobody says who is first at what they share: only those of one queue wait for that. */
function waitsInOne(command: Command): Command {
  return command.type === 'submit' && command.queue === 'r' ? { ...command, waitForRoom: 0 } : command;
}

/** @param tight with little room of whatever kind */
export function scenarios(mix: Mix, most: number, tight = false): fc.Arbitrary<Scenario> {
  const weighted = Object.entries(mix).map(([name, weight]) => ({
    weight,
    arbitrary: commands[name as CommandName] as fc.Arbitrary<Command>, // the keys of Mix are those of commands
  }));
  const part = mix.submitDependants === undefined ? policyPart : withDependencies;
  return fc.record({
    policies: fc.record({ q: part, r: part }),
    startupHold: oneOf(0, 0, 0, 0, 0, 3_301),
    limits: tight ? tightLimits : fc.constant({}),
    // Without `size` fast-check would hardly go beyond ten commands.
    commands: fc
      .array(fc.oneof(...weighted), { minLength: 1, maxLength: most, size: 'max' })
      .map((all) => (tight ? all.map(waitsInOne) : all)),
  });
}
