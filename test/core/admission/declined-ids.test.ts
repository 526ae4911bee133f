import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QUEUE } from '../../support/builders.js';
import { Stage } from '../stage.js';

describe('the id that is made for an item', () => {
  it('is of no other item when the first is declined: an Await of it shows nobody else`s', () => {
    const stage = new Stage({ queues: { [QUEUE]: { waitingPerKey: 1 } } });
    const { results } = stage.submit('submitter', [{ key: 'a' }, { key: 'a' }, { key: 'b' }]).value;
    assert.deepEqual(
      results.map(({ decision }) => decision),
      ['accept', 'decline', 'accept'],
    );
    assert.equal(new Set(results.map(({ itemId }) => itemId)).size, 3);
    const declined = results[1]?.itemId ?? '';
    assert.equal(stage.awaitItem('someone', declined, 0).value.state, 'unknown');
  });
});
