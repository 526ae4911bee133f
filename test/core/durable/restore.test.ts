/** What a restart finds, in cases; that it finds everything: `restore-property.test.ts`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { bytes, KEY, newItem, QUEUE } from '../../support/builders.js';
import { recount } from '../../support/recount.js';
import { atOnce, lettersOf, okay, runThrough } from '../stage.js';
import { inWords } from './in-words.js';
import { DURABLE, Lives } from './reborn.js';

const HOUR = 3_600_000;

function durable(policy: object) {
  return new Lives({ queues: { [QUEUE]: { durable: true, ...policy } } });
}

/** A caller holds the key; flushed. @returns its token */
function held(lives: Lives, change: object = {}): number {
  const answer = lives.stage.enQueue('c', change).value;
  lives.flush();
  assert.ok(answer.decision === 'accept');
  return answer.turn.token;
}

function submitted(lives: Lives, ...ids: readonly string[]): void {
  lives.stage.submit(
    'p',
    ids.map((itemId) => ({ itemId, payload: bytes(itemId) })),
  );
}

function taken(lives: Lives, change: object = {}): number {
  const [delivery] = lives.stage.acquire('w', change).value.deliveries;
  assert.ok(delivery !== undefined);
  return delivery.turn.token;
}

describe('a live turn', () => {
  it('has what was left of its lease at the last write, however long the process was away', () => {
    const lives = durable({ lease: 20_000 });
    lives.stage.pass(1);
    lives.stage.enQueue('c');
    lives.stage.pass(5_000);
    lives.flush();
    lives.restart({ away: HOUR });
    lives.stage.pass(14_999);
    assert.equal(lives.stage.explain().holder?.leaseLeft, 1);
    lives.stage.pass(1);
    assert.equal(lives.stage.explain().state, 'INIT');
  });

  it('ends at a whole ms, never earlier', () => {
    const lives = durable({ lease: 20_000 });
    held(lives);
    lives.restart({ now: 300.4 });
    assert.equal(300.4 + (lives.stage.explain().holder?.leaseLeft ?? 0), 20_301);
  });

  it('is none the worse for a second crash right after', () => {
    const lives = durable({ lease: 20_000 });
    held(lives);
    lives.restart({ away: HOUR });
    lives.flush();
    lives.restart({ away: HOUR });
    assert.ok((lives.stage.explain().holder?.leaseLeft ?? 0) >= 20_000);
  });

  it('also if the wall clock was set back meanwhile', () => {
    const lives = durable({ lease: 20_000 });
    held(lives);
    lives.restart({ wallStep: -HOUR });
    assert.equal(lives.stage.explain().holder?.leaseLeft, 20_000);
  });

  it('lives longer than its own lease if it was renewed so', () => {
    const lives = durable({ lease: 1_000 });
    const token = held(lives);
    const request = { turns: [{ queue: QUEUE, key: KEY, token }], lease: 60_000 };
    lives.stage.core.renew(request, { answer: () => true, refuse: () => {} }, lives.stage.now);
    lives.flush();
    lives.restart();
    assert.equal(lives.stage.explain().holder?.leaseLeft, 60_000);
  });

  it('ends at what was left of max_hold, renewed or not', () => {
    const lives = durable({ lease: 20_000, maxHold: 30_000 });
    const token = held(lives);
    lives.stage.pass(12_000);
    lives.stage.renew('c', token);
    lives.flush();
    lives.restart({ away: HOUR });
    lives.stage.pass(5_000);
    lives.stage.renew('c', token);
    assert.equal(lives.stage.explain().holder?.leaseLeft, 13_000);
  });

  it('S103: told again by its ticket, it lives no longer than what was left of max_hold', () => {
    const lives = durable({ lease: 20_000, maxHold: 30_000 });
    held(lives, { ticket: 't' });
    lives.stage.pass(12_000);
    lives.flush();
    lives.restart({ away: HOUR });
    const { value } = lives.stage.enQueue('c', { ticket: 't' });
    assert.ok(value.decision === 'accept');
    assert.equal(value.turn.lease, 18_000);
  });

  it('is renewed, settled and kept from others by its token and its ticket as before', () => {
    const lives = durable({});
    const token = held(lives, { ticket: 't' });
    lives.restart();
    const { stage } = lives;
    stage.enQueue('d', { wait: 0 });
    stage.renew('c', token);
    stage.enQueue('c', { ticket: 't' });
    stage.deQueue('c', { holder: { token } });
    stage.deQueue('c', { holder: { token } });
    assert.deepEqual(stage.told, ['d BLOCK ahead 1', 'c ALIVE', 'c ACCEPT', 'c OK', 'c OK']);
  });

  it('that is held for a ticket waits for it on', () => {
    const lives = durable({ ticketTtl: 10_000 });
    const token = held(lives, { ticket: 't' });
    lives.stage.core.undeliverable([{ queue: QUEUE, key: KEY, token }], lives.stage.now);
    lives.stage.pass(4_000);
    lives.flush();
    lives.restart({ away: HOUR });
    assert.equal(lives.stage.explain().holder?.heldForTicket, 't');
    lives.stage.pass(5_999);
    assert.equal(lives.stage.explain().state, 'PROCESS');
    lives.stage.enQueue('c', { ticket: 't' });
    assert.equal(lives.stage.explain().holder?.heldForTicket, undefined);
    assert.equal(lives.stage.explain().holder?.leaseLeft, 20_000);
  });

  it('of dispatch is told again to its ticket, with its items', () => {
    const lives = durable({});
    submitted(lives, 'a', 'b');
    const token = taken(lives, { ticket: 't', maxItemsPerTurn: 2 });
    lives.flush();
    lives.restart();
    const [again] = lives.stage.acquire('w', { ticket: 't' }).value.deliveries;
    assert.deepEqual(
      [again?.turn.token, again?.items.map(({ itemId, stored }) => [itemId, stored])],
      [
        token,
        [
          ['a', 1],
          ['b', 2],
        ],
      ],
    );
  });

  it('that was adopted from a run before is one on', () => {
    const lives = new Lives({ queues: { [QUEUE]: { durable: true, minInterval: 60_000 } }, startupHold: 60_000 });
    lives.stage.renew('c', 5);
    lives.flush();
    lives.restart();
    lives.stage.ack('c', { token: 5 });
    assert.deepEqual(lives.stage.told, ['c OK']);
    assert.equal(lives.stage.explain().state, 'INIT', 'when it started is not known');
  });

  it('S29: is not made of a token that nothing is known of, when all that were live are known', () => {
    const lives = new Lives({ queues: { [QUEUE]: { durable: true } }, startupHold: 60_000 });
    lives.flush();
    lives.restart();
    lives.stage.renew('c', 5, QUEUE, 'other');
    lives.stage.ack('c', { key: 'other', token: 5 });
    const { told } = lives.stage;
    assert.deepEqual(told, ['c LOST unknown', 'c TURN_LOST unknown']);
  });

  it('lives on without its items if those were in memory only, and may be settled', () => {
    const lives = durable({});
    lives.stage.submit(
      'p',
      [
        { itemId: 'a', key: '' },
        { itemId: 'b', key: '' },
      ],
      QUEUE,
      0,
      'memory',
    );
    const tokens = [taken(lives), taken(lives)];
    lives.flush();
    lives.restart();
    const { stage } = lives;
    stage.awaitItem('p', 'a', 0);
    for (const token of tokens) stage.ack('w', { key: '', token });
    for (const token of tokens) stage.ack('w', { key: '', token });
    assert.deepEqual(stage.told, ['p unknown', 'w OK', 'w OK', 'w OK', 'w OK']);
  });
});

