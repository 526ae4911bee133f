/** Every kind of thing that a core holds, each with the calls that make it hold one more. */
import type { NewItem, Reply } from '../../../src/coordinator.js';
import { Core, type Effect } from '../../../src/core/core.js';
import * as build from '../../support/builders.js';
import { FIRST_WALL } from '../../support/fake-clock.js';
import { carry, isAnswer } from '../stage.js';

const HOUR = 3_600_000;
const MOST = 16_000_000;

/** Far beyond what a test makes: only the memory is to bound it. */
export const WIDE: build.SettingsChange['limits'] = {
  payloadMemoryBytes: 2 ** 50,
  idleLanes: MOST,
  busyLanes: MOST,
  queues: MOST,
  sessions: MOST,
  waitingAcquires: MOST,
  waitingAwaits: MOST,
  waitingSubmits: MOST,
  waitingCallers: MOST,
  dependencies: MOST,
};

/** A core that is filled. Answers are carried out at once, and the first refusal is remembered. */
export class Filled {
  readonly core: Core;
  /** What the first refusal names; unset: nothing was refused. */
  refused: string | undefined;
  now = 5_000;
  /** Token of the last turn that was given. */
  token = 0;
  made = 0;

  constructor(change: build.SettingsChange = {}) {
    const queue = { lease: HOUR, ticketTtl: HOUR, resultTtl: HOUR, idempotencyTtl: HOUR, maxWaiting: MOST };
    const settings = build.settings({
      queues: { [build.QUEUE]: { ...queue, waitingPerKey: 'unlimited', maxRemembered: MOST, maxDeadLetters: MOST } },
      ...change,
      limits: { ...WIDE, ...change.limits },
    });
    this.core = new Core(settings, { now: this.now, wall: FIRST_WALL, seed: 1 });
  }

  carry(): void {
    for (let effect = this.core.takeEffect(); effect !== undefined; effect = this.core.takeEffect()) {
      if (isAnswer(effect)) this.#note(effect);
    }
  }

  #note(effect: Effect & Parameters<typeof carry>[0]): void {
    // The first one: what comes behind it has nothing to work on.
    if (effect.kind === 'refuse')
      this.refused ??= 'subject' in effect.refusal ? effect.refusal.subject : effect.refusal.kind;
    else if (effect.kind === 'enqueue' && effect.answer.decision === 'accept') this.token = effect.answer.turn.token;
    else if (effect.kind === 'acquire') this.token = effect.answer.deliveries[0]?.turn.token ?? this.token;
    carry(effect);
  }

  enQueue(change: Parameters<typeof build.enQueueRequest>[0]): void {
    this.core.enQueue(build.enQueueRequest(change), reply(), this.now);
    this.carry();
  }

  submit(...items: readonly Partial<NewItem>[]): void {
    this.submitOrWait(0, ...items);
  }

  submitOrWait(waitForRoom: number, ...items: readonly Partial<NewItem>[]): void {
    const request = { queue: build.QUEUE, items: items.map(build.newItem), waitForRoom, durability: undefined };
    this.core.submit(request, reply(), this.now);
    this.carry();
  }

  acquire(change: Parameters<typeof build.acquireRequest>[0]): void {
    this.core.acquire(build.acquireRequest(change), reply(), this.now);
    this.carry();
  }
}

/** A text of its own, of so many bytes, different for each number. */
export function text(index: number, length: number, begin = 'k'): string {
  return Buffer.from(`${begin}${index.toString(36)}`.padEnd(length, '.')).toString();
}

function reply<T>(): Reply<T> {
  return { answer: () => true, refuse: () => undefined };
}

function headers(index: number, entries: number, length: number): ReadonlyMap<string, string> {
  return new Map(Array.from({ length: entries }, (_, at) => [text(at, length, 'h'), text(index, length, 'v')]));
}

