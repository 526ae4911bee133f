/** Calls of people over many homes, and the numbers and the end of what runs here. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { ListQueuesRequest, MaybePartial, Refusal, Result, Watcher } from '../../../src/coordinator.js';
import { told } from '../../contract/stage.js';
import { ALL_QUEUES } from '../../support/builders.js';
import { RoutingStage } from './stage.js';

const SPREAD = { wide: { group: 'wide', spread: 64 } } as const;
/** For how long a home that is away is waited for. */
const PATIENCE = 2_000;

function wide(change: object = {}): RoutingStage {
  const stage = new RoutingStage({ routes: SPREAD, ...change });
  assert.equal(stage.map.all('wide').length, 4);
  return stage;
}

/** The answer of a call that waits for a home that does not come. */
async function inVain<T>(stage: RoutingStage, answer: Promise<T>): Promise<T> {
  stage.advance(PATIENCE);
  return answer;
}

describe('ListQueues over many homes', () => {
  it('by name, each once, in pages, those of the configuration too', async () => {
    const stage = new RoutingStage({ change: { queues: { named: {} } } });
    const names = ['named', ...Array.from({ length: 30 }, (_, at) => `n${at}`)].sort();
    for (const queue of names) if (queue !== 'named') stage.hold({ queue });
    const { admin } = stage.coordinator;
    const all = told(await admin.ask('listQueues', ALL_QUEUES));
    assert.deepEqual([all.queues.map(({ name }) => name), all.more], [names, false]);
    const seen: string[] = [];
    for (let after = '', more = true; more; ) {
      const page = told(await admin.ask('listQueues', { nameContains: 'n', after, most: 7 }));
      seen.push(...page.queues.map(({ name }) => name));
      after = seen.at(-1) ?? '';
      more = page.more;
    }
    assert.deepEqual(seen, names);
    assert.deepEqual(told(await admin.ask('listQueues', { nameContains: 'n1', after: '', most: 2 })).queues.length, 2);
  });

  it('S458: those that are stuck, in pages, and a spread one by what its parts are together', async () => {
    const stage = new RoutingStage({ change: { queues: { wide: { spread: 2 } } } });
    const names = Array.from({ length: 90 }, (_, at) => `n${at}`).sort();
    for (const queue of [...names, 'wide']) stage.hold({ queue });
    const { admin } = stage.coordinator;
    const stuck = async (more: Partial<ListQueuesRequest> = {}) => {
      const page = told(await admin.ask('listQueues', { ...ALL_QUEUES, stuckFor: 10_000, ...more }));
      return [page.queues.map(({ name }) => name), page.more];
    };
    assert.deepEqual(await stuck(), [[], false]);
    for (const queue of ['n7', 'n70', 'n71', 'wide']) told(await admin.ask('pauseQueue', { queue }));
    assert.deepEqual(await stuck(), [['n7', 'n70', 'n71', 'wide'], false]);
    assert.deepEqual(await stuck({ most: 2 }), [['n7', 'n70'], true]);
    assert.deepEqual(await stuck({ most: 2, after: 'n70' }), [['n71', 'wide'], false]);
    assert.deepEqual(await stuck({ nameContains: '1' }), [['n71'], false]);
  });

  it('S260: a home that is away is named, and the others are told', async () => {
    const stage = new RoutingStage();
    const [a = '', b = ''] = stage.queues();
    for (const queue of [a, b]) stage.hold({ queue });
    stage.homes.set(1, undefined);
    const page = told(await inVain(stage, stage.coordinator.admin.ask('listQueues', ALL_QUEUES)));
    assert.deepEqual(
      page.queues.map(({ name }) => name),
      [a],
    );
    assert.deepEqual(
      page.unavailable?.map(({ partition, why }) => [partition, /nobody has claimed 1/.test(why)]),
      [[1, true]],
    );
  });

  it('a queue that is spread is one, its parts added up', async () => {
    const stage = wide({ policy: { maxInFlight: 5 } });
    for (let p = 0; p < 4; p += 1) stage.hold({ queue: 'wide', key: stage.keyAt('wide', p) });
    const { queues } = told(await stage.coordinator.admin.ask('listQueues', ALL_QUEUES));
    const [view] = queues;
    assert.deepEqual([queues.length, view?.liveTurns, view?.states.PROCESS, view?.paused], [1, 4, 4, false]);
    assert.equal(view?.policy.maxInFlight, 20);
  });
});

