import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QUEUE } from '../../support/builders.js';
import { Stage } from '../stage.js';

const MANY = 10_001;

/** More wait for `x`, which nobody knows yet, than are looked at; the last of them in the line of the key `k`. */
function crowd(): Stage {
  const stage = new Stage({ queues: { [QUEUE]: { waitingPerKey: 'unlimited', maxWaiting: 2 * MANY } } });
  const after = [{ queue: QUEUE, itemId: 'x' }];
  for (let n = 0; n < MANY; n++) stage.submit('s', [{ key: `other ${n}`, after, afterUnknown: 'wait' }]);
  stage.submit('s', [{ key: 'k', after, afterUnknown: 'wait' }]);
  return stage;
}

describe('an item that comes behind one that waits for it (S65)', () => {
  it('is refused by name where too many wait for it to look at them all: neither could ever start', () => {
    const { refusal } = crowd().submit('s', [{ key: 'k', itemId: 'x' }]);
    assert.equal(refusal.kind, 'limit');
  });

  it('is accepted to a key in whose line nobody stands, however many wait for it', () => {
    const [result] = crowd().submit('s', [{ key: 'free', itemId: 'x' }]).value.results;
    assert.equal(result?.decision, 'accept');
  });
});
