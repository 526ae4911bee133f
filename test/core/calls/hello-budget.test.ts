import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QUEUE } from '../../support/builders.js';
import { okay, Stage } from '../stage.js';

/** As many turns as a hello looks at, and some more. */
const TURNS = 10_005;

describe('a hello of a session whose turns are all over by `max_hold`, while the timing wheel is late', () => {
  it('ends as many turns as it may name, and leaves the others to the wheel: it holds up nobody', () => {
    const stage = new Stage({ queues: { [QUEUE]: { maxHold: 100 } } });
    const older = okay(stage.open());
    stage.hello('w', older, 's', 60_000);
    stage.on = older;
    for (let n = 0; n < TURNS; n++) stage.enQueue('w', { key: `k${n}` });
    assert.equal(stage.queue()?.liveTurns, TURNS);
    stage.core.closeStream(older, stage.now);
    stage.now += 100;
    const { turns } = stage.hello('w', okay(stage.open()), 's', 60_000).value;
    assert.deepEqual(turns, []);
    assert.equal(stage.queue()?.liveTurns, 5);
    while (stage.core.tick(stage.now, 1_000));
    assert.equal(stage.queue()?.liveTurns, 0);
  });
});
