/** Items that wait for others to be done. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ItemRef, NewItem, Policy, SubmitAnswer, Turn } from '../../src/coordinator.js';
import { bytes, newItem, QUEUE } from '../support/builders.js';
import type { Call } from '../support/call.js';
import { block, idsOf, type SetStage, type Stage, told } from './stage.js';
import { casesOfGroup, type World } from './world.js';

/** An item that waits, in its own lane unless a key is said. */
function after(itemId: string, ...awaited: (string | ItemRef)[]): Partial<NewItem> & { readonly itemId: string } {
  const refs = awaited.map((one) => (typeof one === 'string' ? ref(one) : one));
  return { itemId, key: itemId, after: refs };
}

function ref(itemId: string, queue = QUEUE): ItemRef {
  return { queue, itemId };
}

/** The turn of this item, the next that can be taken. */
function takeOnly(stage: Stage, itemId: string, queue = QUEUE): Turn {
  const { turn, items } = stage.take({ queues: [queue] });
  assert.deepEqual(
    items.map((item) => item.itemId),
    [itemId],
  );
  return turn;
}

function nothingToTake(stage: Stage): void {
  assert.deepEqual(idsOf(stage.acquire()), []);
}

function violationOf(call: Call<unknown>): { readonly field: string; readonly description: string } {
  const { refusal } = call;
  assert.equal(refusal.kind, 'bad_request', JSON.stringify(refusal));
  const [violation] = refusal.kind === 'bad_request' ? refusal.violations : [];
  assert.ok(violation !== undefined);
  return violation;
}

async function deathOf(stage: Stage, itemId: string): Promise<string | undefined> {
  const request = { queue: QUEUE, key: undefined, pageSize: 100, pageToken: '' };
  const { deadLetters } = told(await stage.coordinator.admin.ask('listDeadLetters', request));
  return deadLetters.find(({ item }) => item.itemId === itemId)?.cause;
}

/** All letters of the queue. */
const ALL = { queue: QUEUE, key: undefined, itemIds: [] };

/** Ways in which item `a`, the only one that is there, becomes done. */
const DONE: Readonly<Record<string, { readonly policy?: Partial<Policy>; readonly act: (stage: Stage) => void }>> = {
  Ack: { act: (stage) => void stage.ack(stage.take().turn).value },
  'Nack that says it is done': { act: (stage) => void stage.nack(stage.take().turn, { done: 1 }).value },
  'at_most_once, as it is handed out': { policy: { delivery: 'at_most_once' }, act: (stage) => void stage.take() },
  'its idempotency key, done by a caller before it': {
    policy: { idempotencyTtl: 60_000, waitingPerKey: 'unlimited' },
    act: (stage) => {
      const caller = stage.hold({ key: 'shared', idempotencyKey: 'once' });
      stage.submit([{ itemId: 'b', key: 'shared', idempotencyKey: 'once' }, after('z', 'b')]);
      stage.end(caller);
      stage.ack(stage.take().turn);
    },
  },
};

/** Ways in which item `a`, the only one that is there, ends without being done. */
const NOT_DONE: Readonly<
  Record<string, { readonly policy?: Partial<Policy>; readonly act: (stage: Stage) => unknown }>
> = {
  'is refused': { act: (stage) => stage.nack(stage.take().turn, { kind: 'dead_letter' }).value },
  'runs out of attempts': {
    policy: { retry: { maxAttempts: 1, initial: 0, factor: 1, max: 0, jitter: 'none' } },
    act: (stage) => stage.nack(stage.take().turn).value,
  },
  'is discarded': {
    act: (stage) =>
      stage.coordinator.admin.ask('discard', { queue: QUEUE, key: undefined, itemIds: ['a'], waiting: true }),
  },
  'is superseded': {
    policy: { waitingPerKey: 1, whenFull: 'replace' },
    act: (stage) => stage.submit([{ itemId: 'newer', key: 'a' }]).value,
  },
};