describe('a session', () => {
  function tied(lives: Lives): void {
    const stream = okay(lives.stage.open());
    lives.stage.hello('c', stream, 's', 10_000);
    lives.stage.on = stream;
    held(lives);
  }

  it('has its whole ttl from the start on, and takes its turns back', () => {
    const lives = durable({ lease: 1_000 });
    tied(lives);
    lives.restart({ away: HOUR });
    lives.stage.pass(9_999);
    const hello = lives.stage.hello('c', okay(lives.stage.open()), 's', 10_000);
    assert.equal(hello.value.turnCount, 1);
    lives.stage.pass(HOUR);
    assert.equal(lives.stage.explain().state, 'PROCESS');
  });

  it('ends with its turns if nobody comes for it', () => {
    const lives = durable({ lease: HOUR });
    tied(lives);
    lives.restart();
    lives.stage.pass(9_999);
    assert.equal(lives.stage.explain().state, 'PROCESS');
    lives.stage.pass(1);
    assert.equal(lives.stage.explain().state, 'INIT');
    lives.flush();
    assert.deepEqual(
      lives.disk.rows().flatMap(({ table }) => (table === 'sessions' ? table : [])),
      [],
    );
  });

  it('that was over, with turns that had not ended yet: they end by their leases', () => {
    const lives = durable({ lease: 20_000 });
    const stream = okay(lives.stage.open());
    lives.stage.hello('c', stream, 's', 10_000);
    lives.stage.on = stream;
    for (const key of ['a', 'b', 'c']) lives.stage.enQueue('c', { key });
    lives.stage.core.closeStream(stream, lives.stage.now);
    lives.flush();
    lives.stage.now += 10_000;
    // The first of them ends, and the session is known no more.
    while (lives.stage.core.liveTurns === 3) assert.ok(lives.stage.core.tick(lives.stage.now, 1));
    lives.flush();
    lives.restart();
    assert.equal(lives.stage.queue()?.liveTurns, 2);
    lives.stage.pass(20_000);
    assert.equal(lives.stage.queue()?.liveTurns, 0);
  });
});

