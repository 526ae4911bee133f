/** Items that wait for each other in a circle are refused, whatever leads into the circle. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NewItem } from '../../../src/coordinator.js';
import { newItem, QUEUE } from '../../support/builders.js';
import { Stage } from '../stage.js';

/** `a>b c` is an item a that waits for b and c, each of a key of its own; `a@k>b` of the key k. */
function batch(text: string): Partial<NewItem>[] {
  return text.split(', ').map((one) => {
    const [name = '', waits] = one.split('>');
    const [itemId, key = itemId] = name.split('@');
    const after = waits?.split(' ').map((id) => ({ queue: QUEUE, itemId: id }));
    return { ...newItem({ key: key ?? '', after }), itemId };
  });
}

function told(items: string): string {
  const { outcome } = new Stage().submit('submitter', batch(items));
  assert.ok(outcome !== undefined);
  if ('answer' in outcome) return 'accepted';
  assert.equal(outcome.refusal.kind, 'bad_request');
  const [violation] = outcome.refusal.kind === 'bad_request' ? outcome.refusal.violations : [];
  return `${violation?.field}: ${violation?.description}`;
}

describe('a batch with a circle', () => {
  const circles: Readonly<Record<string, readonly string[]>> = {
    'a>b, b>a': ['a', 'b'],
    'a>b, b>c, c>a': ['a', 'b', 'c'],
    // A tail leads into the circle.
    'a>b, b>c, c>b': ['b', 'c'],
    'a>b, b>c, c>d, d>c': ['c', 'd'],
    'a>b d, b>c, c>b, d': ['b', 'c'],
    'a>d b, b>c, c>b, d': ['b', 'c'],
    // The circle comes first, the tail behind it.
    'b>c, c>b, a>b': ['b', 'c'],
    // Two ways to the same, and only then a circle.
    'a>b c, b>d, c>d, d>e, e>d': ['d', 'e'],
    // An item waits for those of its key before it.
    'a@k>b, b@k': ['a', 'b'],
    'x>a, a@k>b, b@k': ['a', 'b'],
  };
  for (const [items, members] of Object.entries(circles)) {
    it(`${items}: refused, naming ${members.join(' and ')} and no other`, () => {
      const text = told(items);
      assert.match(text, /^items\[\d\]\.after\[\d\]: .*in a circle, none of them could ever start/);
      const named = new Set([...text.matchAll(/item ([a-z]) of queue/g)].map(([, name]) => name));
      assert.deepEqual([...named].sort(), [...members].sort(), text);
    });
  }
});

describe('a batch without a circle', () => {
  for (const items of ['a, b>a, c>b', 'a>b c, b>d, c>d, d', 'a>b, b', 'a@k, b@k>a, c@k>b', 'a>d, b>d, c>d, d']) {
    it(`${items}: accepted`, () => assert.equal(told(items), 'accepted'));
  }

  it('a chain of 1,000, the last first: accepted', () => {
    const chain = Array.from({ length: 1_000 }, (_, i) => (i < 999 ? `i${i}>i${i + 1}` : `i${i}`));
    assert.equal(told(chain.join(', ')), 'accepted');
  });
});
