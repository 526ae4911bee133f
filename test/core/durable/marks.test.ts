/** Which rows each step changes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '../../../src/coordinator.js';
import type { Stream } from '../../../src/core/core.js';
import { bytes, KEY, QUEUE, type SettingsChange } from '../../support/builders.js';
import { atOnce, lettersOf, okay, Stage } from '../stage.js';
import { inWords } from './in-words.js';

interface Scene {
  readonly stage: Stage;
  readonly stream: Stream;
  /** Of the turn that was given last. */
  token(): number;
}

interface Case {
  readonly what: string;
  readonly policy?: Partial<Policy>;
  readonly settings?: SettingsChange;
  /** What was written before. */
  readonly given?: (scene: Scene) => void;
  readonly when: (scene: Scene) => void;
  readonly rows: readonly string[];
}

function scene({ policy = {}, settings = {} }: Pick<Case, 'policy' | 'settings'>, durable = true): Scene {
  const queues = { [QUEUE]: { durable: true, ...policy } };
  const stage = new Stage({ queues, ...settings }, 5_000, { durable });
  const stream = okay(stage.open());
  return { stage, stream, token: () => stage.explain().holder?.token ?? 0 };
}

const item = (itemId = 'i1') => ({ itemId, payload: bytes('x') });
const submit = ({ stage }: Scene, ...ids: readonly string[]) =>
  void stage.submit('p', (ids.length === 0 ? ['i1'] : ids).map(item));
const take = ({ stage }: Scene, change: Parameters<Stage['acquire']>[1] = {}) => stage.acquire('w', change);
const inHand = (it: Scene) => {
  submit(it);
  take(it);
};
const nack = (it: Scene, kind: 'retry' | 'release' | 'dead_letter') => it.stage.nack('w', { token: it.token(), kind });
const dead = (it: Scene) => {
  inHand(it);
  nack(it, 'dead_letter');
};
const held = ({ stage }: Scene) => void stage.enQueue('c');
const tied = (it: Scene) => {
  it.stage.hello('c', it.stream, 's', 10_000);
  it.stage.on = it.stream;
  held(it);
};
const both = (first: (it: Scene) => void, second: (it: Scene) => void) => (it: Scene) => {
  first(it);
  second(it);
};
const all = { queue: QUEUE, key: undefined, itemIds: [] };
const person = <T>({ stage }: Scene, act: (now: number) => { ok: boolean; value?: T }) => {
  assert.ok(act(stage.now).ok);
};

