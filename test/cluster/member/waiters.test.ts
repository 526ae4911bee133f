/** Callers that wait at a home while it is handed over as planned: each is answered once, there or at the next home. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { turnOf } from '../../contract/worker.js';
import { MembersStage, workerAt } from './stage.js';

const LONG = 60_000;

async function scene() {
  const stage = new MembersStage(1, {
    queues: { q: { durable: true, waitingPerKey: 'unlimited' }, work: { durable: true, resultTtl: LONG } },
  });
  const a = stage.start('a');
  await stage.until(() => stage.hasAll(a.member));
  const b = stage.start('b');
  await stage.pass(5_000);
  assert.ok(a.member.isHere(0));
  return { stage, a, b };
}

type Staged = Awaited<ReturnType<typeof scene>>['a'];

/** Everything that may wait, at once: behind a turn, for work, for a result, and for room. */
function waiting({ member }: Staged) {
  const worker = workerAt(member);
  return {
    enQueue: worker.enQueue({ ticket: 'second', consumerId: 'two', wait: LONG }),
    third: worker.enQueue({ ticket: 'third', consumerId: 'three', wait: LONG }),
    acquire: worker.acquire({ queues: ['work'], wait: LONG, ticket: 'taking' }),
    awaiting: worker.await('item', LONG, 'work'),
  };
}

describe('callers that wait while a partition is handed over', () => {
  it('S250: are sent on once each, and wait and are answered at the next home', async () => {
    const { stage, a, b } = await scene();
    const held = workerAt(a.member).enQueue({ ticket: 'first', consumerId: 'one' });
    await stage.pass(50);
    const turn = turnOf(held);
    workerAt(a.member).submit([{ itemId: 'item', delay: 8_000 }], { queue: 'work' });
    await stage.pass(50);
    const before = waiting(a);
    await stage.pass(50);
    void a.member.leave(10_000);
    await stage.until(() => b.member.isHere(0), 5_000);
    await stage.pass(500);
    for (const [what, call] of Object.entries(before)) assert.equal(call.refusal.kind, 'no_home', what);

    const after = waiting(b);
    await stage.pass(50);
    for (const [what, call] of Object.entries(after)) assert.ok(call.open, what);
    workerAt(b.member).end(turn);
    await stage.pass(50);
    const second = turnOf(after.enQueue);
    assert.ok(second.token > turn.token && after.third.open);
    await stage.until(() => after.acquire.outcome !== undefined);
    const [delivery] = after.acquire.value.deliveries;
    assert.deepEqual(
      delivery?.items.map(({ itemId }) => itemId),
      ['item'],
    );
    if (delivery !== undefined) workerAt(b.member).ack(delivery.turn);
    workerAt(b.member).end(second);
    await stage.pass(50);
    assert.equal(after.awaiting.value.state, 'done');
    assert.ok(turnOf(after.third).token > second.token);
  });

  /** In which order both come to the home. */
  for (const order of ['end, leave', 'leave, end'] as const)
    it(`S250: the end of the turn before × the hand-over (${order}): the next one gets it once, from one of both homes`, async () => {
      const { stage, a, b } = await scene();
      const worker = workerAt(a.member);
      const held = worker.enQueue({ ticket: 'first', consumerId: 'one' });
      await stage.pass(50);
      const turn = turnOf(held);
      const { enQueue: second, third, acquire } = waiting(a);
      await stage.pass(50);
      if (order === 'leave, end') void a.member.leave(10_000);
      // The home shuts when others know that it leaves: what comes before is decided there.
      for (let at = 0; at < 5; at += 1) {
        worker.submit([{ itemId: `item-${at}` }], { queue: 'work' });
        await stage.pass(10);
      }
      const end = worker.end(turn);
      if (order === 'end, leave') void a.member.leave(10_000);
      await stage.until(() => b.member.isHere(0), 5_000);
      await stage.pass(500);
      const isEnded = end.outcome !== undefined && 'answer' in end.outcome;
      // Who was not told asks again, as clients do: with the same tickets.
      const next = workerAt(b.member);
      if (!isEnded) next.end(turn);
      const again = next.enQueue({ ticket: 'second', consumerId: 'two', wait: LONG });
      await stage.pass(50);
      const got = turnOf(again);
      if (second.outcome !== undefined && 'answer' in second.outcome) assert.equal(turnOf(second).token, got.token);
      assert.equal(third.refusal.kind, 'no_home');
      const late = next.enQueue({ ticket: 'third', consumerId: 'three', wait: 0 });
      await stage.pass(50);
      assert.ok(late.value.decision !== 'accept', 'one holds it');
      // What was taken there is held, and is told to who asks with that ticket.
      const taken = acquire.outcome !== undefined && 'answer' in acquire.outcome ? acquire.value.deliveries : [];
      const more = next.acquire({ queues: ['work'], wait: 0, ticket: 'taking' });
      await stage.pass(50);
      if (taken.length > 0)
        assert.deepEqual(
          more.value.deliveries.map(({ turn: { token } }) => token),
          taken.map(({ turn: { token } }) => token),
        );
    });
});
