import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bytesOfPayload,
  type CoordinatorEvent,
  type LetterFilter,
  type ListQueuesRequest,
} from '../../src/coordinator.js';
import { ALL_QUEUES, bytes } from '../support/builders.js';
import { lost, type SetStage, type Stage, told } from './stage.js';

function textOf(value: Uint8Array): string {
  return new TextDecoder().decode(value);
}

export function administration(set: SetStage): void {
  describe('the six states of a key', () => {
    const ways: Readonly<Record<string, (stage: Stage) => unknown>> = {
      INIT: (stage) => stage.end(stage.hold()),
      PROCESS: (stage) => stage.hold(),
      BLOCK: (stage) => [stage.hold(), stage.enQueue()],
      READY: (stage) => stage.items('i'),
      DELAY: (stage) => stage.submit([{ delay: 500 }]),
      PARK: (stage) => [stage.items('i'), stage.nack(stage.take().turn, { kind: 'dead_letter' })],
    };
    for (const [state, way] of Object.entries(ways)) {
      it(`${state}: ExplainKey, ListKeys and ListQueues agree`, async () => {
        const stage = set({ onDeadLetter: 'park' });
        way(stage);
        assert.equal(await stage.state(), state);
        const { states } = await stage.queue();
        assert.equal(states[state as keyof typeof states], 1); // the table has the six states
        const any = { queue: 'q', state: undefined, pageSize: 10, pageToken: '' };
        const { keys } = told(await stage.coordinator.admin.ask('listKeys', any));
        assert.deepEqual(
          keys.map((one) => [one.key, one.state]),
          state === 'INIT' ? [] : [['k', state]],
        );
      });
    }
  });

  describe('ExplainKey', () => {
    it('tells the holder, the line, and why it does not move', async () => {
      const stage = set({ waitingPerKey: 'unlimited', lease: 5_000 });
      const turn = stage.hold({ consumerId: 'c1' });
      stage.renew([turn]);
      stage.enQueue({ consumerId: 'c2', ticket: 't' });
      stage.items('i');
      stage.advance(1_000);
      const { holder, line, waitingCallers, waitingItems, why } = await stage.explain();
      assert.ok(holder);
      assert.deepEqual(
        [holder.consumerId, holder.token, holder.leaseLeft, holder.renewals, holder.items],
        ['c1', turn.token, 4_000, 1, 0],
      );
      assert.deepEqual(
        line.map(({ kind, id }) => [kind, id]),
        [
          ['caller', 't'],
          ['item', 'i'],
        ],
      );
      assert.deepEqual([waitingCallers, waitingItems], [1, 1]);
      assert.notEqual(why, '');
    });

    it('tells whose traces the items belong to, wherever their headers are', async () => {
      const stage = set();
      const traced = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
      const item = (itemId: string, digit: string) => ({ itemId, headers: new Map([['traceparent', traced(digit)]]) });
      stage.submit([item('a', '1'), item('b', '2'), { itemId: 'c' }]);
      stage.acquire();
      const { holder, line } = await stage.explain();
      assert.deepEqual(
        holder?.carried?.map(({ itemId, attempt, traceparent }) => [itemId, attempt, traceparent]),
        [['a', 1, traced('1')]],
      );
      assert.deepEqual(
        line.map(({ id, traceparent }) => [id, traceparent]),
        [
          ['b', traced('2')],
          ['c', undefined],
        ],
      );
      assert.ok([...line, ...(holder?.carried ?? [])].every(({ stored }) => stored === undefined));
    });

    it('until when, if that is known', async () => {
      const stage = set();
      stage.submit([{ delay: 700 }]);
      const { until, why } = await stage.explain();
      assert.equal(until, stage.clock.wall() + 700);
      assert.notEqual(why, '');
    });

    it('until is right as soon as the wall clock was set', async () => {
      const stage = set();
      stage.submit([{ delay: 700 }]);
      for (const step of [3_600_000, -7_200_000]) {
        stage.clock.stepWall(step);
        assert.equal((await stage.explain()).until, stage.clock.wall() + 700);
      }
    });

    it('nothing holds a key of which nothing is known', async () => {
      const { state, holder, line, why } = await set().explain('never');
      assert.deepEqual([state, holder, line, why], ['INIT', undefined, [], '']);
    });
  });

  describe('GetItem', () => {
    const HEADERS = new Map([['a', 'b']]);

    it('tells where an item stands, from its line to its end', async () => {
      const stage = set();
      stage.submit([
        { itemId: 'first', payload: bytes('one'), headers: HEADERS },
        { itemId: 'second', payload: bytes('second'), delay: 700 },
      ]);
      const at = async (itemId: string, withPayload = false) => stage.item(itemId, withPayload);
      assert.match((await at('second')).why, /others of its key come before it/);
      const { turn } = stage.take();
      const { state, holder, key, payloadBytes, item } = await at('first');
      assert.deepEqual([state, holder?.token, key, payloadBytes], ['in_flight', turn.token, turn.key, 3]);
      assert.deepEqual([item?.payload.length, item?.headers, item?.itemId], [0, undefined, 'first']);
      const whole = (await at('first', true)).item;
      assert.deepEqual([whole && textOf(bytesOfPayload(whole.payload)), whole?.headers], ['one', HEADERS]);
      stage.ack(turn, { result: bytes('done') });
      const waiting = await at('second');
      assert.deepEqual([waiting.state, waiting.notBefore], ['waiting', stage.clock.wall() + 700]);
      assert.match(waiting.why, /delayed/);
      const [seen, shown] = [await at('first'), await at('first', true)];
      assert.deepEqual([seen.attempts, waiting.attempts], [1, 0], 'the try that did it counts');
      assert.deepEqual([seen.state, seen.result, shown.result && textOf(shown.result)], ['done', undefined, 'done']);
    });

    it('tells of a dead letter why and since when it is dead', async () => {
      const stage = set();
      stage.submit([{ itemId: 'i' }]);
      const { turn } = stage.take();
      stage.nack(turn, { kind: 'dead_letter', error: 'bad' });
      const { state, died, lastError, attempts, key } = await stage.item('i');
      assert.deepEqual(
        [state, died?.cause, died?.at, lastError, attempts, key],
        ['dead', 'refused', stage.clock.wall(), 'bad', 1, turn.key],
      );
    });

    it('knows nothing of an id that never was, also in a queue that is none', async () => {
      const stage = set();
      stage.submit([{ itemId: 'i' }]);
      assert.equal((await stage.item('other')).state, 'unknown');
    });
  });

  describe('EvictHolder', () => {
    it('ends the turn of a caller; the next has it', async () => {
      const stage = set();
      const turn = stage.hold({ consumerId: 'c' });
      const next = stage.enQueue();
      const view = told(await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' }));
      const { evicted, token, consumerId, itemsReturned, state } = view;
      assert.deepEqual([evicted, token, consumerId, itemsReturned, state], [true, turn.token, 'c', 0, 'PROCESS']);
      assert.equal(next.value.decision, 'accept');
    });

    it('puts items back at the head: READY, no attempt counted', async () => {
      const stage = set();
      stage.items('i', 'j');
      const { turn } = stage.take({ maxItemsPerTurn: 2 });
      const view = told(await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' }));
      assert.deepEqual([view.itemsReturned, view.state], [2, 'READY']);
      assert.deepEqual(stage.ack(turn).refusal, lost('evicted'));
      assert.equal(stage.take().turn.attempt, 1);
    });

    for (const delivery of ['at_least_once', 'at_most_once'] as const)
      it(`S588: with discard, ${delivery}: what would go back is discarded, and the key goes on`, async () => {
        const stage = set({ delivery });
        stage.items('i', 'j', 'next');
        const { turn } = stage.take({ maxItemsPerTurn: 2 });
        const view = told(await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k', discard: true }));
        const open = delivery === 'at_least_once' ? 2 : 0;
        assert.deepEqual([view.evicted, view.itemsReturned, view.itemsDiscarded, view.state], [true, 0, open, 'READY']);
        assert.deepEqual(stage.ack(turn).refusal, lost('evicted'));
        assert.equal((await stage.item('i')).state, open > 0 ? 'discarded' : 'done');
        assert.deepEqual(stage.drainIds(), ['next']);
      });

    it('no holder, nothing evicted', async () => {
      assert.equal(told(await set().coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' })).evicted, false);
    });
  });

  describe('dead letters', () => {
    async function withDead(...ids: string[]): Promise<Stage> {
      const stage = set({ waitingPerKey: 'unlimited' });
      stage.items(...ids);
      const { turn } = stage.take({ maxItemsPerTurn: ids.length });
      stage.nack(turn, { kind: 'dead_letter', error: 'bad' });
      return stage;
    }
    const ALL = { queue: 'q', key: undefined, itemIds: [] } as const;
    const page = { queue: 'q', key: undefined, pageSize: 2, pageToken: '' } as const;

    it('ListDeadLetters tells item, key, attempts, last error, when and cause, in pages', async () => {
      const stage = await withDead('a', 'b', 'c');
      const { admin } = stage.coordinator;
      const first = told(await admin.ask('listDeadLetters', page));
      const [letter] = first.deadLetters;
      assert.ok(letter);
      const { item, key, attempts, lastError, diedAt, cause } = letter;
      const now = stage.clock.wall();
      assert.deepEqual([item.itemId, key, attempts, lastError, diedAt, cause], ['a', 'k', 1, 'bad', now, 'refused']);
      const report = await stage.item('a');
      assert.deepEqual([item.attempt, report.item?.attempt, report.attempts], [1, 1, 1], 'its last try, everywhere');
      const second = told(await admin.ask('listDeadLetters', { ...page, pageToken: first.nextPageToken }));
      const ids = [...first.deadLetters, ...second.deadLetters].map((one) => one.item.itemId);
      assert.deepEqual([ids, second.nextPageToken], [['a', 'b', 'c'], '']);
      const none = told(await admin.ask('listDeadLetters', { ...page, key: 'other' }));
      assert.deepEqual(none.deadLetters, []);
    });

    it('Redrive puts them back before what waits, in the order of submission, attempts from 1', async () => {
      const stage = await withDead('a', 'b', 'c');
      stage.items('d');
      assert.equal(
        told(await stage.coordinator.admin.ask('redrive', { ...ALL, itemIds: ['c', 'a', 'never'] })).done,
        2,
      );
      const { turn, items } = stage.take();
      assert.deepEqual([items[0]?.itemId, turn.attempt], ['a', 1]);
      stage.ack(turn);
      assert.deepEqual(stage.drainIds(), ['c', 'd']);
      assert.equal(told(await stage.coordinator.admin.ask('redrive', ALL)).done, 1, 'none: all');
    });

    it('S575: letters of a key that are redriven one by one stand in the order of submission', async () => {
      const stage = await withDead('a', 'b', 'c');
      stage.items('d');
      for (const id of ['b', 'c', 'a'])
        assert.equal(told(await stage.coordinator.admin.ask('redrive', { ...ALL, itemIds: [id] })).done, 1);
      assert.deepEqual(stage.drainIds(), ['a', 'b', 'c', 'd']);
    });

    it('S575: what a turn gives back stands behind what was submitted earlier and redriven meanwhile', async () => {
      const stage = await withDead('a');
      stage.items('b', 'c');
      const { turn } = stage.take();
      assert.equal(told(await stage.coordinator.admin.ask('redrive', ALL)).done, 1);
      stage.nack(turn, { kind: 'release' });
      assert.deepEqual(stage.drainIds(), ['a', 'b', 'c']);
    });

    it('S24: what is redriven goes before a back-off and does not wait for it', async () => {
      const stage = await withDead('a');
      stage.items('b');
      stage.nack(stage.take().turn);
      assert.equal(await stage.state(), 'DELAY');
      told(await stage.coordinator.admin.ask('redrive', ALL));
      assert.deepEqual(stage.drainIds(), ['a']);
      assert.equal(await stage.state(), 'DELAY');
    });

    it('Redrive of a key: a parked one stays parked until resumed', async () => {
      const stage = set({ onDeadLetter: 'park' });
      const { admin } = stage.coordinator;
      stage.items('a', 'b');
      stage.nack(stage.take().turn, { kind: 'dead_letter' });
      assert.equal(told(await admin.ask('redrive', { ...ALL, key: 'other' })).done, 0);
      assert.equal(told(await admin.ask('redrive', { ...ALL, key: 'k' })).done, 1);
      assert.deepEqual(stage.drainIds(), []);
      told(await admin.ask('resumeKey', { queue: 'q', key: 'k' }));
      assert.deepEqual(stage.drainIds(), ['a', 'b']);
    });

    it('Discard removes dead letters, and with waiting also items that wait, not those in flight', async () => {
      const stage = await withDead('a', 'b');
      const { admin } = stage.coordinator;
      stage.items('flying', 'c', 'd');
      const { turn } = stage.take();
      assert.equal(told(await admin.ask('discard', { ...ALL, itemIds: ['a', 'c'], waiting: false })).done, 1);
      assert.equal(told(await admin.ask('discard', { ...ALL, waiting: true })).done, 3);
      assert.deepEqual(
        ['a', 'b', 'c', 'd'].map((id) => stage.await(id).value.state),
        Array(4).fill('discarded'),
      );
      assert.ok(stage.ack(turn).value);
      assert.deepEqual(stage.drainIds(), []);
      assert.equal(told(await admin.ask('discard', { ...ALL, waiting: true })).done, 0, 'S34');
    });

    describe('dead letters that fit (S455)', () => {
      const FITS = { causes: [], errorContains: '', diedAfter: undefined, diedBefore: undefined } as const;
      /** One of each cause, ten seconds apart, with errors of their own. */
      const withCauses = (): Stage => {
        const stage = set({ retry: { maxAttempts: 1, initial: 1, factor: 1, max: 1, jitter: 'none' } });
        for (const [id, kind, error] of [
          ['tried', 'retry', 'no connection'],
          ['refused', 'dead_letter', 'no such customer'],
          ['late', 'dead_letter', 'No connection'],
        ] as const) {
          stage.items(id);
          stage.nack(stage.take().turn, { kind, error });
          stage.advance(10_000);
        }
        return stage;
      };
      const listed = async (stage: Stage, filter: Partial<LetterFilter>) => {
        const request = { ...page, pageSize: 10, filter: { ...FITS, ...filter } };
        return told(await stage.coordinator.admin.ask('listDeadLetters', request)).deadLetters.map(
          ({ item }) => item.itemId,
        );
      };
      const CASES: readonly (readonly [string, (start: number) => Partial<LetterFilter>, readonly string[]])[] = [
        ['nothing set', () => ({}), ['tried', 'refused', 'late']],
        ['one cause', () => ({ causes: ['refused'] }), ['refused', 'late']],
        ['two causes', () => ({ causes: ['refused', 'max_attempts'] }), ['tried', 'refused', 'late']],
        ['a cause of none', () => ({ causes: ['dependency'] }), []],
        [
          'a part of the error, upper and lower case told apart',
          () => ({ errorContains: 'no ' }),
          ['tried', 'refused'],
        ],
        ['a moment and later', (start) => ({ diedAfter: start + 10_000 }), ['refused', 'late']],
        ['a moment and earlier', (start) => ({ diedBefore: start + 10_000 }), ['tried', 'refused']],
        ['all of it', (start) => ({ causes: ['refused'], errorContains: 'conn', diedAfter: start + 10_001 }), ['late']],
      ];
      for (const [what, filter, ids] of CASES)
        it(`by ${what}: ListDeadLetters, a dry run, Redrive and Discard agree`, async () => {
          const stage = withCauses();
          const { admin } = stage.coordinator;
          const chosen = { ...FITS, ...filter(stage.clock.wall() - 30_000) };
          assert.deepEqual(await listed(stage, chosen), ids);
          for (const dry of [
            await admin.ask('redrive', { ...ALL, filter: chosen, dryRun: true }),
            await admin.ask('discard', { ...ALL, filter: chosen, dryRun: true, waiting: false }),
          ])
            assert.deepEqual([told(dry).done, told(dry).chosen], [0, ids.length]);
          assert.deepEqual(await listed(stage, {}), ['tried', 'refused', 'late'], 'a dry run changes nothing');
          const { done, chosen: fit } = told(await admin.ask('redrive', { ...ALL, filter: chosen }));
          assert.deepEqual([done, fit], [ids.length, ids.length]);
          assert.deepEqual(stage.drainIds(), ids);
          const rest = told(await admin.ask('discard', { ...ALL, filter: FITS, waiting: false }));
          assert.equal(rest.done, 3 - ids.length);
        });

      it('no more than the limit, first come first, and how many there were; those of one key go back together', async () => {
        const stage = set();
        const { admin } = stage.coordinator;
        for (const [id, key] of [
          ['a', 'x'],
          ['b', 'x'],
          ['c', 'y'],
          ['d', 'z'],
        ] as const) {
          stage.submit([{ itemId: id, key }]);
          stage.nack(stage.take().turn, { kind: 'dead_letter' });
        }
        const first = told(await admin.ask('redrive', { ...ALL, most: 1 }));
        assert.deepEqual([first.done, first.chosen], [2, 4]);
        const second = told(await admin.ask('discard', { ...ALL, most: 1, waiting: false }));
        assert.deepEqual([second.done, second.chosen], [1, 2]);
        assert.deepEqual(await listed(stage, {}), ['d']);
      });

      it('the limit is for dead letters and items that wait together, dead letters first', async () => {
        const stage = await withDead('a', 'b');
        stage.items('c', 'd', 'e');
        const { admin } = stage.coordinator;
        const dry = told(await admin.ask('discard', { ...ALL, dryRun: true, waiting: true }));
        assert.deepEqual([dry.done, dry.chosen], [0, 5]);
        const { done, chosen } = told(await admin.ask('discard', { ...ALL, most: 3, waiting: true }));
        assert.deepEqual([done, chosen], [3, 5]);
        assert.deepEqual(stage.drainIds(), ['d', 'e']);
      });

      it('what dies again is left out by the moment of the first step', async () => {
        const stage = await withDead('a', 'b');
        const { admin } = stage.coordinator;
        stage.advance(1);
        const first = told(await admin.ask('redrive', { ...ALL, itemIds: ['a'] }));
        stage.advance(1);
        stage.nack(stage.take().turn, { kind: 'dead_letter' });
        const dry = told(await admin.ask('redrive', { ...ALL, dryRun: true }));
        assert.equal(dry.chosen, 2);
        const asOf = first.asOf ?? stage.clock.wall() - 1;
        const rest = told(await admin.ask('redrive', { ...ALL, filter: { ...FITS, diedBefore: asOf } }));
        assert.deepEqual([rest.done, stage.drainIds()], [1, ['b']]);
      });
    });
  });

  describe('ListQueues', () => {
    it('until when startup_hold gives no turns, as long as it does', async () => {
      const stage = set({}, { startupHold: 5_000 });
      const { admin } = stage.coordinator;
      const hold = async () => told(await admin.ask('listQueues', ALL_QUEUES)).holdUntil;
      const until = stage.clock.wall() + 5_000;
      stage.items('i');
      assert.deepEqual([await hold(), (await stage.explain()).until], [until, until]);
      stage.advance(5_000);
      assert.deepEqual([await hold(), (await stage.explain()).until], [undefined, undefined]);
    });

    it('by name, in pages, those with a text in their name', async () => {
      const stage = set();
      for (const name of ['b-1', 'a-1', 'a-2', 'c']) stage.hold({ queue: name });
      const { admin } = stage.coordinator;
      const list = async (change: Partial<ListQueuesRequest>) => {
        const { queues, more } = told(await admin.ask('listQueues', { ...ALL_QUEUES, ...change }));
        return [queues.map(({ name }) => name), more];
      };
      assert.deepEqual(await list({}), [['a-1', 'a-2', 'b-1', 'c', 'q'], false]);
      assert.deepEqual(await list({ most: 2 }), [['a-1', 'a-2'], true]);
      assert.deepEqual(await list({ most: 2, after: 'a-2' }), [['b-1', 'c'], true]);
      assert.deepEqual(await list({ most: 2, after: 'b-9' }), [['c', 'q'], false]);
      assert.deepEqual(await list({ nameContains: '-1' }), [['a-1', 'b-1'], false]);
      assert.deepEqual(await list({ nameContains: 'A' }), [[], false]);
    });
  });

  describe('ListQueues of what is stuck (S458)', () => {
    const stuck = async (stage: Stage, stuckFor: number) =>
      told(await stage.coordinator.admin.ask('listQueues', { ...ALL_QUEUES, stuckFor })).queues.map(({ name }) => name);

    it('names a queue whose oldest entry waits for as long, and no other', async () => {
      const stage = set();
      stage.hold({ queue: 'held' });
      stage.hold({ queue: 'free' });
      stage.enQueue({ queue: 'held', consumerId: 'second', wait: 60_000 });
      assert.deepEqual(await stuck(stage, 1), []);
      assert.deepEqual(await stuck(stage, 0), ['held']);
      stage.advance(9_999);
      assert.deepEqual(await stuck(stage, 10_000), []);
      stage.advance(1);
      assert.deepEqual(await stuck(stage, 10_000), ['held']);
    });

    it('names none whose entries wait for their time alone, but one whose items wait for others', async () => {
      const stage = set();
      stage.submit([{ delay: 60_000 }], { queue: 'later' });
      stage.submit([{ after: [{ queue: 'never', itemId: 'unknown' }], afterUnknown: 'wait' }], { queue: 'never' });
      stage.submit([{ key: 'a', delay: 60_000 }, { key: 'b' }], { queue: 'both' });
      stage.advance(10_000);
      assert.deepEqual(await stuck(stage, 10_000), ['both', 'never']);
    });

    it('names one that a person paused', async () => {
      const stage = set();
      for (const queue of ['paused', 'runs']) stage.hold({ queue });
      told(await stage.coordinator.admin.ask('pauseQueue', { queue: 'paused' }));
      assert.deepEqual(await stuck(stage, 10_000), ['paused']);
    });
  });

  describe('ListKeys', () => {
    it('longest in their state first, in pages', async () => {
      const stage = set();
      for (const key of ['a', 'b', 'c']) {
        stage.hold({ key });
        stage.advance(10);
      }
      const { admin } = stage.coordinator;
      const request = { queue: 'q', state: 'PROCESS', pageSize: 2, pageToken: '' } as const;
      const first = told(await admin.ask('listKeys', request));
      assert.deepEqual(
        first.keys.map(({ key }) => key),
        ['a', 'b'],
      );
      const second = told(await admin.ask('listKeys', { ...request, pageToken: first.nextPageToken }));
      assert.deepEqual(
        second.keys.map(({ key }) => key),
        ['c'],
      );
      assert.equal(second.nextPageToken, '');
    });
  });

  describe('WatchEvents', () => {
    it('tells arrival, turn, settlement, expiry, eviction and dead letter, and what a slow reader missed', async () => {
      const stage = set({ lease: 1_000 });
      let wakes = 0;
      const watcher = { wake: () => void wakes++, end: () => undefined };
      const watch = told(stage.coordinator.admin.watch('q', undefined, watcher));
      const kinds = new Set<CoordinatorEvent['kind']>();
      stage.end(stage.hold());
      stage.hold();
      stage.advance(1_000);
      stage.hold();
      await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' });
      stage.items('i');
      stage.nack(stage.take().turn, { kind: 'dead_letter' });
      stage.clock.turn();
      const { events, missed } = watch.take();
      for (const { kind } of events) kinds.add(kind);
      assert.deepEqual([...kinds].sort(), ['arrival', 'dead_letter', 'eviction', 'expiry', 'settlement', 'turn']);
      assert.equal(missed, 0);
      assert.equal(wakes, 1, 'woken once until it was taken');
      // With three events each, more than are kept for a reader.
      const many = 1_000;
      for (let i = 0; i < many; i++) stage.end(stage.hold());
      const [kept, gap] = [watch.take(), watch.take()];
      assert.ok(kept.events.length > 0 && gap.missed > 0, 'what was kept, then the gap after it');
      assert.equal(kept.events.length + gap.missed, 3 * many, 'arrival, turn, settlement of each');
      watch.stop();
    });

    it('of one key only', () => {
      const stage = set();
      const watcher = { wake: () => undefined, end: () => undefined };
      const watch = told(stage.coordinator.admin.watch('q', 'k', watcher));
      stage.hold({ key: 'other' });
      stage.hold();
      assert.deepEqual([...new Set(watch.take().events.map(({ key }) => key))], ['k']);
    });

    it('of all queues, also of those that come later', () => {
      const stage = set();
      const watcher = { wake: () => undefined, end: () => undefined };
      const watch = told(stage.coordinator.admin.watch(undefined, undefined, watcher));
      stage.hold();
      stage.hold({ queue: 'later' });
      assert.deepEqual([...new Set(watch.take().events.map(({ queue }) => queue))].sort(), ['later', 'q']);
    });
  });
}