describe('lists of a queue that is spread', () => {
  it('ListKeys: longest in their state first over all homes, in pages that carry on', async () => {
    const stage = wide();
    const keys: string[] = [];
    for (let nth = 0; nth < 20; nth += 1) {
      for (const p of [2, 0, 3, 1]) {
        const key = stage.keyAt('wide', p, nth);
        keys.push(key);
        stage.hold({ queue: 'wide', key });
        stage.advance(1);
      }
    }
    const { admin } = stage.coordinator;
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = told(await admin.ask('listKeys', { queue: 'wide', state: undefined, pageSize: 7, pageToken }));
      seen.push(...page.keys.map(({ key }) => key));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    assert.deepEqual(seen, keys);
  });

  it('ListDeadLetters: in the order of submission, in pages that end at the size of an answer', async () => {
    const stage = wide({ change: { queues: {}, limits: { answerBytes: 30_000 } } });
    const ids: string[] = [];
    for (let nth = 0; nth < 10; nth += 1) {
      for (const p of [1, 3, 0, 2]) {
        const itemId = `i${ids.length}`;
        ids.push(itemId);
        const item = { itemId, key: stage.keyAt('wide', p, nth), payload: new Uint8Array(4_000) };
        stage.submit([item], { queue: 'wide' });
        stage.nack(stage.take({ queues: ['wide'] }).turn, { kind: 'dead_letter' });
        stage.advance(1);
      }
    }
    const { admin } = stage.coordinator;
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = told(await admin.ask('listDeadLetters', { queue: 'wide', key: undefined, pageSize: 20, pageToken }));
      assert.ok(page.deadLetters.length <= 5, 'four kilobytes each and two for the rest');
      seen.push(...page.deadLetters.map(({ item }) => item.itemId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    assert.deepEqual(seen, ids);
    const all = { queue: 'wide', key: undefined, itemIds: [] };
    assert.equal(told(await admin.ask('redrive', { ...all, itemIds: ['i0', 'i1', 'never'] })).done, 2);
    // S455: over all parts together.
    const dry = told(await admin.ask('discard', { ...all, dryRun: true, most: 5, waiting: false }));
    assert.deepEqual([dry.done, dry.chosen], [0, 38]);
    const five = told(await admin.ask('discard', { ...all, most: 5, waiting: false }));
    assert.deepEqual([five.done, five.chosen], [5, 38]);
    const rest = told(await admin.ask('discard', { ...all, waiting: false }));
    assert.deepEqual([rest.done, rest.chosen], [33, 33]);
  });

  it('a page token of no answer is refused', async () => {
    const { admin } = wide().coordinator;
    const tokens = ['x', 'W10x', ...['{"a":1}', '[[1]]'].map((text) => Buffer.from(text).toString('base64url'))];
    const place = Buffer.from(JSON.stringify([[1, 'no place']])).toString('base64url');
    for (const pageToken of [...tokens, place]) {
      const refused = await admin.ask('listKeys', { queue: 'wide', state: undefined, pageSize: 7, pageToken });
      assert.ok(!refused.ok && refused.refusal.kind === 'bad_request', pageToken);
    }
  });

  it('S260: a part that is away is named in each of them', async () => {
    const stage = wide();
    stage.submit([{ key: '', itemId: 'i' }], { queue: 'wide' });
    const gone = (stage.map.of('wide', '', 'i') + 1) % 4;
    stage.homes.set(gone, undefined);
    const { admin } = stage.coordinator;
    const answers: readonly Promise<Result<MaybePartial>>[] = [
      admin.ask('listKeys', { queue: 'wide', state: undefined, pageSize: 7, pageToken: '' }),
      admin.ask('listDeadLetters', { queue: 'wide', key: undefined, pageSize: 7, pageToken: '' }),
      admin.ask('explainKey', { queue: 'wide', key: '' }),
      admin.ask('setLimits', { queue: 'wide', change: { rate: undefined, maxInFlight: undefined } }),
    ];
    stage.advance(PATIENCE);
    for (const answer of answers) {
      const partitions = told(await answer).unavailable?.map(({ partition }) => partition);
      assert.deepEqual(partitions, [gone]);
    }
  });
});

describe('calls that change', () => {
  it('S260: fail naming who has not done it, and may be repeated', async () => {
    const stage = wide();
    const { admin } = stage.coordinator;
    const home = stage.at(2);
    stage.homes.set(2, undefined);
    const refused = await inVain(stage, admin.ask('pauseQueue', { queue: 'wide' }));
    // Three have done it: NO_HOME would say that nothing was changed.
    assert.ok(!refused.ok && refused.refusal.kind === 'store_unavailable');
    assert.match(refused.refusal.description, /not done by 1 of 4 partitions.*partition 2: .*nobody has claimed 2/);
    const listed = await inVain(stage, admin.ask('listQueues', ALL_QUEUES));
    assert.equal(told(listed).queues[0]?.paused, true, 'of those that could be asked');
    stage.homes.set(2, home);
    assert.equal(told(await admin.ask('listQueues', ALL_QUEUES)).queues[0]?.paused, false, 'one part goes on');
    told(await admin.ask('pauseQueue', { queue: 'wide' }));
    assert.equal(stage.acquire({ queues: ['wide'] }).value.deliveries.length, 0);
    assert.equal(told(await admin.ask('listQueues', ALL_QUEUES)).queues[0]?.paused, true);
    told(await admin.ask('resumeQueue', { queue: 'wide' }));
    assert.equal(told(await admin.ask('listQueues', ALL_QUEUES)).queues[0]?.paused, false);
  });

  const CHOICE = { queue: 'wide', key: undefined, itemIds: [] };

  function bury(stage: RoutingStage, ...partitions: readonly number[]): void {
    for (const partition of partitions) {
      stage.submit([{ itemId: `dead${partition}`, key: stage.keyAt('wide', partition) }], { queue: 'wide' });
      stage.nack(stage.take({ queues: ['wide'] }).turn, { kind: 'dead_letter' });
    }
  }

  it('S455: with a limit, dead letters of all parts come before items that wait', async () => {
    const stage = wide();
    bury(stage, 2, 3);
    stage.submit([{ itemId: 'waits', key: stage.keyAt('wide', 0) }], { queue: 'wide' });
    const { admin } = stage.coordinator;
    const discard = (most: number) => admin.ask('discard', { ...CHOICE, waiting: true, most });
    const chosen = async () => told(await admin.ask('discard', { ...CHOICE, waiting: true, dryRun: true })).chosen;
    const first = told(await discard(1));
    assert.deepEqual([first.done, first.chosen], [1, 3]);
    const state = async () =>
      told(await admin.ask('getItem', { queue: 'wide', itemId: 'waits', withPayload: false })).state;
    assert.equal(await state(), 'waiting');
    const second = told(await discard(2));
    assert.deepEqual([second.done, second.chosen, await chosen()], [2, 2, 0]);
  });

  for (const kind of ['redrive', 'discard'] as const)
    it(`S260: ${kind} with a limit is not refused as NO_HOME after it has changed something`, async () => {
      const stage = wide();
      bury(stage, 0, 3);
      stage.homes.set(3, undefined);
      const answer = stage.coordinator.admin.ask(kind, { ...CHOICE, waiting: false, most: 8 });
      // The parts are asked in turn: only the last one is waited for in vain.
      let isOver = false;
      void answer.finally(() => {
        isOver = true;
      });
      for (; !isOver; await setImmediate()) stage.advance(PATIENCE);
      const refused = await answer;
      assert.ok(!refused.ok && refused.refusal.kind === 'store_unavailable');
      assert.match(refused.refusal.description, /^1 items were changed, then partition 3 .*nobody has claimed 3/);
    });

  for (const away of [0, 3])
    it(`S260: RetryNow of an item may have been done where the answer was lost, whatever part is away (${away})`, async () => {
      const stage = wide();
      stage.submit([{ itemId: 'it', key: stage.keyAt('wide', 2), delay: 60_000 }], { queue: 'wide' });
      const { admin } = stage.at(2);
      const lost = { kind: 'store_unavailable', description: 'the link broke', retryAfter: 1_000 } as const;
      Object.assign(admin, { ask: async () => ({ ok: false, refusal: lost }) });
      stage.homes.set(away, undefined);
      const refused = await inVain(
        stage,
        stage.coordinator.admin.ask('retryNow', { queue: 'wide', what: { itemId: 'it' } }),
      );
      assert.deepEqual(refused, { ok: false, refusal: lost });
    });

  it('SetLimits is shared out so that the parts are the whole; less than one each is refused', async () => {
    const stage = wide();
    const { admin } = stage.coordinator;
    const set = told(
      await admin.ask('setLimits', {
        queue: 'wide',
        change: { rate: { perSecond: 100.5, burst: 70 }, maxInFlight: 130 },
      }),
    );
    assert.deepEqual(set, { rate: { perSecond: 100.5, burst: 70 }, maxInFlight: 130 });
    const nothing = { rate: undefined, maxInFlight: undefined };
    const parts = await Promise.all(
      [0, 1, 2, 3].map((p) => stage.at(p).admin.ask('setLimits', { queue: 'wide', change: nothing })),
    );
    const shares = parts.map((part) => told(part).maxInFlight ?? 0);
    assert.ok(shares.every((share) => share > 0));
    assert.equal(
      shares.reduce((sum, share) => sum + share, 0),
      130,
    );
    assert.deepEqual(told(await admin.ask('setLimits', { queue: 'wide', change: nothing })), set);
    for (const change of [
      { rate: undefined, maxInFlight: 63 },
      { rate: { perSecond: 100, burst: 63 }, maxInFlight: undefined },
      { rate: { perSecond: 63, burst: 100 }, maxInFlight: undefined },
    ]) {
      const refused = await admin.ask('setLimits', { queue: 'wide', change });
      assert.ok(!refused.ok && refused.refusal.kind === 'bad_request');
    }
    assert.deepEqual(
      told(await admin.ask('setLimits', { queue: 'wide', change: { rate: 'none', maxInFlight: 'none' } })),
      nothing,
    );
  });

  it('RetryNow of an item finds it in whatever part it is; unknown everywhere it is no such item', async () => {
    const stage = wide();
    const { admin } = stage.coordinator;
    for (let p = 0; p < 4; p += 1) {
      stage.submit([{ itemId: `i${p}`, key: stage.keyAt('wide', p), delay: 60_000 }], { queue: 'wide' });
    }
    const done = told(await admin.ask('retryNow', { queue: 'wide', what: { itemId: 'i2' } }));
    assert.deepEqual([done.itemId, done.ended], ['i2', ['delay']]);
    const refused = await admin.ask('retryNow', { queue: 'wide', what: { itemId: 'never' } });
    assert.ok(!refused.ok && refused.refusal.kind === 'no_such');
    stage.homes.set(1, undefined);
    const unsure = await inVain(stage, admin.ask('retryNow', { queue: 'wide', what: { itemId: 'never' } }));
    assert.ok(!unsure.ok && unsure.refusal.kind === 'no_home', 'it may be there');
  });

  it('ExplainKey of the empty key tells of keyless items of all parts', async () => {
    const stage = wide();
    stage.submit(
      Array.from({ length: 12 }, (_, at) => ({ key: '', itemId: `i${at}` })),
      { queue: 'wide' },
    );
    stage.take({ queues: ['wide'] });
    const { state, waitingItems, line, holder } = told(
      await stage.coordinator.admin.ask('explainKey', { queue: 'wide', key: '' }),
    );
    assert.deepEqual([state, waitingItems, line.length, holder], ['READY', 11, 11, undefined]);
  });

  it('asked of the empty key, all parts of a spread queue answer; asked of a key, its home alone', async () => {
    const stage = wide();
    const asked: number[] = [];
    for (const p of [0, 1, 2, 3]) {
      const { admin } = stage.at(p);
      const { ask } = admin;
      admin.ask = (kind, request) => {
        asked.push(p);
        return ask.call(admin, kind, request);
      };
    }
    const { admin } = stage.coordinator;
    const partitionsOf = async (key: string) => {
      const name = { queue: 'wide', key };
      const choice = { ...name, itemIds: [] };
      const calls = [
        () => admin.ask('explainKey', name),
        () => admin.ask('resumeKey', name),
        () => admin.ask('listDeadLetters', { ...name, pageSize: 1, pageToken: '' }),
        () => admin.ask('redrive', choice),
        () => admin.ask('discard', { ...choice, waiting: false }),
      ];
      const all: (readonly number[])[] = [];
      for (const call of calls) {
        asked.length = 0;
        assert.ok((await call()).ok);
        all.push([...asked].sort((a, b) => a - b));
      }
      return all;
    };
    assert.deepEqual(await partitionsOf(''), Array(5).fill([0, 1, 2, 3]));
    assert.deepEqual(await partitionsOf(stage.keyAt('wide', 2)), Array(5).fill([2]));
  });

  it('a person waits for a home that comes', async () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    stage.hold({ queue });
    const home = stage.at(0);
    stage.homes.set(0, undefined);
    const evicted = stage.coordinator.admin.ask('evictHolder', { queue, key: 'k' });
    stage.homes.set(0, home);
    assert.equal(told(await evicted).evicted, true);
  });
});

describe('WatchEvents over many homes', () => {
  function watching(stage: RoutingStage, queue?: string) {
    const seen = { wakes: 0, ends: 0 };
    const watcher: Watcher = { wake: () => void seen.wakes++, end: () => void seen.ends++ };
    return { seen, watch: told(stage.coordinator.admin.watch(queue, undefined, watcher)) };
  }

  it('one stream of what all homes tell, woken once until it was taken', () => {
    const stage = new RoutingStage();
    const { seen, watch } = watching(stage);
    for (const queue of stage.queues()) stage.hold({ queue });
    assert.equal(seen.wakes, 1);
    const queues = new Set(watch.take().events.map(({ queue }) => queue));
    assert.equal(queues.size, 4);
    assert.deepEqual(watch.take(), { events: [], missed: 0 });
    stage.hold({ queue: stage.queueAt(2), key: 'later' });
    assert.equal(seen.wakes, 2);
  });

  it('a reader that is slow misses what does not fit, counted once, behind what came before', () => {
    const stage = new RoutingStage();
    const { watch } = watching(stage);
    for (let at = 0; at < 600; at += 1) for (const queue of stage.queues()) stage.hold({ queue, key: `k${at}` });
    let [events, missed] = [0, 0];
    for (let taken = watch.take(); taken.events.length + taken.missed > 0; taken = watch.take()) {
      assert.ok(taken.events.length === 0 || taken.missed === 0, 'a gap comes alone');
      events += taken.events.length;
      missed += taken.missed;
    }
    assert.equal(events + missed, 4 * 600 * 2);
    assert.ok(events <= 4_000 && missed > 0);
  });

  it('S261: a home that changes is watched at the next one; that something may be missing is told', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const { seen, watch } = watching(stage, queue);
    stage.moved(stage.at(0), 0);
    assert.equal(seen.wakes, 1);
    assert.deepEqual(watch.take(), { events: [], missed: 1 });
    assert.deepEqual(watch.take(), { events: [], missed: 0 });
    stage.hold({ queue });
    assert.equal(watch.take().events.length, 2);
  });

  it('S357: a home that comes and refuses to be watched ends the watch with its reason, whenever it says so', () => {
    const full: Refusal = { kind: 'limit', subject: 'watchers', limit: 1, description: 'full', retryAfter: 1_000 };
    for (const isElsewhere of [false, true]) {
      const stage = new RoutingStage();
      const why: (Refusal | undefined)[] = [];
      told(stage.coordinator.admin.watch(undefined, undefined, { wake() {}, end: (said) => void why.push(said) }));
      stage.homes.set(0, undefined);
      const home = stage.begin(0, false);
      let asked = 0;
      home.admin.watch = (_queue, _key, watcher) => {
        asked += 1;
        if (!isElsewhere) return { ok: false, refusal: full };
        stage.clock.after(5, () => watcher.end(full));
        return { ok: true, value: { take: () => ({ events: [], missed: 0 }), stop: () => undefined } };
      };
      stage.advance(1_000);
      assert.deepEqual([why, asked], [[full], 1]);
    }
  });

  it('S357: a home elsewhere that turns out to be none counts no miss each time that it is asked', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const { seen, watch } = watching(stage, queue);
    const old = stage.at(0);
    stage.homes.set(0, undefined);
    const home = stage.begin(0, false);
    const { watch: really } = home.admin;
    let asked = 0;
    home.admin.watch = (_queue, _key, watcher) => {
      asked += 1;
      stage.clock.after(5, () => watcher.end(old.noHome));
      return { ok: true, value: { take: () => ({ events: [], missed: 0 }), stop: () => undefined } };
    };
    stage.advance(1_000);
    assert.ok(asked > 10 && asked <= 21, `${asked}`);
    home.admin.watch = (...args) => really.call(home.admin, ...args);
    stage.advance(100);
    assert.deepEqual(
      [watch.take(), watch.take(), seen],
      [
        { events: [], missed: 1 },
        { events: [], missed: 0 },
        { wakes: 1, ends: 0 },
      ],
    );
    stage.hold({ queue });
    assert.equal(watch.take().events.length, 2);
  });

  it('stop and end: nothing follows, and close ends who watches once', async () => {
    const stage = new RoutingStage();
    const [stopped, ended] = [watching(stage), watching(stage)];
    stopped.watch.stop();
    const closed = stage.coordinator.close();
    stage.clock.turn();
    await closed;
    assert.deepEqual([stopped.seen.ends, ended.seen.ends], [0, 1]);
  });

  it('no more than limits.watchers', () => {
    const stage = new RoutingStage({ change: { queues: {}, limits: { watchers: 1 } } });
    const { watch } = watching(stage);
    const refused = stage.coordinator.admin.watch(undefined, undefined, { wake() {}, end() {} });
    assert.ok(!refused.ok && refused.refusal.kind === 'limit');
    watch.stop();
    watching(stage);
  });
});