interface Kind {
  /** Holds one more, or is refused. */
  readonly add: (filled: Filled, index: number) => void;
  readonly settings?: build.SettingsChange;
  /** Another limit bounds it before. */
  readonly isLimited?: true;
  /** It gives way instead of being refused. */
  readonly isForgotten?: true;
}

const SHORT = 8;

export const KINDS: Readonly<Record<string, Kind>> = {
  'turns of short keys': {
    add: (filled, index) => filled.enQueue({ key: text(index, SHORT), consumerId: '' }),
  },
  'turns of long keys, with all their names': {
    add: (filled, index) =>
      filled.enQueue({
        key: text(index, 1_024),
        consumerId: text(index, 256),
        ticket: text(index, 256),
        idempotencyKey: text(index, 256),
      }),
  },
  'idle keys': {
    isForgotten: true,
    add(filled, index) {
      const key = text(index, 1_024);
      filled.enQueue({ key });
      const holder = { token: filled.token };
      filled.core.deQueue(build.deQueueRequest({ key, holder }), reply(), filled.now);
      filled.carry();
    },
  },
  'settlements of a key': {
    isForgotten: true,
    add(filled, index) {
      const key = text(Math.floor(index / 8), SHORT);
      filled.enQueue({ key, consumerId: '' });
      const holder = { token: filled.token };
      filled.core.deQueue(build.deQueueRequest({ key, holder }), reply(), filled.now);
      filled.carry();
    },
  },
  'callers of one key': {
    add: (filled) => filled.enQueue({ consumerId: '', wait: HOUR }),
  },
  'callers with tickets, a key each': {
    add(filled, index) {
      const key = text(index, SHORT);
      const name = text(index, 256);
      filled.enQueue({ key, consumerId: '' });
      filled.enQueue({ key, consumerId: name, ticket: name, idempotencyKey: name, wait: HOUR });
    },
  },
  'Acquires that wait': {
    add: (filled) => filled.acquire({ consumerId: '', wait: HOUR }),
  },
  'Acquires with tickets for many queues': {
    settings: { queues: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`q${at}`, {}])) },
    add: (filled, index) =>
      filled.acquire({
        queues: Array.from({ length: 100 }, (_, at) => Buffer.from(`q${at}`).toString()),
        consumerId: text(index, 256),
        ticket: text(index, 256),
        wait: HOUR,
      }),
  },
  'Awaits of an item each': {
    add(filled, index) {
      const itemId = text(index, 256);
      filled.submit({ key: '', itemId });
      filled.core.awaitItem({ queue: build.QUEUE, itemId, wait: HOUR }, reply(), filled.now);
      filled.carry();
    },
  },
  'Submits that wait for room': {
    settings: { queues: { [build.QUEUE]: { maxWaiting: 1 } } },
    add: (filled, index) => filled.submitOrWait(HOUR, { key: text(index, 1_024) }),
  },
  'items without a key': {
    add: (filled) => filled.submit({ key: '' }),
  },
  'items of one key': {
    add: (filled) => filled.submit({}),
  },
  'items of long keys': {
    add: (filled, index) =>
      filled.submit({ key: text(index, 1_024), itemId: text(index, 256), idempotencyKey: text(index, 256) }),
  },
  'items with headers': {
    add: (filled, index) => filled.submit({ key: '', headers: headers(index, 64, 4) }),
  },
  'items that wait for others': {
    add: (filled, index) =>
      filled.submit({
        key: '',
        afterUnknown: 'wait',
        after: Array.from({ length: 100 }, (_, at) => ({ queue: build.QUEUE, itemId: text(index * 100 + at, SHORT) })),
      }),
  },
  'items that finished': {
    isForgotten: true,
    add(filled, index) {
      filled.submit({ key: '', itemId: text(index, 256), idempotencyKey: text(index, 256) });
      finishOne(filled);
    },
  },
  'items that finished, with results': {
    isForgotten: true,
    add(filled, index) {
      filled.submit({ key: '', itemId: text(index, SHORT) });
      finishOne(filled, new Uint8Array(1_024));
    },
  },
  'items handed out at most once': {
    settings: { queues: { [build.QUEUE]: { delivery: 'at_most_once', lease: HOUR, maxRemembered: 1 } } },
    add(filled) {
      filled.submit({ key: '', headers: headers(0, 1, 4_096) });
      filled.acquire({});
    },
  },
  'dead letters': {
    add(filled, index) {
      filled.submit({ key: text(index, SHORT) });
      filled.acquire({});
      const nack = { key: text(index, SHORT), token: filled.token, kind: 'dead_letter' as const };
      filled.core.nack(build.nackRequest({ ...nack, error: text(index, 8_192) }), reply(), filled.now);
      filled.carry();
    },
  },
  'turns of dispatch tickets': {
    add(filled, index) {
      filled.submit({ key: '' });
      filled.acquire({ consumerId: text(index, 256), ticket: text(index, 256) });
    },
  },
  'turns of dispatch tickets, taken when the budget is full of items': {
    add(filled, index) {
      filled.submit({ key: '' });
      if (filled.refused !== 'memory_bytes') return;
      // From now on turns are taken, until that is refused too.
      filled.refused = undefined;
      for (let at = 0; filled.refused === undefined && at <= index; at++)
        filled.acquire({ consumerId: text(at, 256), ticket: text(at, 256) });
    },
  },
  'results of follow-ups': {
    isForgotten: true,
    settings: { queues: { [build.QUEUE]: {}, other: { waitingPerKey: 1, whenFull: 'decline' } } },
    add(filled, index) {
      const key = text(index, SHORT);
      filled.enQueue({ key, consumerId: '' });
      // All but the first are declined, and nothing but their results is left.
      const followUps = Array.from({ length: 1_000 }, () => ({ queue: 'other', item: build.newItem() }));
      filled.core.ack(build.ackRequest({ key, token: filled.token, followUps }), reply(), filled.now);
      filled.carry();
    },
  },
  sessions: {
    add(filled, index) {
      const opened = filled.core.openStream({ notice: () => undefined, replaced: () => undefined });
      if (!opened.ok) {
        filled.refused = 'subject' in opened.refusal ? opened.refusal.subject : opened.refusal.kind;
        return;
      }
      const said = { consumerId: '', sessionId: text(index, SHORT), ttl: HOUR };
      filled.core.hello(opened.value, said, reply(), filled.now);
      filled.carry();
    },
  },
  queues: {
    add: (filled, index) => filled.enQueue({ queue: text(index, SHORT), key: 'k', consumerId: '' }),
  },
  'groups of leaders': {
    add: (filled, index) => stand(filled, text(index, 128), text(index, 256), headers(index, 64, 64)),
  },
  candidates: {
    add: (filled, index) => stand(filled, `g${Math.floor(index / 50)}`, text(index, SHORT), new Map()),
  },
  'candidates with metadata': {
    add: (filled, index) => stand(filled, `g${Math.floor(index / 50)}`, text(index, 256), headers(index, 64, 4)),
  },
  'who watches leaders': {
    isLimited: true,
    add(filled, index) {
      const group = `g${index % 1_000}`;
      filled.core.awaitLeader({ group, knows: { term: 0, phase: undefined } }, reply(), filled.now);
      filled.carry();
    },
  },
};

function finishOne(filled: Filled, result?: Uint8Array): void {
  filled.acquire({});
  filled.core.ack(build.ackRequest({ key: '', token: filled.token, result }), reply(), filled.now);
  filled.carry();
}

function stand(filled: Filled, group: string, candidateId: string, metadata: ReadonlyMap<string, string>): void {
  filled.made += 1;
  const times = { ttl: HOUR, inaugurateTimeout: HOUR, handOverTimeout: HOUR };
  const stamp = { at: filled.made, by: Buffer.from(`s${filled.made}`).toString() };
  const request = { ...times, group, candidateId, metadata, stamp, term: undefined, knows: undefined };
  filled.core.stand(request, reply(), filled.now);
  filled.carry();
}
