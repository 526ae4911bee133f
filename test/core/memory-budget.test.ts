/** S600 to S604: one budget of memory for everything that is held. */
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AckAnswer, Refusal } from '../../src/coordinator.js';
import { SharedUse } from '../../src/core/core.js';
import { COSTS, TURN_COST } from '../../src/core/state/held.js';
import { Random } from '../../src/core/structures/random.js';
import * as build from '../support/builders.js';
import type { Call } from '../support/call.js';
import { recount } from '../support/recount.js';
import { recountShared } from '../support/recount-shared.js';
import { Stage } from './stage.js';

const HOUR = 3_600_000;
/** One queue, and nothing else. */
const EMPTY = COSTS.queue;
/** A turn of `k`, by `worker`. */
const TURN = TURN_COST + 'k'.length + 'worker'.length;

function stageWith(more: number, policy = {}): Stage {
  return new Stage({ queues: { [build.QUEUE]: policy }, limits: { memoryBytes: EMPTY + more }, autoCreate: false });
}

function full(call: { readonly refusal: Refusal }): void {
  const { refusal } = call;
  ok(refusal.kind === 'memory_full' && refusal.subject === 'memory_bytes', JSON.stringify(refusal));
  match(refusal.description, /limits\.memory_bytes allows/);
}

function held(stage: Stage): number {
  recount(stage.core.inside, stage.now);
  return stage.core.inside.memoryBytes - EMPTY;
}

function tokenOf(call: ReturnType<Stage['enQueue']>): number {
  ok(call.value.decision === 'accept');
  return call.value.turn.token;
}

describe('S600: what would hold more than limits.memory_bytes is refused', () => {
  it('a turn, to the byte', () => {
    const stage = stageWith(TURN);
    strictEqual(stage.enQueue('worker').value.decision, 'accept');
    const tooLarge = stageWith(TURN - 1);
    full(tooLarge.enQueue('worker'));
    strictEqual(tooLarge.queue()?.liveTurns, 0);
  });

  it('an Await that waits, to the byte', () => {
    const submitted = () => {
      const stage = stageWith(10_000);
      stage.submit('s', [{ itemId: 'i', key: 'k' }]);
      return held(stage);
    };
    const more = COSTS.await_item + 2 * 'i'.length;
    for (const [room, fits] of [
      [more, true],
      [more - 1, false],
    ] as const) {
      const stage = stageWith(submitted() + room);
      stage.submit('s', [{ itemId: 'i', key: 'k' }]);
      const call = stage.awaitItem('a', 'i', HOUR);
      if (fits) ok(call.open);
      else full(call);
      held(stage);
    }
  });

  it('a caller, an Acquire and an Await that would wait, but not what is answered at once', () => {
    const stage = stageWith(TURN + 600, { waitingPerKey: 'unlimited' });
    stage.enQueue('worker');
    full(stage.acquire('a', { wait: HOUR, ticket: 't' }));
    deepStrictEqual(stage.acquire('b').value.deliveries, []);
    stage.enQueue('c', { wait: HOUR, ticket: undefined });
    full(stage.enQueue('d', { wait: HOUR }));
    strictEqual(stage.enQueue('e', { wait: 0 }).value.decision, 'block');
    held(stage);
  });

  it('items by their keys, and items that are known need nothing', () => {
    const stage = stageWith(3_000);
    const first = { key: 'a'.repeat(1_000), itemId: 'known' };
    strictEqual(stage.submit('s', [first]).value.results[0]?.decision, 'accept');
    full(stage.submit('s', [{ key: 'b'.repeat(1_000) }, { key: 'c'.repeat(1_000) }]));
    strictEqual(stage.submit('s', [first]).value.results[0]?.decision, 'accept');
    strictEqual(stage.queue()?.waitingItems, 1);
    held(stage);
  });

  it('a batch that could never be held is a mistake of the request', () => {
    const { refusal } = stageWith(1_000).submit(
      's',
      Array.from({ length: 100 }, () => ({ key: 'k' })),
    );
    ok(refusal.kind === 'bad_request' && refusal.violations[0]?.description.includes('limits.memory_bytes'));
  });

  it('a session that is new, from five sixteenths beyond it on; one that comes back is not', () => {
    const stage = stageWith(100);
    const opened = () => {
      const stream = stage.open();
      ok(stream.ok);
      return stream.value;
    };
    const hello = (id: string) => stage.hello('h', opened(), id, HOUR);
    strictEqual(hello('same').value.sessionId, 'same');
    let sessions = 1;
    for (
      ;
      held(stage) + EMPTY + COSTS.stream + COSTS.session + 'other-0'.length <= ((EMPTY + 100) * 21) / 16;
      sessions++
    )
      ok(hello(`other-${sessions % 10}${'x'.repeat(sessions / 10)}`).value.sessionId !== '');
    ok(sessions > 3);
    full(hello('one-more'));
    strictEqual(hello('same').value.sessionId, 'same');
    held(stage);
  });

  it('but what takes work out goes on: each Ack hands on as much as it ends, at a full budget', () => {
    const stage = stageWith(60_000, { waitingPerKey: 'unlimited' });
    const item = (at: number) => ({ key: `k${at}`, payload: Buffer.alloc(1_000) });
    // A batch of that many fits, one more does not.
    const items = Math.floor(60_000 / (1_256 + TURN_COST + 'k00'.length + 'k00'.length));
    stage.submit(
      's',
      Array.from({ length: items }, (_, at) => item(at)),
    );
    full(
      stage.submit(
        't',
        Array.from({ length: 3 }, (_, at) => item(items + at)),
      ),
    );
    // Each turn keeps the name of its worker besides.
    const { deliveries } = stage.acquire('a', { maxTurns: items, consumerId: 'w'.repeat(100) }).value;
    strictEqual(deliveries.length, items);
    ok(held(stage) > 60_000);
    for (const [at, { turn }] of deliveries.entries()) {
      const { key, token } = turn;
      const followUps = [
        { queue: build.QUEUE, item: build.newItem({ ...item(at), key: `next-${'n'.repeat(40)}-${at}` }) },
      ];
      strictEqual(stage.ack(`ack${at}`, { key, token, followUps }).value.followUps.length, 1);
    }
    held(stage);
  });

  it('follow-ups of an Ack, and the turn goes on', () => {
    const stage = stageWith(TURN + 900);
    const token = tokenOf(stage.enQueue('worker'));
    const followUps = [{ queue: build.QUEUE, item: build.newItem({ key: 'n'.repeat(1_000) }) }];
    full(stage.ack('a', { token, followUps }));
    strictEqual(stage.queue()?.liveTurns, 1);
    strictEqual(stage.ack('a', { token }).value.followUps.length, 0);
    held(stage);
  });
});

