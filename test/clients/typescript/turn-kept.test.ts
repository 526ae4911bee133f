/** TURN_KEPT: a home of the cluster tells, after the answer to the hello, which turns the session has there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accept, error, greet, kept, MARGIN, nacked, stage, TTL, unavailable } from './stage.js';

const REF = { queue: 'q', key: 'k' };
/** After the first break: random is a half, the first bound 100 ms. */
const FIRST_PAUSE = 50;

describe('a turn that the session has still', () => {
  it('is as safe as the new stream if it is known: its holder goes on', async (t) => {
    for (const isTold of [true, false]) {
      const set = stage(t);
      const first = await set.begin();
      const asked = set.client.enQueue(REF);
      await set.turn();
      first.reply([first.call('enqueue').id, accept(7)]);
      const answer = await asked;
      assert.ok(answer.decision === 'accept');
      const held = set.client.hold(answer.turn, set.clock.now());
      first.cut(unavailable());
      await set.advance(FIRST_PAUSE);
      const { stream } = set.network;
      greet(stream);
      if (isTold) stream.tell(kept(7));
      // No Renew is answered; the stream is known to be alive for so much longer than the one before.
      await set.advance(TTL - MARGIN - FIRST_PAUSE / 2);
      assert.equal(held.signal.aborted, !isTold);
      assert.deepEqual(stream.calls('nack'), []);
    }
  });

  it('is given back if nobody knows it', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    stream.tell(kept(9));
    await set.turn();
    assert.equal(stream.call('nack').value.token, 9n);
  });

  it('S577: is given back again while the sidecar refuses that for now, until it is settled or the stream breaks', async (t) => {
    for (const isCut of [false, true]) {
      const set = stage(t);
      const stream = await set.begin();
      stream.tell(kept(9));
      await set.turn();
      stream.reply([stream.call('nack').id, error(14, 'NO_HOME')]);
      await set.turn();
      assert.equal(stream.calls('nack').length, 1, 'not at once');
      if (isCut) stream.cut(unavailable());
      await set.advance(1_000);
      assert.equal(stream.calls('nack').length, isCut ? 1 : 2);
      if (isCut) continue;
      const [, second] = stream.calls('nack');
      assert.equal(second?.value.token, 9n);
      stream.reply([second?.id ?? assert.fail(), error(10, 'TURN_LOST')]);
      await set.advance(5_000);
      assert.equal(stream.calls('nack').length, 2);
    }
  });

  it('is not given back while an open call may be answered with it; if it was not, then it is', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const asked = set.client.enQueue({ ...REF, ticket: 't' });
    await set.turn();
    stream.tell(kept(9));
    stream.tell(kept(10));
    await set.turn();
    assert.deepEqual(stream.calls('nack'), []);
    stream.reply([stream.call('enqueue').id, accept(9)]);
    assert.equal((await asked).decision, 'accept');
    await set.turn();
    assert.deepEqual(
      stream.calls('nack').map(({ value }) => value.token),
      [10n],
    );
  });

  it('is left to the call that settles it', async (t) => {
    const set = stage(t);
    const stream = await set.begin();
    const settling = set.client.nack({ ...REF, token: 9, kind: 'retry' });
    await set.turn();
    stream.tell(kept(9));
    await set.turn();
    assert.equal(stream.calls('nack').length, 1);
    stream.reply([stream.call('nack').id, nacked()]);
    await settling;
  });
});