export function dependencies(set: SetStage, world: World): void {
  const itOfGroup = casesOfGroup(world);

  describe('Dependencies', () => {
    itOfGroup('an item starts in the moment the last of those it waits for is done, in whatever queue', async () => {
      const stage = set({}, { autoCreate: true });
      stage.submit([{ itemId: 'a' }]);
      stage.submit([{ itemId: 'b' }], { queue: 'other' });
      stage.submit([after('last', 'a', ref('b', 'other'))]);
      const worker = stage.acquire({ key: undefined, queues: [QUEUE], wait: 60_000, maxTurns: 2 });
      assert.deepEqual(idsOf(worker), [['a']]);
      const waiting = stage.acquire({ wait: 60_000 });
      const [first] = worker.value.deliveries;
      assert.ok(first !== undefined);
      stage.ack(first.turn);
      assert.ok(waiting.open);
      assert.equal(await stage.state('last'), 'DELAY');
      stage.ack(takeOnly(stage, 'b', 'other'));
      assert.deepEqual(idsOf(waiting), [['last']]);
    });

    for (const [way, { policy, act }] of Object.entries(DONE)) {
      it(`done is done, by ${way}`, () => {
        const stage = set(policy);
        stage.submit([{ itemId: 'a', key: 'a' }]);
        const key = way.startsWith('its') ? 'a' : 'dependant';
        stage.submit([{ ...after('dependant', 'a'), key }]);
        act(stage);
        const ids = stage.drainIds();
        assert.ok(ids.includes('dependant'), ids.join());
        if (way.startsWith('its')) assert.ok(ids.includes('z') && !ids.includes('b'), ids.join());
      });
    }

    for (const [way, { policy, act }] of Object.entries(NOT_DONE)) {
      it(`on_dependency_dead: dead, when one ${way}, and what waits for that one too`, async () => {
        const stage = set(policy);
        stage.submit([{ itemId: 'a', key: 'a' }, after('b', 'a'), after('c', 'b'), { itemId: 'free', key: 'free' }]);
        const awaited = stage.await('c', 60_000);
        await act(stage);
        assert.equal(awaited.value.state, 'dead');
        assert.match(awaited.value.error ?? '', /^item b of queue q, which had to be done before it, became a dead/);
        assert.equal(await deathOf(stage, 'b'), 'dependency');
        assert.equal(await deathOf(stage, 'c'), 'dependency');
        assert.equal(await stage.state('b'), 'INIT');
        assert.ok(stage.drainIds().includes('free'), 'nobody else notices');
      });

      it(`on_dependency_dead: run, when one ${way}`, async () => {
        const stage = set({ ...policy, onDependencyDead: 'run' });
        stage.submit([{ itemId: 'a', key: 'a' }, after('b', 'a'), after('c', 'b')]);
        await act(stage);
        const ids = stage.drainIds();
        assert.ok(ids.indexOf('b') >= 0 && ids.indexOf('b') < ids.indexOf('c'), ids.join());
      });
    }

    it('the queue of the dependant decides, and a key that stops after a dead letter stops in its order', async () => {
      const stage = set({ onDeadLetter: 'park' });
      stage.submit([
        { itemId: 'a', key: 'a' },
        { itemId: 'first', key: 'k' },
        { ...after('b', 'a'), key: 'k' },
        { itemId: 'third', key: 'k' },
      ]);
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      assert.equal(stage.await('b').value.state, 'waiting', 'what stands before it goes on');
      stage.ack(takeOnly(stage, 'first'));
      assert.equal(stage.await('b').value.state, 'dead');
      assert.equal(await stage.state('k'), 'PARK');
      nothingToTake(stage);
      told(await stage.coordinator.admin.ask('resumeKey', { queue: QUEUE, key: 'k' }));
      assert.deepEqual(stage.drainIds(), ['third']);
    });

    it('no room for dead letters: it stays, and its key is parked when it is the head', async () => {
      const stage = set({ maxDeadLetters: 1 });
      stage.submit([
        { itemId: 'a', key: 'a' },
        { itemId: 'first', key: 'k' },
        { ...after('b', 'a'), key: 'k' },
        { itemId: 'third', key: 'k' },
      ]);
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      stage.ack(takeOnly(stage, 'first'));
      assert.equal(await stage.state('k'), 'PARK');
      assert.equal(stage.await('b').value.state, 'waiting');
      told(await stage.coordinator.admin.ask('resumeKey', { queue: QUEUE, key: 'k' }));
      assert.equal(await stage.state('k'), 'PARK', 'there is still no room');
      told(await stage.coordinator.admin.ask('discard', { queue: QUEUE, key: 'a', itemIds: [], waiting: false }));
      told(await stage.coordinator.admin.ask('resumeKey', { queue: QUEUE, key: 'k' }));
      assert.equal(await deathOf(stage, 'b'), 'dependency');
      assert.deepEqual(stage.drainIds(), ['third']);
    });

    it('what is redriven alone waits for no dead letter, and its dependants are dead letters still', async () => {
      const stage = set();
      stage.submit([{ itemId: 'a', key: 'a' }, after('b', 'a'), after('c', 'b')]);
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      const redriven = { queue: QUEUE, key: undefined, itemIds: ['b'] };
      assert.equal(told(await stage.coordinator.admin.ask('redrive', redriven)).done, 1);
      stage.ack(takeOnly(stage, 'b'));
      assert.equal(stage.await('c').value.state, 'dead');
      assert.equal(stage.submit([after('d', 'b')]).value.results[0]?.decision, 'accept');
      assert.deepEqual(stage.drainIds(), ['d'], 'done is done');
    });

    it('S67: letters that are redriven together wait for each other again', async () => {
      const stage = set();
      stage.submit([{ itemId: 'a', key: 'z' }, after('b', 'a'), after('c', 'b')]);
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      assert.equal(stage.await('c').value.state, 'dead');
      assert.equal(told(await stage.coordinator.admin.ask('redrive', ALL)).done, 3);
      const turn = takeOnly(stage, 'a');
      nothingToTake(stage);
      stage.ack(turn);
      assert.deepEqual(stage.drainIds(), ['b', 'c']);
    });

    it('S67: in whatever order one call named them', async () => {
      const stage = set();
      stage.submit([after('c', 'b'), after('b', 'a'), { itemId: 'a', key: 'z' }]);
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      assert.equal(told(await stage.coordinator.admin.ask('redrive', { ...ALL, itemIds: ['c', 'b', 'a'] })).done, 3);
      assert.deepEqual(stage.drainIds(), ['a', 'b', 'c']);
    });

    it('S67: and for what is open of what they came after', async () => {
      const stage = set();
      stage.submit([{ itemId: 'open', key: 'o' }, { itemId: 'a', key: 'z' }, after('b', 'a', 'open')]);
      const open = takeOnly(stage, 'open');
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      told(await stage.coordinator.admin.ask('redrive', ALL));
      stage.ack(takeOnly(stage, 'a'));
      nothingToTake(stage);
      stage.ack(open);
      assert.deepEqual(stage.drainIds(), ['b']);
    });

    it('S67: not for a later item of the same name', async () => {
      const stage = set({ resultTtl: 1_000 });
      stage.submit([{ itemId: 'a', key: 'z' }, after('b', 'a')]);
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      told(await stage.coordinator.admin.ask('discard', { ...ALL, itemIds: ['a'], waiting: false }));
      stage.advance(60_000);
      stage.submit([{ itemId: 'a', key: 'z' }]);
      told(await stage.coordinator.admin.ask('redrive', ALL));
      assert.equal(await stage.state('b'), 'READY');
    });

    it('S67: what is redriven dies again with what it waits for', async () => {
      const stage = set();
      stage.submit([{ itemId: 'a', key: 'z' }, after('b', 'a')]);
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      told(await stage.coordinator.admin.ask('redrive', ALL));
      stage.nack(takeOnly(stage, 'a'), { kind: 'dead_letter' });
      assert.equal(await deathOf(stage, 'b'), 'dependency');
    });

    it('at arrival: done and remembered is nothing to wait for, a dead letter is one at once', async () => {
      const stage = set({ resultTtl: 60_000 });
      stage.submit([{ itemId: 'a' }, { itemId: 'b' }]);
      stage.ack(takeOnly(stage, 'a'));
      stage.nack(takeOnly(stage, 'b'), { kind: 'dead_letter' });
      assert.equal(stage.submit([after('c', 'a'), after('d', 'b')]).value.results[1]?.decision, 'accept');
      assert.equal(stage.await('d').value.state, 'dead');
      assert.equal(await deathOf(stage, 'd'), 'dependency');
      assert.deepEqual(stage.drainIds(), ['c']);
    });

    it('an id of which nothing is known, or no more, is refused, and nothing of the batch is kept', () => {
      const stage = set({ resultTtl: 1_000 });
      stage.items('a');
      stage.ack(stage.take().turn);
      stage.advance(1_000);
      for (const id of ['a', 'never']) {
        const { field, description } = violationOf(stage.submit([{ itemId: 'x' }, after('b', 'x', id)]));
        assert.equal(field, 'items[1].after[1]');
        assert.match(description, new RegExp(`^item ${id} of queue q is not known here, or no more`));
      }
      assert.equal(stage.await('x').value.state, 'unknown');
    });

    it('after_unknown: wait waits until it is submitted and done', () => {
      const stage = set();
      stage.submit([{ ...after('b', 'later'), afterUnknown: 'wait' }]);
      nothingToTake(stage);
      stage.items('later');
      stage.ack(takeOnly(stage, 'later'));
      assert.deepEqual(stage.drainIds(), ['b']);
    });

    itOfGroup('after_unknown: wait, of a queue that there cannot be: NO_SUCH_QUEUE', () => {
      const stage = set({}, { autoCreate: false });
      const call = stage.submit([{ ...after('b', ref('a', 'nowhere')), afterUnknown: 'wait' }]);
      assert.deepEqual(call.refusal, { kind: 'no_such_queue', queue: 'nowhere' });
    });

    it('once told it is told: a result that is forgotten meanwhile holds nobody back', () => {
      const stage = set({ resultTtl: 1_000 });
      stage.submit([{ itemId: 'a' }, { itemId: 'slow', key: 's', delay: 5_000 }, after('b', 'a', 'slow')]);
      stage.ack(takeOnly(stage, 'a'));
      stage.advance(5_000);
      assert.equal(stage.await('a').value.state, 'unknown');
      stage.ack(takeOnly(stage, 'slow'));
      assert.deepEqual(stage.drainIds(), ['b']);
    });

    itOfGroup('items of one call may name each other in whatever order, follow_ups across their queues too', () => {
      const stage = set({}, { autoCreate: true });
      stage.submit([after('c', 'b'), after('b', 'a'), { itemId: 'a', key: 'a' }]);
      assert.deepEqual(stage.drainIds(), ['a', 'b', 'c']);
      stage.items('root');
      const followUps = [
        { queue: 'other', item: newItem({ itemId: 'second', after: [ref('first'), ref('root')] }) },
        { queue: QUEUE, item: newItem({ itemId: 'first', key: 'first' }) },
      ];
      assert.ok(stage.ack(takeOnly(stage, 'root'), { followUps }).value);
      assert.deepEqual(idsOf(stage.acquire({ queues: ['other'] })), []);
      stage.ack(takeOnly(stage, 'first'));
      assert.ok(takeOnly(stage, 'second', 'other'));
    });

    it('an unknown id in follow_ups refuses the Ack: both or neither', () => {
      const stage = set();
      stage.items('root');
      const turn = takeOnly(stage, 'root');
      const followUps = [{ queue: QUEUE, item: newItem({ itemId: 'b', after: [ref('never')] }) }];
      assert.equal(violationOf(stage.ack(turn, { followUps })).field, 'follow_ups[0].item.after[0]');
      assert.equal(stage.renew([turn])[0]?.alive, true);
    });

    it('one of the same call that is declined: already done is done, else it is as one that is dead', () => {
      const stage = set({ idempotencyTtl: 60_000, waitingPerKey: 1 });
      stage.submit([
        { itemId: 'done', key: 'a', idempotencyKey: 'once' },
        { itemId: 'waits', key: 'full', delay: 1_000 },
      ]);
      stage.ack(takeOnly(stage, 'done'));
      const { results } = stage.submit([
        { itemId: 'again', key: 'a', idempotencyKey: 'once' },
        after('b', 'again'),
        { itemId: 'too many', key: 'full' },
        after('c', 'too many'),
      ]).value;
      assert.deepEqual(
        results.map(({ decision }) => decision),
        ['decline', 'accept', 'decline', 'accept'],
      );
      assert.equal(stage.await('c').value.state, 'dead');
      assert.deepEqual(stage.drainIds(), ['b']);
    });

    it('one that comes later and is declined as already done is done; declined otherwise it may come again', () => {
      const stage = set({ idempotencyTtl: 60_000, waitingPerKey: 1 });
      stage.submit([
        { ...after('b', 'later'), afterUnknown: 'wait' },
        { ...after('c', 'again'), afterUnknown: 'wait' },
        { itemId: 'first', key: 'a', idempotencyKey: 'once' },
      ]);
      stage.submit([{ itemId: 'later', key: 'a' }]);
      stage.ack(takeOnly(stage, 'first'));
      nothingToTake(stage);
      stage.submit([{ itemId: 'again', key: 'a', idempotencyKey: 'once' }]);
      assert.deepEqual(stage.drainIds(), ['c']);
      stage.submit([{ itemId: 'later', key: 'a' }]);
      assert.deepEqual(stage.drainIds(), ['later', 'b']);
    });

    it('it holds its key as a delay does; a keyless one only itself', async () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      stage.submit([
        { itemId: 'a', key: 'a' },
        { ...after('b', 'a'), key: 'k' },
        { itemId: 'next', key: 'k' },
      ]);
      stage.submit([
        { ...after('none', 'a'), key: '' },
        { itemId: 'other', key: '' },
      ]);
      const caller = stage.enQueue({ key: 'k', wait: 60_000 });
      assert.equal(await stage.state('k'), 'DELAY');
      const turn = takeOnly(stage, 'a');
      assert.deepEqual(stage.drainIds(), ['other']);
      assert.ok(caller.open);
      stage.ack(turn);
      assert.deepEqual(stage.drainIds(), ['b', 'none', 'next']);
      assert.equal(caller.value.decision, 'accept');
    });

    it('S6: BLOCK in the place of one that waits: nobody knows how long, so ask again in 1 s', () => {
      const stage = set({ waitingPerKey: 1, whenFull: 'replace' });
      stage.submit([
        { itemId: 'a', key: 'a' },
        { ...after('b', 'a'), key: 'k' },
      ]);
      assert.deepEqual(stage.enQueue({ key: 'k', wait: 0 }).value, block(0, 1_000));
    });

    it('a delay and what it waits for count both, whichever is longer', () => {
      const stage = set();
      stage.submit([
        { itemId: 'a', key: 'a' },
        { ...after('b', 'a'), delay: 5_000 },
        { ...after('c', 'a'), delay: 1_000 },
      ]);
      const turn = takeOnly(stage, 'a');
      stage.advance(2_000);
      nothingToTake(stage);
      stage.ack(turn);
      assert.deepEqual(stage.drainIds(), ['c']);
      stage.advance(2_999);
      nothingToTake(stage);
      stage.advance(1);
      assert.deepEqual(stage.drainIds(), ['b']);
    });

    it('ExplainKey names what the head waits for, ten of them, and says how many there are', async () => {
      const stage = set();
      const ids = Array.from({ length: 12 }, (_, index) => `a${index}`);
      stage.submit([...ids.map((itemId) => ({ itemId })), after('b', ...ids)]);
      const { state, why, until, line } = await stage.explain('b');
      assert.equal(state, 'DELAY');
      assert.match(
        why,
        /^the item at the head waits for others to be done: a0 of queue q, .*, a9 of queue q and 2 more$/,
      );
      assert.equal(until, undefined);
      assert.deepEqual(line[0]?.after, { first: ids.slice(0, 10).map((id) => ref(id)), count: 12 });
      stage.ack(takeOnly(stage, 'a0'));
      assert.equal((await stage.explain('b')).line[0]?.after?.count, 11);
    });

    it('ListKeys shows its key in DELAY', async () => {
      const stage = set();
      stage.submit([{ itemId: 'a', key: 'a' }, after('b', 'a')]);
      const request = { queue: QUEUE, state: 'DELAY', pageSize: 10, pageToken: '' } as const;
      const { keys } = told(await stage.coordinator.admin.ask('listKeys', request));
      assert.deepEqual(
        keys.map(({ key }) => key),
        ['b'],
      );
    });

    itOfGroup('S31: what it waits for is content, in whatever order it is named; after_unknown is not', () => {
      const stage = set();
      stage.submit([{ itemId: 'a' }, { itemId: 'b' }, after('c', 'a', 'b')]);
      const same = { ...after('c', 'b', 'a'), afterUnknown: 'wait' } as const;
      assert.equal(stage.submit([same]).value.results[0]?.decision, 'accept');
      for (const other of [after('c', 'a'), { itemId: 'c', key: 'c' }, after('c', 'a', ref('b', 'other'))])
        assert.equal(violationOf(stage.submit([other])).field, 'items[0].item_id');
      assert.deepEqual(stage.drainIds(), ['a', 'b', 'c']);
      assert.equal(stage.submit([same]).value.results[0]?.decision, 'accept', 'known when it is done');
    });

    it('who is discarded or superseded waits no more', async () => {
      const stage = set({ waitingPerKey: 1, whenFull: 'replace' }, { limits: { dependencies: 2 } });
      stage.submit([{ itemId: 'a', key: 'a' }, after('b', 'a'), after('c', 'a')]);
      assert.equal(stage.submit([after('d', 'a')]).refusal.kind, 'limit');
      told(
        await stage.coordinator.admin.ask('discard', { queue: QUEUE, key: undefined, itemIds: ['b'], waiting: true }),
      );
      stage.submit([{ itemId: 'newer', key: 'c' }]);
      assert.ok(stage.submit([after('d', 'a'), after('e', 'a')]).value);
      assert.deepEqual(stage.drainIds(), ['a', 'newer', 'd', 'e']);
    });

    it('limits.dependencies bounds what all wait for; wait_for_room waits for that too', () => {
      const stage = set({}, { limits: { dependencies: 2 } });
      stage.submit([{ itemId: 'a', key: 'a' }, { itemId: 'z', key: 'z' }, after('b', 'a', 'z')]);
      const refused = stage.submit([after('c', 'a')]).refusal;
      assert.deepEqual(refused.kind === 'limit' && [refused.subject, refused.limit], ['dependencies', 2]);
      const waiting = stage.submit([after('c', 'z')], { waitForRoom: 60_000 });
      assert.equal(violationOf(stage.submit([after('d', 'a', 'b', 'z')])).field, 'items');
      stage.ack(takeOnly(stage, 'a'));
      assert.equal(waiting.value.results[0]?.decision, 'accept');
      assert.deepEqual(stage.drainIds(), ['z', 'b', 'c']);
    });
  });

  describe('Dependencies in a circle', () => {
    it('an item cannot wait for itself', () => {
      const { field, description } = violationOf(set().submit([{ ...after('a', 'a'), afterUnknown: 'wait' }]));
      assert.equal(field, 'items[0].after[0]');
      assert.match(description, /^item a of queue q is the item itself/);
    });

    it('within a call', () => {
      const stage = set();
      const { field, description } = violationOf(
        stage.submit([{ itemId: 'free' }, after('a', 'free', 'b'), after('b', 'a')]),
      );
      assert.match(field, /^items\[[12]\]\.after\[[01]\]$/);
      assert.match(description, /item a of queue q waits for item b of queue q/);
      assert.match(description, /item b of queue q waits for item a of queue q/);
      assert.equal(stage.await('free').value.state, 'unknown');
    });

    it('closed by one that somebody waits for already, over several', () => {
      const stage = set();
      const waits = { afterUnknown: 'wait' } as const;
      stage.submit([{ ...after('a', 'd'), ...waits }, after('b', 'a'), { itemId: 'free' }]);
      stage.submit([after('c', 'b')]);
      const { field, description } = violationOf(stage.submit([after('d', 'free', 'c')]));
      assert.equal(field, 'items[0].after[1]');
      for (const [one, other] of ['dc', 'cb', 'ba', 'ad'])
        assert.match(description, new RegExp(`item ${one} of queue q waits for item ${other} of queue q|${one}`));
      assert.ok(stage.submit([after('d', 'free')]).value, 'without that it is none');
      assert.deepEqual(stage.drainIds(), ['free', 'd', 'a', 'b', 'c']);
    });

    it('one that stands before it in the line of its key, in one call or in two', () => {
      const stage = set();
      const waits = { ...after('a', 'b'), key: 'k', afterUnknown: 'wait' } as const;
      const { field, description } = violationOf(stage.submit([waits, { itemId: 'b', key: 'k' }]));
      assert.equal(field, 'items[0].after[0]');
      assert.match(description, /an item waits for those of its key before it/);
      stage.submit([waits]);
      const later = violationOf(stage.submit([{ itemId: 'b', key: 'k', payload: bytes('b') }]));
      assert.equal(later.field, 'items[0].key');
      assert.match(later.description, /^item a of queue q waits for this one/);
      assert.ok(stage.submit([{ itemId: 'b', key: 'other' }]).value);
      assert.deepEqual(stage.drainIds(), ['b', 'a']);
    });
  });

  describe('Many dependencies', () => {
    it('thousands that wait for one, and a chain as long, are told in steps that others come between', () => {
      const stage = set();
      const many = Array.from({ length: 1_000 }, (_, index) => index);
      stage.items('root');
      for (const part of ['p', 'q', 'r'])
        stage.submit(many.map((index) => ({ ...after(`${part}${index}`, 'root'), key: '' })));
      stage.submit(many.map((index) => after(`s${index}`, index === 0 ? 'root' : `s${index - 1}`)));
      const results: Call<SubmitAnswer>[] = [];
      stage.nack(takeOnly(stage, 'root'), { kind: 'dead_letter' });
      stage.advance(1);
      results.push(stage.submit([after('late', 's999')]));
      for (const id of ['p0', 'r999', 's999', 'late']) assert.equal(stage.await(id).value.state, 'dead', id);
    });
  });
}