describe('S601: what can be forgotten gives way first', () => {
  it('idle keys, the least recently used first', () => {
    const stage = stageWith(3 * TURN);
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      const token = tokenOf(stage.enQueue('worker', { key }));
      stage.deQueue('worker', { key, holder: { token } });
    }
    deepStrictEqual(
      [...stage.core.inside.queues.values()].flatMap(({ lanes }) => [...lanes.values()].map(({ key }) => key)),
      ['c', 'd', 'e'],
    );
    strictEqual(held(stage), 3 * TURN);
  });

  it('the idle key that is asked for is no victim of its own', () => {
    const most = TURN + 8 * COSTS.settlement + 'worker'.length;
    const stage = stageWith(most);
    for (let round = 0; round < 9; round++) {
      const token = tokenOf(stage.enQueue('worker'));
      stage.deQueue('worker', { holder: { token } });
      ok(held(stage) <= most);
    }
  });

  it('results, and what is remembered of items and idempotency keys', () => {
    const stage = stageWith(8_000, { idempotencyTtl: HOUR });
    for (let at = 0; at < 40; at++) {
      stage.submit('s', [{ key: '', itemId: `i${at}`, idempotencyKey: `x${at}` }]);
      const [delivery] = stage.acquire('w').value.deliveries;
      ok(delivery !== undefined, `${at} was given`);
      stage.ack('w', { key: '', token: delivery.turn.token, result: new Uint8Array(500) });
      ok(held(stage) <= 8_000);
    }
    strictEqual(stage.awaitItem('w', 'i39', 0).value.state, 'done');
    strictEqual(stage.awaitItem('w', 'i0', 0).value.state, 'unknown');
  });
});

describe('S602: what ends something is never refused', () => {
  it('an error is cut, or left out', () => {
    const stage = stageWith(TURN + 600);
    stage.submit('s', [{ itemId: 'i' }]);
    const [delivery] = stage.acquire('worker').value.deliveries;
    ok(delivery !== undefined);
    stage.nack('n', { token: delivery.turn.token, error: 'e'.repeat(8_000), kind: 'dead_letter' });
    const [letter] = [...(stage.core.inside.queues.get(build.QUEUE)?.deadLetters.values() ?? [])];
    ok(letter !== undefined && (letter.item.lastError?.length ?? 0) < 600);
    held(stage);
  });

  it('results of follow-ups that do not fit are not kept: a repeated Ack is accepted all the same', () => {
    const other = { waitingPerKey: 1, whenFull: 'decline' } as const;
    const limits = { memoryBytes: 2 * EMPTY + 4_000 };
    const stage = new Stage({ queues: { [build.QUEUE]: {}, other }, limits });
    const token = tokenOf(stage.enQueue('worker'));
    const followUps = Array.from({ length: 5 }, (_, at) => ({
      queue: 'other',
      item: build.newItem({ itemId: `i${at}` }),
    }));
    const decisions = (call: Call<AckAnswer>) => call.value.followUps.map(({ decision }) => decision);
    deepStrictEqual(decisions(stage.ack('a', { token, followUps })), ['accept', ...Array(4).fill('decline')]);
    recount(stage.core.inside, stage.now);
    deepStrictEqual(decisions(stage.ack('a', { token, followUps })), ['accept', ...Array(4).fill('decline')]);
    const more = Array.from({ length: 60 }, () => ({ queue: 'other', item: build.newItem() }));
    const second = tokenOf(stage.enQueue('worker'));
    strictEqual(stage.ack('a', { token: second, followUps: more }).value.followUps.length, 60);
    recount(stage.core.inside, stage.now);
    deepStrictEqual(decisions(stage.ack('a', { token: second, followUps: more })), Array(60).fill('accept'));
  });
});

