import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Grants } from '../../src/access/grants.js';
import { matches } from '../../src/access/pattern.js';
import { type Right, VERBS } from '../../src/access/settings.js';

describe('what a principal may do', () => {
  test('is what one of its rights says, of this queue, with this verb', () => {
    const grants = new Grants([
      { queues: ['orders', 'orders.*'], groups: [], may: ['produce', 'consume'] },
      { queues: ['orders.eu'], groups: ['backup-*'], may: ['view'] },
    ]);
    const of = (queue: string) => VERBS.filter((verb) => grants.mayQueue(verb, queue));
    assert.deepEqual(of('orders'), ['produce', 'consume']);
    assert.deepEqual(of('orders.eu'), ['produce', 'consume', 'view']);
    assert.deepEqual(of('invoices'), []);
    assert.deepEqual(
      VERBS.filter((verb) => grants.mayGroup(verb, 'backup-1')),
      ['view'],
    );
    assert.equal(grants.mayQueue('view', 'backup-1'), false, 'a group is no queue');
    assert.equal(grants.mayGroup('consume', 'orders'), false, 'a queue is no group');
  });

  test('on everything only by a pattern that is a star', () => {
    const grants = new Grants([
      { queues: ['*'], groups: [], may: ['view'] },
      { queues: ['a*', 'b*'], groups: ['*'], may: ['operate'] },
    ]);
    assert.equal(grants.mayEverywhere('view'), true);
    assert.equal(grants.mayEverywhere('operate'), false);
  });

  test('is nothing without rights', () => {
    const grants = new Grants([]);
    assert.ok(
      VERBS.every((verb) => !grants.mayQueue(verb, 'q') && !grants.mayGroup(verb, 'q') && !grants.mayEverywhere(verb)),
    );
  });

  test('is the same whatever was asked before, also with more names than are remembered', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 3 });
    const right: fc.Arbitrary<Right> = fc.record({
      queues: fc.array(pattern, { maxLength: 3 }),
      groups: fc.array(pattern, { maxLength: 3 }),
      may: fc.uniqueArray(fc.constantFrom(...VERBS)),
    });
    const asked = fc.array(fc.tuple(fc.constantFrom(...VERBS), name), { maxLength: 30 });
    fc.assert(
      fc.property(fc.array(right, { maxLength: 4 }), asked, (rights, calls) => {
        const grants = new Grants(rights);
        for (const [verb, queue] of calls) {
          const expected = rights.some(
            ({ queues, may }) => may.includes(verb) && queues.some((one) => matches(one, queue)),
          );
          assert.equal(grants.mayQueue(verb, queue), expected, `${verb} ${queue}`);
        }
      }),
    );
    const many = new Grants([{ queues: ['q-7'], groups: [], may: ['view'] }]);
    for (let round = 0; round < 2; round++)
      for (let index = 0; index < 1_500; index++) assert.equal(many.mayQueue('view', `q-${index}`), index === 7);
  });
});
