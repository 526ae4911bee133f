import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentHashOf } from '../../../src/core/items/content.js';
import { OwnIds } from '../../../src/core/structures/own-id.js';
import { Random } from '../../../src/core/structures/random.js';
import { ResultLedger, RetentionCache } from '../../../src/core/structures/retention-cache.js';
import { bytes, newItem } from '../../support/builders.js';

const FOR_EVER = Number.MAX_SAFE_INTEGER;

describe('what is remembered by id', () => {
  it('is known until its time is over, and not at that very moment', () => {
    const memory = new RetentionCache<string>(10, new ResultLedger(0));
    memory.set('a', 'A', 100, 0);
    assert.deepEqual([memory.recall('a', 99.9), memory.recall('a', 100), memory.size], ['A', undefined, 0]);
  });

  it('is the newest of two under one id', () => {
    const memory = new RetentionCache<string>(10, new ResultLedger(100));
    memory.set('a', 'old', FOR_EVER, 10);
    memory.set('a', 'new', FOR_EVER, 20);
    assert.deepEqual([memory.recall('a', 0), memory.size], ['new', 1]);
  });

  for (const max of [1, 2, 5]) {
    it(`is at most ${max}, the least recently used forgotten first`, () => {
      const memory = new RetentionCache<number>(max, new ResultLedger(0));
      for (let i = 0; i < max; i++) memory.set(`k${i}`, i, FOR_EVER, 0);
      // Asked for: the first is the most recently used now.
      memory.recall('k0', 0);
      memory.set('new', -1, FOR_EVER, 0);
      assert.equal(memory.size, max);
      assert.equal(memory.recall('k0', 0), max === 1 ? undefined : 0);
      assert.equal(memory.recall('k1', 0), undefined);
      assert.equal(memory.recall('new', 0), -1);
    });
  }

  it('of random sets, gets, deletes and ends of time it is what a plain list says', () => {
    for (const max of [1, 3, 8]) {
      const random = new Random(max);
      // Every third id is one that was made here, which is found by its number.
      const own = new OwnIds('~');
      const memory = new RetentionCache<number>(max, new ResultLedger(0), own);
      let list: { id: string; value: number; until: number }[] = [];
      for (let now = 0; now < 5_000; now++) {
        const n = Math.floor(random.next() * 12);
        const id = n % 3 === 0 ? own.idOf(n) : `k${n}`;
        const known = list.find((one) => one.id === id);
        const others = list.filter((one) => one !== known);
        const move = random.next();
        if (move < 0.5) {
          const kept = { id, value: now, until: now + Math.ceil(random.next() * 40) };
          memory.set(id, kept.value, kept.until, 0);
          list = [...others, kept].slice(-max);
        } else if (move < 0.9) {
          const live = known !== undefined && now < known.until ? known : undefined;
          assert.equal(memory.recall(id, now), live?.value, `${id} at ${now}, ${max} at most`);
          list = live === undefined ? others : [...others, live];
        } else if (move < 0.95) {
          memory.delete(id);
          list = others;
        } else {
          memory.purge(now, 1);
          const [oldest] = list;
          if (oldest !== undefined && now >= oldest.until) list = list.slice(1);
        }
        assert.equal(memory.size, list.length);
      }
    }
  });

  it('is forgotten when it is over, `budget` of them at a time', () => {
    const memory = new RetentionCache<number>(100, new ResultLedger(0));
    for (let i = 0; i < 10; i++) memory.set(`k${i}`, i, i < 8 ? 100 : 200, 0);
    memory.purge(99, 1_000);
    assert.equal(memory.size, 10);
    memory.purge(100, 3);
    assert.equal(memory.size, 7);
    memory.purge(100, 1_000);
    assert.equal(memory.size, 2);
    memory.purge(200, 1_000);
    assert.equal(memory.size, 0);
  });
});