describe('S603: a Submit that waits for memory', () => {
  it('is let in when something ends that holds some', () => {
    const stage = stageWith(TURN + 1_540);
    const token = tokenOf(stage.enQueue('worker'));
    const waits = stage.submit('s', [{ key: 'n'.repeat(900) }], build.QUEUE, HOUR);
    ok(waits.open);
    held(stage);
    stage.deQueue('worker', { holder: { token } });
    strictEqual(waits.value.results[0]?.decision, 'accept');
    held(stage);
  });

  it('is refused as memory_full when its wait ends', () => {
    const stage = stageWith(TURN + 1_540);
    stage.enQueue('worker');
    const waits = stage.submit('s', [{ key: 'n'.repeat(900) }], build.QUEUE, 1_000);
    stage.pass(1_000);
    full(waits);
  });
});

it('S604: several cores of a process share the budget', () => {
  const shared = new SharedUse();
  const limits = { memoryBytes: 2 * EMPTY + TURN };
  const [one, other] = [new Stage({ limits }), new Stage({ limits })];
  for (const { core } of [one, other]) core.join(shared, () => undefined);
  const token = tokenOf(one.enQueue('worker'));
  full(other.enQueue('worker'));
  recountShared(shared, [one, other]);
  one.deQueue('worker', { holder: { token } });
  // Its idle key gives way with its next step.
  one.core.leave(shared);
  strictEqual(other.enQueue('worker').value.decision, 'accept');
});

describe('whatever is asked in whatever order', () => {
  for (let seed = 1; seed <= 12; seed++)
    it(`seed ${seed}: what is held is as it is counted, and within the budget`, () => {
      const random = new Random(seed);
      const pick = (most: number) => Math.floor(random.next() * most);
      const stage = stageWith(4_000, { idempotencyTtl: 5_000, resultTtl: 5_000, waitingPerKey: 'unlimited' });
      const tokens: { readonly key: string; readonly token: number }[] = [];
      for (let step = 0; step < 400; step++) {
        const key = `k${pick(8)}`;
        const name = 'n'.repeat(pick(40));
        const mine = tokens.splice(pick(tokens.length + 1), 1)[0] ?? { key, token: 1 };
        const act = pick(8);
        if (act === 0) {
          const call = stage.enQueue('c', { key, ticket: `t${name}`, idempotencyKey: name, wait: pick(2) * 2_000 });
          if (call.outcome !== undefined && 'answer' in call.outcome && call.value.decision === 'accept')
            tokens.push({ key, token: call.value.turn.token });
        } else if (act < 3)
          stage.submit('s', [{ key, itemId: `i${pick(60)}`, idempotencyKey: `x${key}` }], build.QUEUE, pick(2) * 3_000);
        else if (act === 3) {
          const call = stage.acquire('a', { wait: pick(2) * 2_000, ticket: `d${name}` });
          if (call.outcome !== undefined && 'answer' in call.outcome)
            for (const { turn } of call.value.deliveries) tokens.push({ key: turn.key, token: turn.token });
        } else if (act === 4)
          stage.nack('n', { ...mine, error: name.repeat(20), kind: pick(2) === 0 ? 'retry' : 'dead_letter' });
        else if (act === 5) stage.deQueue('d', { key: mine.key, holder: { token: mine.token } });
        else if (act === 6) {
          const followUps = Array.from({ length: pick(6) }, () => ({
            queue: build.QUEUE,
            item: build.newItem({ key }),
          }));
          stage.ack('k', { ...mine, followUps, result: new Uint8Array(pick(400)) });
        } else stage.pass(pick(3_000));
        // Ends may leave a little more than may be: a settlement, a ticket.
        ok(held(stage) <= 4_000 + 4 * TURN, `step ${step}: ${held(stage)} bytes`);
      }
    });
});
