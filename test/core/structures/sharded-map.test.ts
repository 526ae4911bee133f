/** A map by text in many parts: to be told from one Map by nothing but its pauses. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ShardedMap } from '../../../src/core/structures/sharded-map.js';

/** Beyond what one Map holds. */
const MANY = 50_000;

const SHAPES: Readonly<Record<string, (n: number) => string>> = {
  'that end in a number': (n) => `customer-${n}`,
  'of one character, and none': (n) => (n === 0 ? '' : String.fromCodePoint(n + 0x80)),
  'that differ in the middle of a long text': (n) => `${'tenant-'.repeat(9)}${n}${'/orders'.repeat(9)}`,
};

describe('a map in many parts', () => {
  for (const [shape, keyOf] of Object.entries(SHAPES)) {
    it(`finds, forgets and takes again keys ${shape}, before it is divided and afterwards`, () => {
      const map = new ShardedMap<number>();
      const known = new Map<string, number>();
      for (let n = 0; n < MANY; n++) {
        map.add(keyOf(n), n);
        known.set(keyOf(n), n);
        if (n % 3 === 0) forget(map, known, keyOf(n >> 1));
      }
      same(map, known, keyOf);
      for (let n = 0; n < MANY; n += 2) forget(map, known, keyOf(n));
      same(map, known, keyOf);
      for (let n = 0; n < MANY; n += 4) {
        map.add(keyOf(n), -n);
        known.set(keyOf(n), -n);
      }
      same(map, known, keyOf);
    });
  }

  it('a walk with pauses passes over none that stays, though it is divided and they move meanwhile', () => {
    const map = new ShardedMap<number>();
    const stay = 30_000;
    for (let n = 0; n < stay; n++) map.add(`key-${n}`, n);
    const met = new Set<number>();
    let next = stay;
    for (const n of map.values()) {
      met.add(n);
      if (next < MANY) for (let more = 0; more < 20; more++, next++) map.add(`key-${next}`, next);
    }
    for (let n = 0; n < stay; n++) assert.ok(met.has(n), `key-${n}`);
  });
});

function forget(map: ShardedMap<number>, known: Map<string, number>, key: string): void {
  map.delete(key);
  known.delete(key);
}

function same(map: ShardedMap<number>, known: ReadonlyMap<string, number>, keyOf: (n: number) => string): void {
  for (let n = 0; n < MANY; n++) if (map.get(keyOf(n)) !== known.get(keyOf(n))) assert.fail(keyOf(n));
  assert.deepEqual([...map.values()].sort(inOrder), [...known.values()].sort(inOrder));
}

function inOrder(a: number, b: number): number {
  return a - b;
}
