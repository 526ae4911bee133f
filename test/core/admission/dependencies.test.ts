/** Items of durable queues that wait for others, across a restart. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  ItemRef,
  NackAnswer,
  NewItem,
  Policy,
  SubmitAnswer,
  Turn,
} from '../../../src/coordinator.js';
import type { RowChange } from '../../../src/core/contract/rows.js';
import { Core, type Effect } from '../../../src/core/core.js';
import * as build from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { FIRST_WALL } from '../../support/fake-clock.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { atOnce } from '../stage.js';

const ALL = 1_000_000;
/** Not durable. */
const FLEETING = 'fleeting';

/** One core after the other on one disk. */
class Runs {
  readonly #disk = new MemoryDisk();
  readonly #policy: Partial<Policy>;
  #core: Core;
  #now = 5_000;

  constructor(policy: Partial<Policy> = {}) {
    this.#policy = { durable: true, ...policy };
    this.#core = this.#start();
  }

  submit(items: readonly Partial<NewItem>[], queue = build.QUEUE): Call<SubmitAnswer> {
    const request = { queue, items: items.map(build.newItem), waitForRoom: 0, durability: undefined };
    return this.#call((reply) => this.#core.submit(request, reply, this.#now));
  }

  /** The turns of all items that can be taken now, by the ids of these. */
  take(queue = build.QUEUE): ReadonlyMap<string, Turn> {
    const request = build.acquireRequest({ queues: [queue], maxTurns: 100 });
    const call = this.#call<AcquireAnswer>((reply) => this.#core.acquire(request, reply, this.#now));
    return new Map(call.value.deliveries.map(({ turn, items }) => [items[0]?.itemId ?? '', turn]));
  }

