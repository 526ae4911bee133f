/** What may stand, and what one is told that may not any more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CandidateView, LEADER_LIMITS } from '../../../src/coordinator.js';
import { Call } from '../../support/call.js';
import { recount } from '../../support/recount.js';
import { LeaderStage, TTL } from './leader-stage.js';

type Answered = Call<CandidateView>;

/** Without a worker that looks: there are many. */
function stand(stage: LeaderStage, group: string, candidateId: string): Answered {
  const call = new Call<CandidateView>();
  const stamp = { at: stage.nextStamp(), by: `${group} ${candidateId}` };
  const times = { ttl: TTL, inaugurateTimeout: 30_000, handOverTimeout: 10_000 };
  const request = { group, candidateId, stamp, ...times, metadata: new Map(), term: undefined, knows: undefined };
  stage.core.stand(request, call, stage.now);
  for (let effect = stage.core.takeEffect(); effect !== undefined; effect = stage.core.takeEffect()) {
    if (effect.kind === 'candidate') effect.to.answer(effect.answer);
    if (effect.kind === 'refuse') effect.to.refuse(effect.refusal);
  }
  return call;
}

function refusedBy(call: Answered): string {
  assert.ok(!call.open, 'it was not refused');
  const { refusal } = call;
  assert.ok(refusal.kind === 'limit');
  assert.ok(refusal.retryAfter > 0);
  return `${refusal.subject} ${refusal.limit}: ${refusal.description}`;
}

test('one more in a group than may stand is told so, and has room when another one has gone', () => {
  const stage = new LeaderStage();
  stage.pass(TTL);
  const most = LEADER_LIMITS.candidaciesOfGroup;
  // The leader is not among them.
  for (let number = 0; number <= most; number += 1) stand(stage, 'g', `c${number}`);
  assert.equal(refusedBy(stand(stage, 'g', 'late')), 'candidacies 1000: no more than 1000 candidates stand in group g');
  recount(stage.state, stage.now);
  stage.core.withdraw(
    { group: 'g', candidateId: 'c7', stamp: { at: 0, by: 'g c7' } },
    { answer: () => true, refuse: () => assert.fail() },
    stage.now,
  );
  assert.ok(stage.state.leaders.groups.get('g')?.candidates.has('c7') === false);
  stand(stage, 'g', 'late');
  assert.ok(stage.state.leaders.groups.get('g')?.candidates.has('late'));
  recount(stage.state, stage.now);
});

test('one more group than may be is told so, and those that are known go on', () => {
  const stage = new LeaderStage();
  stage.pass(TTL);
  for (let number = 0; number < LEADER_LIMITS.groups; number += 1) {
    stage.core.awaitLeader(
      { group: `g${number}`, knows: undefined },
      { answer: () => true, refuse: () => assert.fail() },
      stage.now,
    );
    stand(stage, `g${number}`, 'a');
  }
  assert.equal(refusedBy(stand(stage, 'late', 'a')), 'groups 100000: no more than 100000 groups of leaders');
  assert.equal(stage.state.leaders.groups.size, LEADER_LIMITS.groups);
  // Those that are known go on.
  stand(stage, 'g5', 'b');
  assert.ok(stage.state.leaders.groups.get('g5')?.candidates.has('b'));
});

test('one more candidate than may stand at all is told so', () => {
  const stage = new LeaderStage();
  stage.pass(TTL);
  const each = 200;
  const groups = LEADER_LIMITS.candidacies / each;
  for (let group = 0; group < groups; group += 1) {
    for (let number = 0; number <= each; number += 1) stand(stage, `g${group}`, `c${number}`);
  }
  assert.equal(stage.state.leaders.candidates, LEADER_LIMITS.candidacies);
  assert.equal(refusedBy(stand(stage, 'g1', 'late')), 'candidacies 300000: no more than 300000 candidates stand');
  assert.equal(stage.state.leaders.candidates, LEADER_LIMITS.candidacies);
});
