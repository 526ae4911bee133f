import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { okay, Stage } from '../stage.js';

describe('a stream that another one replaced', () => {
  it('takes no session with a late hello: nobody could break it again', () => {
    const stage = new Stage({ limits: { sessions: 2 } });
    const older = okay(stage.open());
    stage.hello('w', older, 's', 1_000);
    const newer = okay(stage.open());
    stage.hello('w', newer, 's', 1_000);
    assert.equal(stage.hello('w', older, 's', 1_000).refusal.kind, 'bad_request');
    for (const stream of [older, newer]) stage.core.closeStream(stream, stage.now);
    assert.equal(stage.core.inside.sessions.size, 0, 'the session without turns is forgotten with its stream');
  });
});
