import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KEY, QUEUE } from '../support/builders.js';
import { block, type SetStage, type Stage, told } from './stage.js';

const RETRY = { maxAttempts: 10, initial: 60_000, factor: 1, max: 60_000, jitter: 'none' } as const;

export function retryNow(set: SetStage): void {
  describe('S120: RetryNow', () => {
    const ofKey = (stage: Stage, key = KEY) => stage.coordinator.admin.ask('retryNow', { queue: QUEUE, what: { key } });
    const ofItem = (stage: Stage, itemId: string) =>
      stage.coordinator.admin.ask('retryNow', { queue: QUEUE, what: { itemId } });

    it('ends the back-off of a key: a worker that waits gets its item, with the attempt that follows', async () => {
      const stage = set({ retry: RETRY });
      stage.items('i');
      stage.nack(stage.take().turn);
      const waiting = stage.acquire({ wait: 10_000 });
      const view = told(await ofKey(stage));
      const { ended, wasUntil, key, itemId, state } = view;
      assert.deepEqual(
        [ended, wasUntil, key, itemId, state],
        [['retry'], stage.clock.wall() + 60_000, KEY, 'i', 'READY'],
      );
      stage.clock.turn();
      assert.equal(waiting.value.deliveries[0]?.turn.attempt, 2);
    });

    it('ends the delay of the head; one of an item behind it stays', async () => {
      const stage = set();
      stage.submit([{ itemId: 'a', delay: 5_000 }]);
      stage.submit([{ itemId: 'b', delay: 5_000 }]);
      assert.deepEqual(told(await ofKey(stage)).ended, ['delay']);
      stage.ack(stage.take().turn);
      assert.equal(await stage.state(), 'DELAY');
    });

    it('ends the min_interval of the key, whoever is next: the next turn after it keeps it again', async () => {
      const stage = set({ minInterval: 5_000 });
      stage.end(stage.hold());
      assert.equal(await stage.state(), 'DELAY');
      const next = stage.enQueue({ wait: 10_000 });
      assert.deepEqual(told(await ofKey(stage)), {
        ended: ['min_interval'],
        wasUntil: stage.clock.wall() + 5_000,
        key: KEY,
        itemId: undefined,
        state: 'PROCESS',
        why: (await stage.explain()).why,
      });
      stage.clock.turn();
      assert.equal(next.value.decision, 'accept');
      if (next.value.decision === 'accept') stage.end(next.value.turn);
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(0, 5_000));
    });

    it('of an item: its own delay ends where it stands, and the min_interval of its key stays', async () => {
      const stage = set({ minInterval: 5_000 });
      stage.end(stage.hold());
      stage.items('first');
      stage.submit([{ itemId: 'i', delay: 60_000 }]);
      const { ended, itemId, state, why } = told(await ofItem(stage, 'i'));
      assert.deepEqual([ended, itemId, state], [['delay'], 'i', 'DELAY']);
      assert.match(why, /min_interval/);
      assert.deepEqual(told(await ofItem(stage, 'i')).ended, [], 'once more: nothing is left to end');
      stage.advance(5_000);
      stage.ack(stage.take().turn);
      stage.advance(5_000);
      assert.equal(stage.take().items[0]?.itemId, 'i');
    });

    it('of a keyless item, by its id', async () => {
      const stage = set();
      stage.submit([{ itemId: 'i', key: '', delay: 60_000 }]);
      assert.deepEqual(told(await ofItem(stage, 'i')).ended, ['delay']);
      assert.equal(stage.take().items[0]?.itemId, 'i');
    });

    it('a closed gate stays closed: the key is READY, and why says what keeps it', async () => {
      const stage = set();
      stage.submit([{ itemId: 'i', delay: 60_000 }]);
      await stage.coordinator.admin.ask('pauseQueue', { queue: QUEUE });
      const { state, why } = told(await ofKey(stage));
      assert.deepEqual([state, why], ['READY', (await stage.explain()).why]);
      assert.match(why, /paused/);
    });

    it('nothing changes where time keeps nothing back: held, ready, in flight', async () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      stage.items('i', 'j');
      assert.deepEqual(told(await ofKey(stage)).ended, []);
      stage.take();
      const before = await stage.explain();
      for (const outcome of [await ofKey(stage), await ofItem(stage, 'i'), await ofItem(stage, 'j')]) {
        const { ended, state } = told(outcome);
        assert.deepEqual([ended, state], [[], 'BLOCK']);
      }
      assert.deepEqual(await stage.explain(), before);
    });

    it('what is over by the clock has happened, not been hurried', async () => {
      const stage = set();
      stage.submit([{ itemId: 'i', delay: 1_000 }]);
      stage.clock.skip(1_000);
      assert.deepEqual(told(await ofKey(stage)).ended, []);
    });

    const refusals: Readonly<
      Record<string, { way: (stage: Stage) => unknown; ask: (stage: Stage) => unknown; refusal: object }>
    > = {
      'an unknown queue': {
        way: () => undefined,
        ask: ({ coordinator: { admin } }) => admin.ask('retryNow', { queue: 'never', what: { key: KEY } }),
        refusal: { kind: 'no_such', what: 'queue', queue: 'never', name: 'never' },
      },
      'an unknown key': {
        way: (stage) => stage.end(stage.hold()),
        ask: (stage) => ofKey(stage),
        refusal: { kind: 'no_such', what: 'key', queue: QUEUE, name: KEY },
      },
      'an unknown item': {
        way: () => undefined,
        ask: (stage) => ofItem(stage, 'never'),
        refusal: { kind: 'no_such', what: 'item', queue: QUEUE, name: 'never', ended: undefined },
      },
      'an item that is done': {
        way: (stage) => [stage.items('i'), stage.ack(stage.take().turn)],
        ask: (stage) => ofItem(stage, 'i'),
        refusal: { kind: 'no_such', what: 'item', queue: QUEUE, name: 'i', ended: 'done' },
      },
      'a dead letter': {
        way: (stage) => [stage.items('i'), stage.nack(stage.take().turn, { kind: 'dead_letter' })],
        ask: (stage) => ofItem(stage, 'i'),
        refusal: { kind: 'not_delayed', because: 'dead_letter', queue: QUEUE, key: KEY, itemId: 'i' },
      },
      'a parked key': {
        way: (stage) => [stage.items('i', 'j'), stage.nack(stage.take().turn, { kind: 'dead_letter' })],
        ask: (stage) => ofKey(stage),
        refusal: { kind: 'not_delayed', because: 'parked', queue: QUEUE, key: KEY, itemId: 'i' },
      },
      'a key whose head waits for others': {
        way: waitsForOthers,
        ask: (stage) => ofKey(stage),
        refusal: WAITS,
      },
      'an item that waits for others': {
        way: waitsForOthers,
        ask: (stage) => ofItem(stage, 'i'),
        refusal: WAITS,
      },
    };
    for (const [what, { way, ask, refusal }] of Object.entries(refusals)) {
      it(`is refused for ${what}, and changes nothing`, async () => {
        const stage = set({ onDeadLetter: what === 'a parked key' ? 'park' : 'skip' });
        way(stage);
        const before = await stage.explain();
        assert.deepEqual(await ask(stage), { ok: false, refusal });
        assert.deepEqual(await stage.explain(), before);
      });
    }
  });
}

const WAITS = {
  kind: 'not_delayed',
  because: 'waits_for_items',
  queue: QUEUE,
  key: KEY,
  itemId: 'i',
  after: [{ queue: QUEUE, itemId: 'later' }],
  afterCount: 1,
};

function waitsForOthers(stage: Stage): void {
  stage.submit([{ itemId: 'i', after: [{ queue: QUEUE, itemId: 'later' }], afterUnknown: 'wait' }]);
}
