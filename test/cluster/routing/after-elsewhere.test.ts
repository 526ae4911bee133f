/** S535 to S538: a Submit whose items wait for items of other groups, from whoever routes it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NewItem } from '../../../src/coordinator.js';
import { RoutingStage } from './stage.js';

function scene() {
  const stage = new RoutingStage({ routes: { wide: { group: 'wide', spread: 4 } }, isFixed: true });
  const [a = '', b = ''] = stage.queues();
  const dependant = (itemId: string | undefined, ...after: readonly (readonly [string, string])[]) => ({
    key: itemId ?? '',
    itemId,
    after: after.map(([queue, id]) => ({ queue, itemId: id })),
  });
  const submit = (...items: readonly Partial<NewItem>[]) => stage.submit(items, { queue: b });
  return { stage, a, b, dependant, submit, asked: () => [stage.at(0).asked.splice(0), stage.at(1).asked.splice(0)] };
}

describe('S535: a Submit with after of another group', () => {
  it('asks whether that is known, and goes to its own home then', () => {
    const { stage, a, dependant, submit, asked } = scene();
    stage.submit([{ itemId: 'x' }], { queue: a });
    asked();
    assert.equal(submit(dependant('y', [a, 'x'])).value.results[0]?.decision, 'accept');
    assert.deepEqual(asked(), [['await'], ['submit']]);
    assert.ok(submit(dependant('z', [a, 'x']), dependant('u', [a, 'x'])).value);
    assert.deepEqual(asked(), [['await'], ['submit']], 'what is named twice is asked for once');
  });

  it('is refused if nobody knows it, naming the field, and nothing of it is submitted', () => {
    const { stage, a, dependant, submit, asked } = scene();
    stage.submit([{ itemId: 'x' }], { queue: a });
    asked();
    const { refusal } = submit(
      dependant('y', [a, 'x']),
      dependant('z', [a, 'x'], [a, 'never']),
      dependant('u', [a, 'nor']),
    );
    assert.deepEqual(refusal, {
      kind: 'bad_request',
      violations: [
        {
          field: 'items[1].after[1]',
          description: `item never of queue ${a} is not known to the home of its queue, or no more; allowed: an item of another group that is known there`,
        },
      ],
    });
    assert.ok(!asked()[1]?.includes('submit'));
  });

  it('of a queue that is spread is found in whichever part it is', () => {
    const { stage, dependant, submit } = scene();
    for (const itemId of ['w0', 'w1', 'w2']) {
      stage.submit([{ key: itemId, itemId }], { queue: 'wide' });
      assert.ok(submit(dependant(`y-${itemId}`, ['wide', itemId])).value);
    }
    assert.equal(submit(dependant('y', ['wide', 'w3'])).refusal.kind, 'bad_request');
  });

  it('that comes again is known, though what it waited for is known no more', () => {
    const { stage, a, dependant, submit } = scene();
    stage.submit([{ itemId: 'x' }], { queue: a });
    const again = dependant('y', [a, 'x']);
    const first = submit(again).value;
    stage.begin(0);
    const second = submit(again).value;
    assert.deepEqual([first.results[0]?.decision, second.results[0]?.decision], ['accept', 'accept']);
    assert.equal(submit(again, dependant('z', [a, 'x'])).refusal.kind, 'bad_request');
    assert.equal(submit(dependant(undefined, [a, 'x'])).refusal.kind, 'bad_request');
  });

  it('is refused where the home that has to be asked refuses', () => {
    const { stage, a, dependant, submit, asked } = scene();
    stage.at(0).trouble = { kind: 'limit', subject: 's', limit: 1, description: 'd', retryAfter: 1 };
    assert.equal(submit(dependant('y', [a, 'x'])).refusal.kind, 'limit');
    assert.deepEqual(asked()[1], []);
  });

  it('names 100 items of other groups at most', () => {
    const { a, dependant, submit, asked } = scene();
    const many = Array.from({ length: 101 }, (_, at) => dependant(`y${at}`, [a, `x${at}`]));
    const { refusal } = submit(...many);
    assert.ok(refusal.kind === 'bad_request');
    assert.match(refusal.violations[0]?.description ?? '', /101 items of other groups.*allowed in one call: 100/);
    assert.deepEqual(asked(), [[], []]);
  });

  it('cannot wait for what is unknown: that would allow circles that nobody sees', () => {
    const { a, dependant, submit } = scene();
    const { refusal } = submit({ ...dependant('y', [a, 'x']), afterUnknown: 'wait' });
    assert.ok(refusal.kind === 'bad_request' && refusal.violations[0]?.field === 'items[0].after_unknown');
  });

  it('× cancel, while it asks and when it waits for room: nothing is answered, and nobody waits', () => {
    const { stage, a, dependant, submit } = scene();
    stage.submit([{ itemId: 'x' }], { queue: a });
    stage.at(0).isLate = true;
    const call = submit(dependant('y', [a, 'x']));
    assert.ok(call.open);
    call.cancel();
    stage.at(0).deliver();
    assert.ok(!stage.at(1).asked.includes('submit'));
    assert.equal(call.outcome, undefined);
  });
});