describe('the bytes of remembered results', () => {
  it('are bounded over several memories together, the oldest forgotten first', () => {
    const ledger = new ResultLedger(100);
    const [one, other] = [new RetentionCache<string>(10, ledger), new RetentionCache<string>(10, ledger)];
    one.set('a', 'A', FOR_EVER, 40);
    other.set('b', 'B', FOR_EVER, 40);
    one.set('c', 'C', FOR_EVER, 20);
    assert.equal(ledger.bytes, 100);
    other.set('d', 'D', FOR_EVER, 1);
    assert.deepEqual(
      [one.recall('a', 0), other.recall('b', 0), one.recall('c', 0), other.recall('d', 0)],
      [undefined, 'B', 'C', 'D'],
    );
    assert.equal(ledger.bytes, 61);
  });

  it('of one that is larger than all of it are not kept, and others are none the worse afterwards', () => {
    const ledger = new ResultLedger(100);
    const memory = new RetentionCache<string>(10, ledger);
    memory.set('large', 'L', FOR_EVER, 101);
    assert.deepEqual([memory.recall('large', 0), ledger.bytes], [undefined, 0]);
    memory.set('small', 'S', FOR_EVER, 100);
    assert.deepEqual([memory.recall('small', 0), ledger.bytes], ['S', 100]);
  });

  it('are given back however their entry leaves', () => {
    const ledger = new ResultLedger(1_000);
    const memory = new RetentionCache<string>(2, ledger);
    memory.set('replaced', 'x', FOR_EVER, 10);
    memory.set('replaced', 'y', FOR_EVER, 20);
    assert.equal(ledger.bytes, 20);
    memory.delete('replaced');
    assert.equal(ledger.bytes, 0);
    memory.set('over', 'x', 5, 10);
    memory.recall('over', 5);
    assert.equal(ledger.bytes, 0);
    for (const id of ['lru1', 'lru2', 'lru3']) memory.set(id, id, 50, 10);
    assert.equal(ledger.bytes, 20);
    memory.purge(50, 10);
    assert.equal(ledger.bytes, 0);
  });

  it('of entries without a result are none, and those are not forgotten for others', () => {
    const ledger = new ResultLedger(10);
    const memory = new RetentionCache<string>(10, ledger);
    memory.set('plain', 'P', FOR_EVER, 0);
    for (const id of ['a', 'b', 'c']) memory.set(id, id, FOR_EVER, 10);
    assert.deepEqual([memory.recall('plain', 0), memory.size], ['P', 2]);
  });
});

describe('the contentHash of an item', () => {
  const base = newItem({ key: 'ab', payload: bytes('cd'), idempotencyKey: 'ef', headers: new Map([['gh', 'ij']]) });

  it('is the same for the same content, whatever the order of its headers, the id and the delay', () => {
    const headers = (names: string[]) => new Map(names.map((name) => [name, name]));
    const one = { ...base, headers: headers(['a', 'b', 'c']), itemId: 'one', delay: 5 };
    const other = { ...base, headers: headers(['c', 'a', 'b']), itemId: 'other', delay: 0 };
    assert.equal(contentHashOf(one), contentHashOf(other));
  });

  const others: readonly [string, Partial<typeof base>][] = [
    ['key', { key: 'aB' }],
    ['idempotency key', { idempotencyKey: 'eF' }],
    ['no idempotency key', { idempotencyKey: undefined }],
    ['payload', { payload: bytes('cD') }],
    ['no payload', { payload: bytes('') }],
    ['value of a header', { headers: new Map([['gh', 'iJ']]) }],
    ['name of a header', { headers: new Map([['gH', 'ij']]) }],
    ['one header more', { headers: new Map([...(base.headers ?? []), ['k', '']]) }],
    ['no headers', { headers: undefined }],
    ['a character moved from the key to the idempotency key', { key: 'a', idempotencyKey: 'bef' }],
    ['a character moved from a header name to its value', { headers: new Map([['g', 'hij']]) }],
    ['a character moved from a header to the payload', { headers: new Map([['gh', 'i']]), payload: bytes('jcd') }],
    ['a header that reads like the payload', { headers: new Map([['gh', 'ijcd']]), payload: bytes('') }],
    ['key and idempotency key exchanged', { key: 'ef', idempotencyKey: 'ab' }],
    ['bytes of another order', { payload: bytes('dc') }],
    ['a zero byte at the end', { payload: bytes('cd\0') }],
  ];
  for (const [title, change] of others) {
    it(`is another with another ${title}`, () =>
      assert.notEqual(contentHashOf({ ...base, ...change }), contentHashOf(base)));
  }

  it('is a whole number below 2^53, and among 200,000 like contents no two have the same', () => {
    const seen = new Set<number>();
    const content = (i: number) => ({ ...base, key: `order-${i}`, payload: bytes(`{"n":${i % 1_000}}`) });
    for (let i = 0; i < 200_000; i++) seen.add(contentHashOf(content(i)));
    assert.equal(seen.size, 200_000);
    for (const one of seen) assert.ok(Number.isSafeInteger(one) && one >= 0);
  });

  it('tells payloads apart that differ in one bit, wherever it is', () => {
    const payload = Buffer.alloc(67, 'keyturn');
    const seen = new Set([contentHashOf({ ...base, payload })]);
    for (let bit = 0; bit < payload.length * 8; bit++) {
      const changed = Buffer.from(payload);
      changed[bit >>> 3] = (changed[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
      seen.add(contentHashOf({ ...base, payload: changed }));
    }
    assert.equal(seen.size, 1 + payload.length * 8);
  });
});