describe('what waits', () => {
  const failed = () => {
    const lives = durable({ retry: { maxAttempts: 5, initial: 60_000, factor: 1, max: 60_000, jitter: 'none' } });
    submitted(lives, 'a');
    const token = taken(lives);
    lives.stage.nack('w', { token });
    lives.stage.pass(20_000);
    lives.flush();
    return lives;
  };
  const cases: readonly { what: string; away: number; wallStep: number; left: number }[] = [
    { what: 'as long as it would have', away: 30_000, wallStep: 0, left: 10_000 },
    { what: 'not at all if its time is over', away: HOUR, wallStep: 0, left: 0 },
    { what: 'no longer than was left, if the wall clock was set back', away: 30_000, wallStep: -HOUR, left: 40_000 },
    { what: 'not at all if the wall clock was set far ahead', away: 0, wallStep: HOUR, left: 0 },
  ];
  for (const { what, away, wallStep, left } of cases) {
    it(`for its back-off: ${what}`, () => {
      const lives = failed();
      lives.restart({ away, wallStep });
      assert.equal(lives.stage.explain().state, left > 0 ? 'DELAY' : 'READY');
      if (left === 0) return;
      lives.stage.pass(left - 1);
      assert.equal(lives.stage.explain().state, 'DELAY');
      lives.stage.pass(1);
      assert.equal(lives.stage.explain().state, 'READY');
    });
  }

  it('does not wait longer each time the wall clock is set back', () => {
    const lives = failed();
    lives.restart({ wallStep: -HOUR });
    lives.stage.pass(30_000);
    lives.flush();
    lives.restart({ wallStep: -HOUR });
    lives.stage.pass(10_001);
    assert.equal(lives.stage.explain().state, 'READY');
  });

  it('for min_interval goes on to do so', () => {
    const lives = durable({ minInterval: 10_000 });
    const token = held(lives);
    lives.stage.pass(2_000);
    lives.stage.deQueue('c', { holder: { token } });
    lives.flush();
    lives.restart({ away: 3_000 });
    assert.equal(lives.stage.explain().state, 'DELAY');
    lives.stage.pass(5_000);
    assert.equal(lives.stage.explain().state, 'INIT');
  });

  it('knows how often its worker crashed', () => {
    const lives = durable({ lease: 1_000, retry: { ...BUILT_IN_POLICY.retry, initial: 0, max: 0, maxCrashes: 3 } });
    submitted(lives, 'a');
    for (const left of [1, 1, 0]) {
      taken(lives);
      lives.stage.pass(1_000);
      lives.flush();
      lives.restart();
      assert.equal(lives.stage.explain().line.length, left);
    }
    assert.equal(lives.stage.explain().deadLetters, 1);
  });

  it('comes in its order, whatever came back first', () => {
    const lives = durable({});
    submitted(lives, 'a', 'b', 'c', 'd');
    for (const id of ['a', 'b']) {
      lives.stage.nack('w', { token: taken(lives), kind: 'dead_letter' });
      assert.equal(lives.stage.explain().deadLetters, id === 'a' ? 1 : 2);
    }
    const redrive = (id: string) =>
      atOnce(lives.stage.core.redrive({ queue: QUEUE, key: undefined, itemIds: [id] }, 1_000, () => lives.stage.now));
    redrive('a');
    redrive('b');
    lives.flush();
    lives.restart();
    assert.deepEqual(
      lives.stage.explain().line.map(({ id }) => id),
      ['a', 'b', 'c', 'd'],
    );
  });

  it('among callers that are gone keeps its order', () => {
    const lives = durable({});
    submitted(lives, 'a', 'b');
    const token = taken(lives, { maxItemsPerTurn: 1 });
    const second = { queues: [QUEUE], key: KEY, wait: 60_000 };
    lives.stage.acquire('x', second);
    submitted(lives, 'c');
    lives.stage.nack('w', { token, kind: 'release' });
    lives.flush();
    lives.restart();
    assert.deepEqual(
      lives.stage.explain().line.map(({ id }) => id),
      ['a', 'b', 'c'],
    );
  });
});

