/** One session at several sidecars of a cluster: each home has to decide alike who has it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HelloAnswer, SessionStamp } from '../../../src/coordinator.js';
import type { Stream } from '../../../src/core/core.js';
import type { Call } from '../../support/call.js';
import { okay, Stage } from '../stage.js';

const OLD: SessionStamp = { at: 5, by: 'b' };
const NEW: SessionStamp = { at: 6, by: 'a' };

function hello(stage: Stage, stream: Stream, stamp: SessionStamp | undefined): Call<HelloAnswer> {
  return stage.hello('w', stream, 's', 10_000, stamp);
}

describe('hello with a stamp', () => {
  it('the larger one has the session, whichever came first', () => {
    for (const order of [
      [OLD, NEW],
      [NEW, OLD],
    ]) {
      const stage = new Stage();
      const streams = new Map(order.map((stamp) => [stamp, okay(stage.open())]));
      const calls = new Map([...streams].map(([stamp, stream]) => [stamp, hello(stage, stream, stamp)]));
      assert.ok(calls.get(NEW)?.value);
      assert.equal(streams.get(NEW)?.session?.id, 's');
      assert.equal(streams.get(OLD)?.session, undefined);
    }
  });

  it('who is refused learns which one has it', () => {
    const stage = new Stage();
    hello(stage, okay(stage.open()), NEW);
    const refused = hello(stage, okay(stage.open()), OLD);
    assert.deepEqual(refused.refusal, { kind: 'session_replaced', sessionId: 's', newer: NEW });
    assert.equal(stage.core.inside.sessions.get('s')?.stamp, NEW);
  });

  it('with equal times the names of the sidecars decide; the same stamp again is the same stream, come back', () => {
    const stage = new Stage();
    hello(stage, okay(stage.open()), OLD);
    assert.equal(hello(stage, okay(stage.open()), { at: 5, by: 'a' }).refusal.kind, 'session_replaced');
    assert.ok(hello(stage, okay(stage.open()), OLD).value);
    assert.ok(hello(stage, okay(stage.open()), { at: 5, by: 'c' }).value);
  });

  it('a session whose stream broke is had by whoever comes; so is one without a stamp', () => {
    const stage = new Stage();
    const stream = okay(stage.open());
    hello(stage, stream, NEW);
    stage.on = stream;
    stage.enQueue('w');
    stage.core.closeStream(stream, stage.now);
    assert.ok(hello(stage, okay(stage.open()), OLD).value);
    assert.ok(hello(stage, okay(stage.open()), undefined).value);
    assert.ok(hello(stage, okay(stage.open()), OLD).value);
  });
});