  settle(turn: Turn | undefined, how: 'done' | 'dead'): void {
    assert.ok(turn !== undefined);
    const { queue, key, token } = turn;
    const ack = build.ackRequest({ queue, key, token });
    const nack = build.nackRequest({ queue, key, token, kind: 'dead_letter' });
    if (how === 'done') assert.ok(this.#call<AckAnswer>((reply) => this.#core.ack(ack, reply, this.#now)).value);
    else assert.ok(this.#call<NackAnswer>((reply) => this.#core.nack(nack, reply, this.#now)).value);
  }

  /** Takes this item, which must be the only one that can be, and settles its turn. */
  finish(itemId: string, how: 'done' | 'dead' = 'done', queue = build.QUEUE): void {
    const taken = this.take(queue);
    assert.deepEqual([...taken.keys()], [itemId]);
    this.settle(taken.get(itemId), how);
  }

  stateOf(itemId: string, queue = build.QUEUE): string {
    const request = { queue, itemId, wait: 0 };
    return this.#call<AwaitAnswer>((reply) => this.#core.awaitItem(request, reply, this.#now)).value.state;
  }

  /** What the head of the lane `key` waits for. */
  awaited(key: string): string[] {
    const explained = this.#core.explainKey(build.QUEUE, key, this.#now);
    assert.ok(explained.ok);
    return (explained.value.line[0]?.after?.first ?? []).map(({ itemId }) => itemId);
  }

  redrive(itemId: string): void {
    atOnce(this.#core.redrive({ queue: build.QUEUE, key: undefined, itemIds: [itemId] }, 1_000, () => this.#now));
    this.#carry();
  }

  pass(ms: number): void {
    this.#now += ms;
    while (this.#core.tick(this.#now, ALL));
    this.#carry();
  }

  /** @param keep which of the changes that are not on the disk get there before the process is killed */
  restart(keep: (change: RowChange) => boolean = () => true): void {
    const batch = this.#core.collect(this.#now);
    this.#disk.apply(batch.changes.filter(keep), batch.instant);
    this.#core = this.#start();
    this.pass(0);
  }

  #start(): Core {
    const settings = build.settings({
      queues: { [build.QUEUE]: this.#policy, [FLEETING]: {} },
      limits: { idleLanes: 100, dependencies: 5 },
    });
    const rows = this.#disk.rows();
    const floor = rows.find((row) => row.table === 'floor')?.token;
    const core = new Core(settings, { now: this.#now, wall: FIRST_WALL, seed: 1, durable: true, tokenFloor: floor });
    core.restore(rows, this.#now, this.#disk.past);
    while (core.finishRestore(this.#now, 1));
    return core;
  }

  #call<T>(run: (reply: Call<T>) => unknown): Call<T> {
    const call = new Call<T>();
    run(call);
    this.#carry();
    return call;
  }

  /** As if every change were on the disk at once: when answers are told is not the subject here. */
  #carry(): void {
    for (const next of [() => this.#core.takeEffect(), () => this.#core.takeHeld()])
      for (let effect = next(); effect !== undefined; effect = next()) tell(effect);
  }
}

function tell(effect: Effect): void {
  switch (effect.kind) {
    case 'submit':
      effect.to.answer(effect.answer);
      return;
    case 'acquire':
      effect.to.answer(effect.answer);
      return;
    case 'await':
      effect.to.answer(effect.answer);
      return;
    case 'ack':
      effect.to.answer(effect.answer);
      return;
    case 'nack':
      effect.to.answer(effect.answer);
      return;
    case 'refuse':
      effect.to.refuse(effect.refusal);
      return;
    default:
      throw new Error(`nobody asks for ${effect.kind} here`);
  }
}

function after(itemId: string, ...awaited: (string | ItemRef)[]): Partial<NewItem> {
  const refs = awaited.map((one) => (typeof one === 'string' ? { queue: build.QUEUE, itemId: one } : one));
  return { itemId, key: itemId, after: refs };
}

function item(itemId: string): Partial<NewItem> {
  return { itemId, key: itemId };
}

describe('S69: dependencies across a restart', () => {
  it('what is open is waited for', () => {
    const runs = new Runs();
    runs.submit([item('a'), after('b', 'a'), after('c', 'b')]);
    runs.restart();
    runs.finish('a');
    runs.finish('b');
    runs.restart();
    runs.finish('c');
  });

  it('what is done is done, whether the restart comes before or after its dependants are told', () => {
    for (const keep of [() => true, (change: RowChange) => !isProgress(change)]) {
      const runs = new Runs();
      runs.submit([item('a'), item('later'), after('b', 'a', 'later')]);
      runs.settle(runs.take().get('a'), 'done');
      runs.restart(keep);
      assert.deepEqual(runs.awaited('b'), ['later']);
    }
  });

  it('what was done and is forgotten holds nobody back', () => {
    const runs = new Runs({ resultTtl: 1_000 });
    runs.submit([item('a'), { ...item('slow'), delay: 5_000 }, after('b', 'a', 'slow')]);
    runs.restart();
    runs.finish('a');
    runs.restart();
    runs.pass(5_000);
    runs.restart();
    assert.equal(runs.stateOf('a'), 'unknown');
    runs.finish('slow');
    runs.restart();
    runs.finish('b');
  });

  it('what is unknown after it, as it was not durable, is waited for until it is submitted again', () => {
    const runs = new Runs();
    const fleeting: ItemRef = { queue: FLEETING, itemId: 'a' };
    runs.submit([item('a')], FLEETING);
    runs.submit([after('b', fleeting)]);
    runs.restart();
    assert.equal(runs.stateOf('a', FLEETING), 'unknown');
    assert.equal(runs.take().size, 0);
    runs.submit([item('a')], FLEETING);
    runs.finish('a', 'done', FLEETING);
    runs.finish('b');
  });

  it('what is dead is dead, though the process ended before its dependants were told', () => {
    const runs = new Runs();
    runs.submit([item('a'), after('b', 'a'), after('c', 'b')]);
    runs.restart();
    runs.finish('a', 'dead');
    runs.restart((change) => !('put' in change && change.put.table === 'progress' && change.put.seq !== 1));
    for (const id of ['a', 'b', 'c']) assert.equal(runs.stateOf(id), 'dead', id);
    runs.restart();
    for (const id of ['a', 'b', 'c']) assert.equal(runs.stateOf(id), 'dead', id);
    runs.redrive('c');
    runs.restart();
    runs.finish('c');
  });

  it('what has to become a dead letter, and cannot yet, has to still', () => {
    const runs = new Runs({ onDeadLetter: 'park' });
    runs.submit([item('a'), { ...item('first'), key: 'k' }, { ...after('b', 'a'), key: 'k' }]);
    runs.restart();
    const turns = runs.take();
    assert.deepEqual([...turns.keys()], ['a', 'first']);
    runs.settle(turns.get('a'), 'dead');
    runs.restart();
    assert.equal(runs.stateOf('b'), 'waiting');
    runs.settle(turns.get('first'), 'done');
    assert.equal(runs.stateOf('b'), 'dead');
  });

  it('the same id with the same content is the same item, with another it is refused', () => {
    const runs = new Runs();
    runs.submit([item('a'), after('b', 'a')]);
    runs.restart();
    assert.equal(runs.submit([after('b', 'a')]).value.results[0]?.decision, 'accept');
    assert.equal(runs.submit([item('b')]).refusal.kind, 'bad_request');
  });

  it('they count in the limit, and those that are gone do not', () => {
    const runs = new Runs();
    runs.submit([item('a'), after('b', 'a'), after('c', 'a')]);
    runs.restart();
    assert.equal(runs.submit([after('d', 'a', 'b', 'c', 'a')]).refusal.kind, 'limit');
    runs.finish('a');
    runs.restart();
    assert.ok(runs.submit([after('d', 'b', 'c')]).value);
    assert.ok(runs.submit([after('e', 'b', 'c', 'd')]).value);
    assert.equal(runs.submit([after('f', 'b')]).refusal.kind, 'limit');
  });
});

function isProgress(change: RowChange): boolean {
  return 'put' in change && change.put.table === 'progress';
}
