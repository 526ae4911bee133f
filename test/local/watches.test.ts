import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CoordinatorEvent, Watch } from '../../src/coordinator.js';
import { Watches } from '../../src/local/watches.js';
import { localCoordinator } from '../support/local-coordinator.js';

/** Events kept for a reader. */
const BUFFER = 1_000;

function event(at: number, queue = 'q', key = 'k'): CoordinatorEvent {
  return { kind: 'turn', at, queue, key, token: at, itemId: undefined, consumerId: undefined, detail: undefined };
}

/** A reader that counts how often it was woken. */
class Reader {
  wakes = 0;
  ended = 0;

  wake(): void {
    this.wakes += 1;
  }

  end(): void {
    this.ended += 1;
  }
}

function setUp(key?: string) {
  const changes: boolean[] = [];
  const watches = new Watches((anybody) => changes.push(anybody));
  const reader = new Reader();
  const watch = watches.add('q', key, reader);
  const tell = (from: number, count: number) => {
    for (let at = from; at < from + count; at++) watches.emit(event(at));
  };
  return { changes, watches, reader, watch, tell };
}

function takenBy(watch: Watch): { moments: number[]; missed: number } {
  const { events, missed } = watch.take();
  return { moments: events.map(({ at }) => at), missed };
}

function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}

describe('those who watch events', () => {
  it('get them in order, each once', () => {
    const { watch, tell } = setUp();
    tell(0, 3);
    assert.deepEqual(takenBy(watch), { moments: [0, 1, 2], missed: 0 });
    assert.deepEqual(takenBy(watch), { moments: [], missed: 0 });
  });

  it('get those of their queue, and of their key if they named one', () => {
    const { watches, watch } = setUp('k');
    watches.emit(event(1, 'other', 'k'));
    watches.emit(event(2, 'q', 'other'));
    watches.emit(event(3, 'q', 'k'));
    assert.deepEqual(takenBy(watch).moments, [3]);
  });

  it('are woken once until they have taken', () => {
    const { watch, tell, reader } = setUp();
    tell(0, 10);
    assert.equal(reader.wakes, 1);
    watch.take();
    assert.equal(reader.wakes, 1);
    tell(10, 2);
    assert.equal(reader.wakes, 2);
  });

  it('are kept a bounded number of events, and told how many they missed where the gap is', () => {
    const { watch, tell, reader } = setUp();
    tell(0, BUFFER + 5);
    assert.deepEqual(takenBy(watch), { moments: range(0, BUFFER), missed: 0 });
    assert.equal(reader.wakes, 1, 'a reader takes until nothing comes');
    // The gap was not told yet: what happens meanwhile belongs to it, else it would stand in the wrong place.
    tell(BUFFER + 5, 2);
    assert.deepEqual(takenBy(watch), { moments: [], missed: 7 });
    tell(BUFFER + 7, 1);
    assert.equal(reader.wakes, 2);
    assert.deepEqual(takenBy(watch), { moments: [BUFFER + 7], missed: 0 });
  });

  it('are told the gap where it is, though they take as soon as they are woken', () => {
    const { watches, tell } = setUp();
    const told: (number | string)[] = [];
    const takeAll = () => {
      for (;;) {
        const { events, missed } = greedy.take();
        if (missed > 0) told.push(`missed ${missed}`);
        for (const { at } of events) told.push(at);
        if (events.length + missed === 0) return;
      }
    };
    let isSlow = true;
    const greedy = watches.add('q', undefined, { wake: () => isSlow || takeAll(), end: () => undefined });
    tell(0, BUFFER + 5);
    isSlow = false;
    takeAll();
    tell(BUFFER + 5, 1);
    assert.deepEqual(told, [...range(0, BUFFER), 'missed 5', BUFFER + 5]);
  });

  it('count: whatever was told was either given or counted as missed', () => {
    const { watch, tell } = setUp();
    let accounted = 0;
    let told = 0;
    for (const burst of [1, BUFFER, 3 * BUFFER, 0, 7, BUFFER + 1]) {
      tell(told, burst);
      told += burst;
      const { events, missed } = watch.take();
      accounted += events.length + missed;
    }
    for (;;) {
      const { events, missed } = watch.take();
      if (events.length + missed === 0) break;
      accounted += events.length + missed;
    }
    assert.equal(accounted, told);
  });

  it('do not hold each other up', () => {
    const { watches, watch, tell } = setUp();
    const quick = watches.add('q', undefined, new Reader());
    tell(0, BUFFER);
    quick.take();
    tell(BUFFER, 1);
    assert.deepEqual(takenBy(quick), { moments: [BUFFER], missed: 0 });
    assert.deepEqual(takenBy(watch).moments.length, BUFFER);
  });

  it('get nothing after they stopped; nothing is paid when nobody watches', () => {
    const { watches, watch, tell, reader, changes } = setUp();
    const other = watches.add('q', undefined, new Reader());
    watch.stop();
    tell(0, 1);
    assert.deepEqual(takenBy(watch), { moments: [], missed: 0 });
    assert.equal(reader.wakes, 0);
    assert.equal(watches.size, 1);
    other.stop();
    assert.deepEqual([watches.size, changes.at(-1)], [0, false]);
    assert.deepEqual(changes, [true, true, true, false]);
  });

  it('are told once that it ends, and may still take what they had', () => {
    const { watches, watch, tell, reader, changes } = setUp();
    tell(0, 2);
    watches.end();
    watches.end();
    assert.equal(reader.ended, 1);
    assert.deepEqual(takenBy(watch).moments, [0, 1]);
    assert.equal(changes.at(-1), false);
    watch.stop();
    assert.equal(reader.ended, 1);
  });
});

it('S590: a tenth of the places is kept for those who may operate everything', (t) => {
  const { admin } = localCoordinator(t, { limits: { watchers: 20 } });
  const watch = (isGuest: boolean) => admin.watch(undefined, undefined, { isGuest, wake() {}, end() {} }).ok;
  const opened = (isGuest: boolean) => {
    let count = 0;
    while (watch(isGuest)) count += 1;
    return count;
  };
  assert.deepEqual([opened(true), opened(false)], [18, 2]);
});