const CASES: readonly Case[] = [
  { what: 'the start', when: () => {}, rows: ['+ floor'] },
  { what: 'Submit', when: (it) => submit(it, 'a', 'b'), rows: ['+ items 1 a open', '+ items 2 b open'] },
  { what: 'Submit of what is known', given: submit, when: submit, rows: [] },
  {
    what: 'Submit that takes the place of another',
    policy: { waitingPerKey: 1, whenFull: 'replace' },
    given: (it) => submit(it, 'a'),
    when: (it) => submit(it, 'b'),
    rows: ['+ items 1 a superseded', '+ items 2 b open'],
  },
  {
    what: 'Submit with durability memory',
    when: ({ stage }) => void stage.submit('p', [item()], QUEUE, 0, 'memory'),
    rows: [],
  },
  { what: 'Acquire', given: submit, when: take, rows: ['+ turn 1 live items 1 given'] },
  {
    what: 'Acquire of what is in memory only',
    given: ({ stage }) => void stage.submit('p', [item()], QUEUE, 0, 'memory'),
    when: take,
    rows: ['+ turn 1 live items 1 given'],
  },
  { what: 'Acquire of nothing', when: take, rows: [] },
  {
    what: 'Acquire of at_most_once: the item stays as it is until its turn ends',
    policy: { delivery: 'at_most_once' },
    given: submit,
    when: take,
    rows: ['+ turn 1 live items 1 done given'],
  },
  {
    what: 'Ack of at_most_once',
    policy: { delivery: 'at_most_once' },
    given: inHand,
    when: (it) => void it.stage.ack('w', { token: it.token(), result: bytes('r') }),
    rows: ['+ items 1 i1 done', '+ turn 1 ended by ack'],
  },
  {
    what: 'Renew',
    given: inHand,
    when: (it) => void it.stage.renew('w', it.token()),
    rows: ['+ turn 1 live items 1 given'],
  },
  { what: 'Renew of a turn that is lost', given: inHand, when: ({ stage }) => void stage.renew('w', 7), rows: [] },
  {
    what: 'Ack',
    given: inHand,
    when: (it) => void it.stage.ack('w', { token: it.token() }),
    rows: ['+ items 1 i1 done', '+ turn 1 ended by ack'],
  },
  {
    what: 'Ack with a follow-up',
    given: inHand,
    when: (it) => void it.stage.ack('w', { token: it.token(), followUps: [{ queue: QUEUE, item: newItem('i2') }] }),
    rows: ['+ items 1 i1 done', '+ items 2 i2 open', '+ turn 1 ended by ack'],
  },
  {
    what: 'Nack, retry',
    given: inHand,
    when: (it) => void nack(it, 'retry'),
    rows: ['+ progress 1 tries 1 back', '+ turn 1 ended by nack'],
  },
  {
    what: 'Nack, release',
    given: inHand,
    when: (it) => void nack(it, 'release'),
    rows: ['+ progress 1 tries 0 back', '+ turn 1 ended by nack'],
  },
  {
    what: 'Nack, dead letter',
    given: inHand,
    when: (it) => void nack(it, 'dead_letter'),
    rows: ['+ progress 1 tries 1 dead refused', '+ turn 1 ended by nack'],
  },
  {
    what: 'Nack, dead letter, and the key parks',
    policy: { onDeadLetter: 'park' },
    given: inHand,
    when: (it) => void nack(it, 'dead_letter'),
    rows: [`+ park ${KEY}`, '+ progress 1 tries 1 dead refused', '+ turn 1 ended by nack'],
  },
  {
    what: 'an item that is done after it was tried before',
    given: (it) => {
      inHand(it);
      nack(it, 'release');
      take(it);
    },
    when: (it) => void it.stage.ack('w', { token: it.token() }),
    rows: ['+ items 1 i1 done', '+ turn 2 ended by ack', '- progress 1'],
  },
  {
    what: 'ResumeKey',
    policy: { onDeadLetter: 'park' },
    given: dead,
    when: (it) => person(it, (now) => it.stage.core.resumeKey(QUEUE, KEY, now)),
    rows: [`- park ${KEY}`],
  },
  {
    what: 'Redrive',
    given: dead,
    when: (it) => person(it, (now) => atOnce(it.stage.core.redrive(all, 1_000, () => now))),
    rows: ['+ progress 1 tries 0 back'],
  },
  {
    what: 'Redrive behind an older one',
    given: (it) => {
      submit(it, 'a', 'b');
      take(it, { maxItemsPerTurn: 2 });
      it.stage.nack('w', { token: it.token(), kind: 'release', done: 0 });
      take(it);
      nack(it, 'dead_letter');
      take(it);
      nack(it, 'dead_letter');
      person(it, (now) => atOnce(it.stage.core.redrive({ ...all, itemIds: ['a'] }, 1_000, () => now)));
    },
    when: (it) => person(it, (now) => atOnce(it.stage.core.redrive(all, 1_000, () => now))),
    rows: ['+ progress 2 tries 0 back rank 1'],
  },
  {
    what: 'Discard of a dead letter',
    given: dead,
    when: (it) => person(it, (now) => atOnce(it.stage.core.discardDead(all, 1_000, () => now))),
    rows: ['+ items 1 i1 discarded', '- progress 1'],
  },
  {
    what: 'EvictHolder',
    given: inHand,
    when: (it) => person(it, (now) => it.stage.core.evictHolder(QUEUE, KEY, now)),
    rows: ['+ progress 1 tries 0 back', '+ turn 1 ended evicted'],
  },
  {
    what: 'the end of a lease',
    given: inHand,
    when: ({ stage }) => stage.pass(20_000),
    rows: ['+ progress 1 tries 1 back', '+ turn 1 ended lease_expired'],
  },
  {
    what: 'the end of a back-off',
    given: both(inHand, (it) => void nack(it, 'retry')),
    when: ({ stage }) => stage.pass(1_500),
    rows: [],
  },
  {
    what: 'PauseQueue',
    when: (it) => person(it, (now) => it.stage.core.pauseQueue(QUEUE, now)),
    given: () => {},
    rows: ['+ pause'],
  },
  {
    what: 'ResumeQueue',
    given: (it) => person(it, (now) => it.stage.core.pauseQueue(QUEUE, now)),
    when: (it) => person(it, (now) => it.stage.core.resumeQueue(QUEUE, now)),
    rows: ['- pause'],
  },
  { what: 'EnQueue', given: () => {}, when: held, rows: ['+ turn 1 live caller given'] },
  {
    what: 'EnQueue that has to wait',
    given: held,
    when: ({ stage }) => void stage.enQueue('d', { wait: 100 }),
    rows: [],
  },
  {
    what: 'EnQueue that is declined',
    given: both(held, ({ stage }) => void stage.enQueue('d', { wait: 100 })),
    when: held,
    rows: [],
  },
  {
    what: 'EnQueue once more with its ticket',
    given: ({ stage }) => void stage.enQueue('c', { ticket: 't' }),
    when: ({ stage }) => void stage.enQueue('c', { ticket: 't' }),
    rows: ['+ turn 1 live caller known'],
  },
  {
    what: 'a waiting caller gets its turn',
    given: both(held, ({ stage }) => void stage.enQueue('d', { wait: 100 })),
    when: (it) => void it.stage.deQueue('c', { holder: { token: it.token() } }),
    rows: ['+ turn 1 ended by dequeue', '+ turn 2 live caller given'],
  },
  {
    what: 'DeQueue with an idempotency key',
    policy: { idempotencyTtl: 60_000 },
    given: ({ stage }) => void stage.enQueue('c', { idempotencyKey: 'once' }),
    when: (it) => void it.stage.deQueue('c', { holder: { token: it.token() } }),
    rows: [`+ key ${KEY}/once`, '+ turn 1 ended by dequeue'],
  },
  {
    what: 'an ACCEPT that is undeliverable, with a ticket',
    given: ({ stage }) => void stage.enQueue('c', { ticket: 't' }),
    when: (it) => it.stage.core.undeliverable([{ queue: QUEUE, key: KEY, token: it.token() }], it.stage.now),
    rows: ['+ turn 1 live caller kept'],
  },
  {
    what: 'an ACCEPT that is undeliverable, without',
    given: held,
    when: (it) => it.stage.core.undeliverable([{ queue: QUEUE, key: KEY, token: it.token() }], it.stage.now),
    rows: ['+ turn 1 ended by dequeue'],
  },
  { what: 'hello', given: () => {}, when: ({ stage, stream }) => void stage.hello('c', stream, 's', 10_000), rows: [] },
  { what: 'a tied turn', given: () => {}, when: tied, rows: ['+ session s', '+ turn 1 live caller given in s'] },
  {
    what: 'a stream breaks',
    given: tied,
    when: ({ stage, stream }) => stage.core.closeStream(stream, stage.now),
    rows: [],
  },
  {
    what: 'a session comes back',
    given: both(tied, ({ stage, stream }) => stage.core.closeStream(stream, stage.now)),
    when: ({ stage }) => void stage.hello('c', okay(stage.open()), 's', 20_000),
    rows: ['+ session s'],
  },
  {
    what: 'the last tied turn of a session ends',
    given: tied,
    when: (it) => void it.stage.deQueue('c', { holder: { token: it.token() } }),
    rows: ['+ turn 1 ended by dequeue', '- session s'],
  },
  {
    what: 'a tied turn is fetched without a stream: its lease begins',
    given: (it) => {
      it.stage.hello('c', it.stream, 's', 10_000);
      it.stage.on = it.stream;
      it.stage.enQueue('c', { ticket: 't' });
    },
    when: ({ stage }) => {
      stage.on = undefined;
      stage.enQueue('c', { ticket: 't' });
    },
    rows: ['+ turn 1 live caller known', '- session s'],
  },
  {
    what: 'the ninth turn of a key: of the first nothing is remembered any more',
    given: (it) => {
      for (let turn = 0; turn < 8; turn++) useOnce(it);
      held(it);
    },
    when: (it) => void it.stage.deQueue('c', { holder: { token: it.token() } }),
    rows: ['+ turn 9 ended by dequeue', '- turn 1'],
  },
  {
    what: 'a key that is forgotten',
    settings: { limits: { idleLanes: 1 } },
    given: useOnce,
    when: ({ stage }) => {
      const other = { queue: 'in-memory', key: 'other' };
      stage.enQueue('c', other);
      stage.deQueue('c', { ...other, holder: { token: stage.explain(other.queue, other.key).holder?.token ?? 0 } });
    },
    rows: ['- turn 1'],
  },
  {
    what: 'results and keys that are over',
    policy: { resultTtl: 1_000, idempotencyTtl: 1_000 },
    given: (it) => {
      it.stage.submit('p', [{ ...item(), idempotencyKey: 'once' }]);
      take(it);
      it.stage.ack('w', { token: it.token() });
    },
    when: ({ stage }) => stage.pass(20_000),
    rows: ['- items 1', `- key ${KEY}/once`],
  },
  { what: 'Await, ExplainKey, ListDeadLetters', given: inHand, when: look, rows: [] },
];