describe('what is remembered', () => {
  it('is the outcome of a repeated call, for the last 8 settlements of a key', () => {
    const lives = durable({ lease: HOUR });
    const tokens: number[] = [];
    for (let turn = 0; turn < 9; turn++) {
      const token = held(lives);
      tokens.push(token);
      lives.stage.deQueue('c', { holder: { token } });
    }
    lives.flush();
    lives.restart();
    for (const token of tokens) lives.stage.deQueue('c', { holder: { token } });
    assert.deepEqual(lives.stage.told, ['c TURN_LOST unknown', ...Array.from({ length: 8 }, () => 'c OK')]);
  });

  it('are the follow-ups of the last Ack, and not on disk either those of one before', () => {
    const lives = durable({});
    submitted(lives, 'a', 'b');
    const settle = (followUp: string) => {
      const token = taken(lives);
      return { token, answer: settled(token, followUp) };
    };
    const settled = (token: number, followUp: string) => {
      const item = {
        key: 'other',
        payload: bytes(''),
        headers: undefined,
        itemId: followUp,
        idempotencyKey: undefined,
      };
      const followUps = [
        { queue: QUEUE, item: { ...item, delay: HOUR, after: undefined, afterUnknown: 'refuse' as const } },
      ];
      const answer = lives.stage.ack('w', { token, followUps }).value;
      lives.flush();
      return answer;
    };
    const [first, last] = [settle('f1'), settle('f2')];
    const kept = lives.disk
      .rows()
      .flatMap((row) =>
        row.table === 'tokens' && row.state === 'ended' && row.ending.ended === 'settled' && row.ending.call === 'ack'
          ? [row.ending.followUps?.length]
          : [],
      );
    assert.deepEqual(kept, [undefined, 1]);
    lives.restart();
    assert.deepEqual(lives.stage.ack('w', { token: last.token }).value, last.answer);
    assert.deepEqual(settled(first.token, 'f1'), first.answer, 'accepted, by the id of the request');
  });

  it('are the follow-ups of an Ack behind which turns reached nobody, or were acked', () => {
    const lives = durable({});
    submitted(lives, 'i', 'j');
    const token = taken(lives);
    const followUps = [{ queue: QUEUE, item: newItem({ itemId: 'after', payload: bytes('') }) }];
    const ack = () => lives.stage.ack('w', { token, followUps });
    const first = ack().value;
    const [behind] = lives.stage.acquire('w').value.deliveries;
    assert.ok(behind);
    lives.stage.core.undeliverable([behind.turn], lives.stage.now);
    lives.stage.ack('w', { token: taken(lives) });
    for (let times = 0; times < 2; times++) {
      lives.flush();
      lives.restart();
      assert.deepEqual(ack().value, first);
    }
  });

  it('are results until they are over by the wall clock, which then are deleted', () => {
    const lives = durable({ resultTtl: 60_000 });
    submitted(lives, 'a', 'b');
    lives.stage.ack('w', { token: taken(lives), result: bytes('r') });
    lives.stage.pass(30_000);
    lives.stage.ack('w', { token: taken(lives), result: bytes('r') });
    lives.flush();
    lives.restart({ away: 40_000 });
    for (const id of ['a', 'b']) lives.stage.awaitItem(id, id, 0);
    assert.deepEqual(lives.stage.told, ['a unknown', 'b done']);
    lives.flush();
    assert.deepEqual(
      lives.disk.rows().flatMap((row) => (row.table === 'items' ? [row.id] : [])),
      ['b'],
    );
  });

  it('is forgotten in the order of its age where it is too much', () => {
    const lives = durable({ maxRemembered: 3 });
    submitted(lives, 'c', 'a', 'b');
    for (let turn = 0; turn < 3; turn++) lives.stage.ack('w', { token: taken(lives) });
    lives.flush();
    lives.restart({ change: { queues: { [QUEUE]: { durable: true, maxRemembered: 2 } } } });
    for (const id of ['c', 'a', 'b']) lives.stage.awaitItem(id, id, 0);
    assert.deepEqual(lives.stage.told, ['c unknown', 'a done', 'b done']);
    assert.ok(inWords(lives.stage.core.collect(lives.stage.now).changes).includes('- items 1'));
  });

  it('is who may not be sent again: ids that were made here', () => {
    const lives = durable({});
    const id = lives.stage.submit('p', [{}]).value.results[0]?.itemId ?? '';
    lives.flush();
    lives.restart();
    const another = lives.stage.submit('p', [{}]).value.results[0]?.itemId ?? '';
    assert.notEqual(another, id);
    lives.stage.ack('w', { token: taken(lives) });
    lives.stage.submit('p', [{ itemId: id }]);
    assert.equal(lives.stage.told.at(-1), 'p BAD_REQUEST');
    lives.stage.awaitItem('p', id, 0);
    assert.equal(lives.stage.told.at(-1), 'p done');
  });
});

