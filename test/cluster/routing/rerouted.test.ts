/** Calls that wait while their queue is routed anew: they begin anew where it lives then. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PartitionMap } from '../../../src/cluster/partitions/partition-map.js';
import type { Route } from '../../../src/cluster/store/cluster-store.js';
import { open } from '../../contract/stream.js';
import { enQueueRequest } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { RoutingStage } from './stage.js';

const Q = 'q0';

/** Calls about the queue are held: its home does not take it. */
function leaving() {
  const stage = new RoutingStage();
  const from = stage.map.of(Q, '');
  stage.homes.set(from, undefined);
  const to = (from + 1) % stage.map.partitions;
  const routed = (route: Route) => {
    stage.coordinator.map = new PartitionMap(stage.map.partitions, new Map([[Q, route]]));
  };
  return { stage, from, to, group: stage.queueAt(to), routed };
}

describe('calls about a queue that is routed anew', () => {
  it('S380: are answered where it lives by then, in their order', () => {
    const { stage, group, routed, to } = leaving();
    const first = stage.enQueue({ queue: Q, key: 'k', wait: 60_000 });
    const second = stage.enQueue({ queue: Q, key: 'k', wait: 60_000 });
    const submitted = stage.submit([{ itemId: 'i', key: 'x' }], { queue: Q });
    stage.advance(500);
    assert.ok(first.open && second.open && submitted.open);
    routed({ group, spread: 1 });
    assert.ok(first.value.decision === 'accept');
    assert.equal(first.value.turn.token % stage.map.partitions, to);
    assert.ok(second.open);
    assert.deepEqual(
      submitted.value.results.map(({ decision }) => decision),
      ['accept'],
    );
    stage.end(first.value.turn);
    assert.equal(second.value.decision, 'accept');
  });

  it('S380: go over all parts of one that is spread by then', () => {
    const { stage, routed } = leaving();
    const items = ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => ({ itemId: key, key }));
    const submitted = stage.submit(items, { queue: Q });
    const acquired = stage.acquire({ queues: [Q], wait: 60_000, maxTurns: 1 });
    const awaited = stage.await('e', 60_000, Q);
    stage.begin(stage.map.of(Q, ''));
    stage.homes.set(stage.map.of(Q, ''), undefined);
    stage.advance(10);
    routed({ group: Q, spread: 4 });
    stage.begin(stage.map.of(Q, ''));
    stage.advance(100);
    assert.equal(submitted.value.results.length, 6);
    assert.equal(acquired.value.deliveries.length, 1);
    void awaited;
  });

  it('S380: wait no longer than they would have', () => {
    const { stage, group, routed, to } = leaving();
    const call = stage.enQueue({ queue: Q, key: 'k', wait: 3_000 });
    stage.advance(1_500);
    const holder = stage.hold({ queue: group, key: 'k' });
    routed({ group, spread: 1 });
    assert.equal(call.open, false, 'another key of that partition is none of its');
    assert.equal(holder.token % stage.map.partitions, to);
    const late = stage.enQueue({ queue: Q, key: 'k', wait: 3_000 });
    stage.advance(2_900);
    assert.ok(late.open);
    stage.advance(200);
    assert.equal(late.value.decision, 'block');
  });

  it('S380: can be taken back after that, and end with the sidecar', async () => {
    const { stage, group, routed } = leaving();
    const blocked = ['a', 'b', 'c'].map((key) => stage.enQueue({ queue: Q, key, wait: 60_000 }));
    const gone = stage.enQueue({ queue: Q, key: 'a', wait: 60_000 });
    const call = new Call();
    const pending = stage.coordinator.enQueue(enQueueRequest({ queue: Q, key: 'b', wait: 60_000 }), call);
    const last = stage.enQueue({ queue: Q, key: 'c', wait: 60_000 });
    routed({ group, spread: 1 });
    for (const one of blocked) assert.equal(one.value.decision, 'accept');
    gone.cancel();
    assert.equal(pending?.callOff?.(), true);
    assert.ok(call.open && last.open);
    void stage.coordinator.drain(10);
    assert.equal(last.refusal.kind, 'draining');
    assert.ok(call.open);
  });

  it('S380: of a session go on its stream at the other home', () => {
    const { stage, group, routed, to } = leaving();
    const session = open(stage.coordinator);
    session.hello();
    const call = session.enQueue({ queue: Q, key: 'k', wait: 60_000 });
    stage.advance(1_100);
    routed({ group, spread: 1 });
    stage.advance(100);
    assert.ok(call.value.decision === 'accept');
    assert.equal(call.value.turn.token % stage.map.partitions, to);
  });

  it('S380: a person who asks about it is told to ask again', async () => {
    const { stage, group, routed } = leaving();
    const asked = stage.coordinator.admin.ask('pauseQueue', { queue: Q });
    routed({ group, spread: 1 });
    const answer = await asked;
    assert.ok(!answer.ok && answer.refusal.kind === 'no_home');
    assert.match(answer.refusal.description, /routed anew meanwhile .*ask again/);
    assert.ok((await stage.coordinator.admin.ask('pauseQueue', { queue: Q })).ok);
  });
});