function newItem(itemId: string) {
  return {
    ...item(itemId),
    key: KEY,
    headers: undefined,
    idempotencyKey: undefined,
    delay: 0,
    after: undefined,
    afterUnknown: 'refuse' as const,
  };
}

function useOnce(it: Scene): void {
  held(it);
  it.stage.deQueue('c', { holder: { token: it.token() } });
}

function look({ stage }: Scene): void {
  stage.awaitItem('p', 'i1', 0);
  stage.explain();
  okay(lettersOf(stage.core.listDeadLetters({ queue: QUEUE, key: undefined, pageSize: 10, pageToken: '' }, 1_000)));
}

function play({ given, when }: Case, it: Scene): string[] {
  if (given !== undefined) {
    given(it);
    it.stage.core.collect(it.stage.now);
  }
  when(it);
  return inWords(it.stage.core.collect(it.stage.now).changes);
}

describe('what a step changes on disk', () => {
  for (const one of CASES) it(one.what, () => assert.deepEqual(play(withStart(one), scene(one)), [...one.rows].sort()));
});

/** The start has been written, but for the case that is about it. */
function withStart(one: Case): Case {
  return one.given === undefined && one.what !== 'the start' ? { ...one, given: () => {} } : one;
}

describe('a queue that is not durable changes nothing on disk', () => {
  const memory: readonly { what: string; policy: Partial<Policy>; durable: boolean }[] = [
    { what: 'by its policy', policy: { durable: false }, durable: true },
    { what: 'durability memory', policy: { durability: 'memory' }, durable: true },
    { what: 'without a journal', policy: {}, durable: false },
  ];
  for (const { what, policy, durable } of memory) {
    it(what, () => {
      for (const one of CASES) {
        const it = scene({ ...one, policy: { ...one.policy, ...policy } }, durable);
        assert.deepEqual(play(withStart({ ...one, given: one.given ?? (() => {}) }), it), [], one.what);
        assert.equal(it.stage.core.urgent, false);
      }
    });
  }
});