describe('tokens', () => {
  it('grow, also if the wall clock was set back by years', () => {
    const lives = durable({});
    const first = held(lives);
    lives.restart({ wallStep: -300 * 24 * HOUR });
    lives.stage.deQueue('c', { holder: { token: first } });
    assert.ok(held(lives) > first);
  });

  it('have to be known before any queue is made', () => {
    const { core } = new Lives().stage;
    const row = { table: 'floor', token: Number.MAX_SAFE_INTEGER } as const;
    assert.throws(() => core.restore([row], 5_000, { lastWrite: 1 }), /tokenFloor/);
  });
});

describe('a queue that is not durable any more', () => {
  const NOT_DURABLE = { queues: { [QUEUE]: {} } };
  const full = () => {
    const lives = durable({});
    submitted(lives, 'a', 'b', 'c');
    lives.stage.nack('w', { token: taken(lives), kind: 'dead_letter' });
    taken(lives);
    lives.flush();
    return lives;
  };

  it('with items, dead letters or live turns is named, and nothing of it is touched', () => {
    const lives = full();
    const rows = lives.disk.rows();
    assert.deepEqual(lives.restart({ change: NOT_DURABLE }), [
      { queue: QUEUE, items: 2, deadLetters: 1, liveTurns: 1 },
    ]);
    assert.deepEqual(lives.disk.rows(), rows);
    assert.deepEqual(lives.restart({ change: DURABLE }), []);
    assert.equal(lives.stage.explain().state, 'BLOCK');
  });

  it('also one that may not be made any more', () => {
    const lives = new Lives({ queues: { made: { durable: true } } });
    lives.stage.submit('p', [{ itemId: 'a' }], 'made');
    lives.flush();
    const stranded = lives.restart({ change: { queues: {}, autoCreate: false } as object });
    assert.deepEqual(stranded, [{ queue: 'made', items: 1, deadLetters: 0, liveTurns: 0 }]);
  });

  it('of which only something is remembered loses that', () => {
    const lives = durable({ idempotencyTtl: HOUR });
    const token = held(lives, { idempotencyKey: 'once' });
    lives.stage.deQueue('c', { holder: { token } });
    submitted(lives, 'a');
    lives.stage.ack('w', { token: taken(lives) });
    lives.stage.core.pauseQueue(QUEUE, lives.stage.now);
    lives.flush();
    assert.deepEqual(lives.restart({ change: NOT_DURABLE }), []);
    lives.flush();
    assert.deepEqual(
      lives.disk.rows().map(({ table }) => table),
      ['floor'],
    );
  });
});