describe('what runs here', () => {
  it('S262: numbers are of partitions here, each queue once, histograms and journals added up', async () => {
    const stage = wide();
    const [a = '', b = ''] = stage.queues();
    for (const queue of [a, b]) stage.end(stage.hold({ queue }));
    for (let p = 0; p < 4; p += 1) stage.hold({ queue: 'wide', key: stage.keyAt('wide', p) });
    stage.homes.isElsewhere(1);
    const { queues, journal } = stage.coordinator.stats();
    const names = queues.map(({ view }) => view.name).sort();
    assert.deepEqual(names, [a, 'wide'].sort());
    const spread = queues.find(({ view }) => view.name === 'wide');
    assert.deepEqual([spread?.view.liveTurns, spread?.wait.count], [3, 3]);
    assert.ok((journal?.commit.count ?? 0) >= 4);
    const taken = new Map<string, object>();
    const standing = stage.coordinator.statsInSlices((queue) => void taken.set(queue.name, queue));
    for (let turn = 0; turn < 20; turn += 1) {
      stage.clock.turn();
      await Promise.resolve();
    }
    assert.equal((await standing).payloadLimit, stage.coordinator.stats().payloadLimit);
    assert.deepEqual([...taken.keys()].sort(), names);
  });

  it('S262: a queue that the configuration names is told by the one that decides about it', async () => {
    const stage = new RoutingStage({ change: { queues: { named: {} } } });
    const names = stage.coordinator.stats().queues.map(({ view }) => view.name);
    assert.deepEqual(names, ['named']);
    const taken: string[] = [];
    await stage.coordinator.statsInSlices(({ name }) => void taken.push(name));
    assert.deepEqual(taken, ['named']);
    stage.homes.isElsewhere(stage.map.of('named', ''));
    assert.deepEqual(stage.coordinator.stats().queues, []);
  });

  it('S262: of a queue the same object every time, and gone when its partition has moved away', async () => {
    const stage = wide();
    const [a = ''] = stage.queues();
    for (const queue of [a, 'wide']) stage.hold({ queue });
    const look = async () => {
      const taken = new Map<string, { readonly isGone: boolean }>();
      await stage.coordinator.statsInSlices((queue) => void taken.set(queue.name, queue));
      return taken;
    };
    const [first, second] = [await look(), await look()];
    for (const name of [a, 'wide']) assert.equal(first.get(name), second.get(name));
    stage.moved(stage.at(0), 0);
    assert.equal(first.get(a)?.isGone, true);
  });

  it('drain adds up what was live, leaves first if it is told how, and lets others take new work meanwhile', async () => {
    const stage = new RoutingStage();
    const [a = '', b = '', c = ''] = stage.queues();
    for (const queue of [a, b]) stage.hold({ queue });
    stage.homes.isElsewhere(2);
    const waits = stage.enQueue({ queue: a, wait: 60_000 });
    const elsewhere = stage.acquire({ queues: [c], wait: 60_000 });
    const report = stage.coordinator.drain(1_000);
    assert.deepEqual([waits.refusal.kind, elsewhere.refusal.kind], ['draining', 'draining']);
    assert.equal(stage.enQueue({ queue: c }).refusal.kind, 'draining');
    assert.equal(stage.await('i', 0, c).value.state, 'unknown', 'what only looks goes on');
    stage.advance(1_000);
    assert.deepEqual(await report, { liveTurns: 2, lostItems: 0 });
    assert.equal(stage.at(2).asked.includes('acquire 60000'), true);
  });
});