describe('many changes of one thing are one row', () => {
  it('as it is in the end', () => {
    const it = scene({});
    it.stage.core.collect(it.stage.now);
    submit(it);
    for (let tries = 0; tries < 5; tries++) {
      take(it);
      nack(it, 'release');
    }
    take(it);
    const rows = inWords(it.stage.core.collect(it.stage.now).changes);
    assert.deepEqual(
      rows.filter((row) => !row.includes('ended')),
      ['+ items 1 i1 open', '+ progress 1 tries 0 back', '+ turn 6 live items 1 given'],
    );
    assert.equal(it.stage.core.changes, 0);
  });

  it('a thing that came and went is deleted, which harms nobody', () => {
    const it = scene({ policy: { resultTtl: 1 } });
    it.stage.core.collect(it.stage.now);
    submit(it);
    take(it);
    it.stage.ack('w', { token: it.token() });
    it.stage.pass(20_000);
    assert.deepEqual(inWords(it.stage.core.collect(it.stage.now).changes), ['+ turn 1 ended by ack', '- items 1']);
  });
});

describe('what an item carries', () => {
  const headers = new Map([['h', 'v']]);
  const setUp = () => {
    const it = scene({});
    it.stage.submit('p', [{ itemId: 'i1', payload: bytes('payload'), headers }]);
    return it;
  };

  it('is in its first row, and after that on disk alone', () => {
    const it = setUp();
    const batch = it.stage.core.collect(it.stage.now);
    const row = batch.changes.flatMap((change) =>
      'put' in change && change.put.table === 'items' ? [change.put] : [],
    )[0];
    assert.ok(row?.state === 'open');
    assert.deepEqual(row.content, { payload: bytes('payload'), headers });
    assert.equal(row.contentBytes, 9);
    it.stage.core.written(batch);
    const [delivery] = take(it).value.deliveries;
    assert.deepEqual(delivery?.items[0], {
      itemId: 'i1',
      payload: new Uint8Array(),
      headers: undefined,
      idempotencyKey: undefined,
      submittedAt: delivery?.items[0]?.submittedAt,
      attempt: 1,
      stored: 1,
    });
  });

  it('is handed out from memory as long as it is there', () => {
    const it = setUp();
    const batch = it.stage.core.collect(it.stage.now);
    const [delivery] = take(it).value.deliveries;
    assert.deepEqual([delivery?.items[0]?.payload, delivery?.items[0]?.headers], [bytes('payload'), headers]);
    it.stage.core.written(batch);
    assert.deepEqual(
      batch.items.map(({ payload }) => payload.length),
      [0],
    );
  });

  it('weighs until it is on disk alone, and whoever waits for room gets it then', () => {
    const payload = new Uint8Array(1_000);
    const it = scene({ settings: { limits: { payloadMemoryBytes: 2_000 } } });
    it.stage.submit('p', [{ itemId: 'a', payload }]);
    const batch = it.stage.core.collect(it.stage.now);
    const waits = it.stage.submit('q', [{ itemId: 'b', payload }], QUEUE, 10_000);
    assert.ok(waits.open);
    it.stage.core.written(batch);
    it.stage.pass(1);
    assert.equal(waits.value.results[0]?.decision, 'accept');
    it.stage.core.written(it.stage.core.collect(it.stage.now));
    assert.equal(it.stage.core.stats(it.stage.now).payloadBytes, 2 * (256 + 1));
  });

  it('counts in an answer, wherever it is', () => {
    const it = scene({ settings: { limits: { answerBytes: 3_000 } } });
    it.stage.submit(
      'p',
      ['a', 'b', 'c'].map((itemId) => ({ itemId, payload: new Uint8Array(1_000) })),
    );
    it.stage.core.written(it.stage.core.collect(it.stage.now));
    const [delivery] = take(it, { maxItemsPerTurn: 10 }).value.deliveries;
    assert.deepEqual(
      delivery?.items.map(({ itemId }) => itemId),
      ['a', 'b'],
    );
  });

  it('tells a resend from another item, wherever it is', () => {
    const it = setUp();
    it.stage.core.written(it.stage.core.collect(it.stage.now));
    it.stage.submit('again', [{ itemId: 'i1', payload: bytes('payload'), headers }]);
    it.stage.submit('other', [{ itemId: 'i1', payload: bytes('other'), headers }]);
    assert.deepEqual(it.stage.told.slice(-2), ['again ACCEPT', 'other BAD_REQUEST']);
  });
});