describe('people', () => {
  it('page through keys that began before the start', () => {
    const lives = durable({});
    for (const key of ['a', 'b', 'c']) {
      lives.stage.enQueue('c', { key });
      lives.stage.pass(10);
    }
    lives.flush();
    lives.restart();
    const seen: string[] = [];
    let pageToken = '';
    do {
      const request = { queue: QUEUE, state: undefined, pageSize: 1, pageToken };
      const scan = okay(lives.stage.core.listKeys(request, 10));
      assert.ok(scan !== undefined);
      const page = runThrough(scan);
      seen.push(...page.keys.map(({ key }) => key));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    assert.deepEqual(seen, ['a', 'b', 'c']);
  });

  it('find a queue paused, a key parked, and dead letters with their causes', () => {
    const lives = durable({ onDeadLetter: 'park' });
    submitted(lives, 'a', 'b');
    lives.stage.nack('w', { token: taken(lives), kind: 'dead_letter', error: 'broken' });
    lives.stage.core.pauseQueue(QUEUE, lives.stage.now);
    // The headers, and the trace in them, are on the disk then: whoever has it reads them (S436).
    const explained = () => {
      const { line, ...rest } = lives.stage.explain();
      return { ...rest, line: line.map(({ stored: _stored, traceparent: _traceparent, ...entry }) => entry) };
    };
    const before = explained();
    lives.flush();
    lives.restart({ away: HOUR });
    assert.deepEqual(explained(), before);
    assert.deepEqual(
      lives.stage.explain().line.map(({ id, stored }) => [id, stored]),
      [['b', 2]],
    );
    assert.equal(lives.stage.queue()?.paused, true);
    const page = okay(
      lettersOf(lives.stage.core.listDeadLetters({ queue: QUEUE, key: undefined, pageSize: 9, pageToken: '' }, 1_000)),
    );
    assert.deepEqual(
      page.deadLetters.map(({ item, cause, lastError, attempts }) => [
        item.itemId,
        item.stored,
        cause,
        lastError,
        attempts,
      ]),
      [['a', 1, 'refused', 'broken', 1]],
    );
  });
});

describe('an item handed out at most once, whose turn lives though that it is done is forgotten', () => {
  it('is not done again after a restart when another of its id waits', () => {
    const lives = durable({ delivery: 'at_most_once', maxRemembered: 1, minInterval: 1, lease: 60_000 });
    submitted(lives, 'x');
    taken(lives);
    // For this one it is forgotten; then nobody got this one.
    lives.stage.submit('p', [{ itemId: 'y', key: 'y' }]);
    const token = taken(lives);
    lives.stage.core.undeliverable([{ queue: QUEUE, key: 'y', token }], lives.stage.now);
    lives.stage.submit('p', [{ itemId: 'x', key: '', payload: bytes('x') }]);
    lives.flush();
    lives.restart();
    recount(lives.stage.core.inside, lives.stage.now);
    assert.equal(lives.stage.core.inside.queues.get(QUEUE)?.finished.size, 0);
  });
});
