/** What bounds leaders bounds all cores of a process together. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GroupView, LEADER_LIMITS } from '../../../src/coordinator.js';
import { SharedUse } from '../../../src/core/core.js';
import { Call } from '../../support/call.js';
import { recountShared } from '../../support/recount-shared.js';
import { LeaderStage, TTL } from './leader-stage.js';

const KNOWN = { term: 0, phase: undefined };

test('S399: groups, candidacies and calls that wait are bounded over all cores of a process', () => {
  const shared = new SharedUse();
  const stages = [new LeaderStage('kept'), new LeaderStage('kept')] as const;
  for (const { core } of stages) core.join(shared, () => undefined);
  const [one, other] = stages;
  const watch = (stage: LeaderStage, group: string) => {
    const call = new Call<GroupView>();
    const waits = stage.core.awaitLeader({ group, knows: KNOWN }, call, stage.now);
    return { call, waits };
  };
  const many = Array.from({ length: LEADER_LIMITS.watchers }, (_, number) => watch(one, `g${number % 10}`));
  const refused = watch(other, 'h');
  other.carry();
  const { refusal } = refused.call;
  assert.ok(refusal.kind === 'limit' && refusal.subject === 'watchers' && refusal.limit === LEADER_LIMITS.watchers);
  recountShared(shared, stages);
  const [first] = many;
  assert.ok(first?.waits !== undefined);
  one.core.cancelLeaderCall(first.waits, one.now);
  assert.ok(watch(other, 'h').waits !== undefined, 'there is room again');
  one.worker('a').stand();
  one.worker('b').stand();
  recountShared(shared, stages);
  assert.deepEqual({ ...shared.use.leaders }, { groups: 12, candidates: 1, watchers: LEADER_LIMITS.watchers });
  one.core.leave(shared);
  assert.equal(shared.use.leaders.groups, 1);
  other.pass(TTL);
});
