import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { Caller, type Entry, Item, Lane, Queue } from '../../../src/core/state/records.js';
import { Line } from '../../../src/core/structures/line.js';
import { ResultLedger } from '../../../src/core/structures/retention-cache.js';
import { bytes } from '../../support/builders.js';

const lane = new Lane(new Queue('q', BUILT_IN_POLICY, true, new ResultLedger(0), 0), 'k');

function caller(takesRoom = true): Caller {
  return new Caller(lane, undefined, 'worker', undefined, undefined, undefined, 0, takesRoom);
}

function item(takesRoom = true): Item {
  const one = new Item(lane, 'id', bytes(''), undefined, undefined, 0, 0, 0);
  one.takesRoom = takesRoom;
  return one;
}

function entriesOf(line: Line<Entry>): Entry[] {
  const entries: Entry[] = [];
  for (let entry = line.head; entry !== undefined; entry = entry.behind) entries.push(entry);
  return entries;
}

/** A line and an array beside it. */
class Pair {
  readonly line = new Line<Entry>();
  list: Entry[] = [];

  append(entry: Entry): void {
    this.line.append(entry);
    this.list.push(entry);
  }

  insert(at: number, entry: Entry): void {
    const before = this.list[at];
    if (before === undefined) return;
    this.line.insert(entry, before);
    this.list.splice(at, 0, entry);
  }

  remove(at: number): void {
    const [old] = this.list.splice(at, 1);
    if (old !== undefined) this.line.remove(old);
  }

  breakOff(at: number, brokeOff: boolean): void {
    const entry = this.list[at];
    if (entry instanceof Caller) this.line.breakOff(entry, brokeOff);
  }

  check(): void {
    const { line, list } = this;
    assert.deepEqual(entriesOf(line), list);
    assert.deepEqual([line.head, line.tail], [list[0], list.at(-1)]);
    const counts = { length: line.length, callers: line.callers, taken: line.taken };
    const callers = list.filter((entry) => entry instanceof Caller).length;
    const taken = list.filter((entry) => entry.takesRoom).length;
    assert.deepEqual(counts, { length: list.length, callers, taken });
    const broken = list.filter((entry) => entry.brokeOff);
    const takenByBroken = broken.filter((entry) => entry.takesRoom).length;
    assert.deepEqual([line.brokenOff, line.takenByBrokenOff], [broken.length, takenByBroken]);
    assert.equal(
      line.newestPresent(),
      list.findLast((entry) => !entry.brokeOff),
    );
    assert.equal(
      line.newestTakingRoom(),
      list.findLast((entry) => entry.takesRoom),
    );
    for (const [place, entry] of list.entries()) assert.equal(line.placeOf(entry), place);
  }
}

describe('a line', () => {
  it('does what an array does, whatever is asked of it', () => {
    const step = fc.record({
      op: fc.constantFrom('append', 'insert', 'remove', 'breakOff'),
      at: fc.nat(12),
      isCaller: fc.boolean(),
      takesRoom: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
        const pair = new Pair();
        for (const { op, at, isCaller, takesRoom } of steps) {
          const entry = isCaller ? caller(takesRoom) : item(takesRoom);
          if (op === 'append') pair.append(entry);
          else if (op === 'insert') pair.insert(at, entry);
          else if (op === 'breakOff') pair.breakOff(at, isCaller);
          else pair.remove(at);
          pair.check();
        }
      }),
      { numRuns: 500 },
    );
  });

  it('leaves one that left without neighbours, so that it can join another line', () => {
    const pair = new Pair();
    const middle = caller();
    for (const entry of [item(), middle, item()]) pair.append(entry);
    pair.remove(1);
    assert.deepEqual([middle.before, middle.behind], [undefined, undefined]);
    const other = new Line<Entry>();
    other.append(middle);
    assert.deepEqual(entriesOf(other), [middle]);
    pair.check();
  });

  it('tells a place exactly near both ends, and as 10,000 in the middle of a longer line', () => {
    const line = new Line<Entry>();
    const entries = Array.from({ length: 30_000 }, () => caller());
    for (const entry of entries) line.append(entry);
    const places = [0, 1, 9_999, 10_000, 15_000, 19_999, 20_000, 20_001, 29_999];
    const told = places.map((place) => {
      const entry = entries[place];
      assert.ok(entry);
      return line.placeOf(entry);
    });
    assert.deepEqual(told, [0, 1, 9_999, 10_000, 10_000, 10_000, 20_000, 20_001, 29_999]);
  });
});
