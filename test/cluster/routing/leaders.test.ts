/** Calls about leaders on their way to the home of the group. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CandidateView, GroupView, ReportAnswer, StandRequest } from '../../../src/coordinator.js';
import { Call } from '../../support/call.js';
import { RoutingStage } from './stage.js';

const GROUP = 'backup';

function request(change: Partial<StandRequest> = {}): StandRequest {
  const times = { ttl: 5_000, inaugurateTimeout: 30_000, handOverTimeout: 10_000 };
  const stamp = { at: 1, by: `stream of ${change.candidateId ?? 'a'}` };
  const said = { metadata: new Map<string, string>(), term: undefined, knows: undefined };
  return { group: GROUP, candidateId: 'a', stamp, ...times, ...said, ...change };
}

function stand(stage: RoutingStage, change: Partial<StandRequest> = {}): Call<CandidateView> {
  const call = new Call<CandidateView>();
  call.waits(stage.coordinator.leaders.stand(request(change), call));
  stage.advance(10);
  return call;
}

function who(stage: RoutingStage): Call<GroupView> {
  const call = new Call<GroupView>();
  call.waits(stage.coordinator.leaders.awaitLeader({ group: GROUP, knows: undefined }, call));
  stage.advance(10);
  return call;
}

function say(stage: RoutingStage, term: number, kind: 'alive' | 'inaugurated'): Call<ReportAnswer> {
  const call = new Call<ReportAnswer>();
  stage.coordinator.leaders.report({ group: GROUP, term, report: { kind } }, call);
  stage.advance(10);
  return call;
}

function led() {
  const stage = new RoutingStage();
  const { value } = stand(stage);
  assert.ok(value.at === 'inaugurate');
  assert.ok(say(stage, value.term, 'inaugurated').value.counted);
  return { stage, term: value.term, partition: stage.map.ofLeaders(GROUP) };
}

describe('S395: calls about leaders in a cluster', () => {
  it('go to the home of the partition of the group, whose terms name it', () => {
    const { stage, term, partition } = led();
    assert.equal(term % 4, partition);
    assert.deepEqual(
      [0, 1, 2, 3].map((one) => stage.at(one).asked.length > 0),
      [0, 1, 2, 3].map((one) => one === partition),
    );
  });

  it("a term of another partition is nobody's", () => {
    const { stage, term } = led();
    const said = say(stage, term + 1, 'alive').value;
    assert.deepEqual(said, { counted: false, cause: 'unknown' });
  });

  it("who leads is asked each time, and the time for which that holds is its home's", () => {
    const { stage, term } = led();
    const first = who(stage).value.leader;
    stage.advance(1_000);
    const second = who(stage).value.leader;
    assert.deepEqual([first?.term, second?.term], [term, term]);
    assert.equal((first?.holdsFor ?? 0) - (second?.holdsFor ?? 0), 1_010);
    assert.equal(first?.holdsUntil, second?.holdsUntil);
    assert.equal(stage.at(stage.map.ofLeaders(GROUP)).asked.filter((one) => one === 'await leader').length, 2);
  });
});

describe('S396: a partition without a home', () => {
  it('candidates wait for the next one as long as it takes; who only looks is refused after 2 s', () => {
    const stage = new RoutingStage();
    const partition = stage.map.ofLeaders(GROUP);
    stage.homes.set(partition, undefined);
    const candidate = stand(stage);
    const looked = who(stage);
    const watched = new Call<GroupView>();
    stage.coordinator.leaders.awaitLeader({ group: GROUP, knows: { term: -1, phase: undefined } }, watched);
    const lives = say(stage, 5, 'alive');
    stage.advance(1_900);
    assert.ok(looked.open && lives.open);
    stage.advance(100);
    assert.deepEqual([looked.refusal.kind, lives.refusal.kind], ['no_home', 'no_home']);
    stage.advance(3_600_000);
    assert.ok(candidate.open && watched.open);
    stage.begin(partition);
    stage.advance(50);
    assert.equal(candidate.value.at, 'inaugurate');
    assert.equal(watched.value.group, GROUP);
  });

  it('a candidate that is sent away by the old home asks the new one, and is told what it has missed', () => {
    const { stage, partition, term } = led();
    const waits = stand(stage, { candidateId: 'b', knows: { at: 'standing', number: 1 } });
    assert.ok(waits.open);
    // The leader asks no more: it is absent.
    stage.advance(2_000);
    const old = stage.at(partition);
    stage.homes.set(partition, undefined);
    old.shut();
    const report = { kind: 'handed_over', state: new Uint8Array(0) } as const;
    old.inner.leaders.report({ group: GROUP, term, report }, new Call());
    stage.moved(old, partition);
    stage.advance(50);
    assert.equal(waits.value.at, 'inaugurate');
  });

  it('a home that sends candidates away, and stays the home, is not asked without end', () => {
    const stage = new RoutingStage();
    const partition = stage.map.ofLeaders(GROUP);
    const home = stage.at(partition);
    let asked = 0;
    // As over a link: it says so a moment later.
    home.leaders = {
      ...home.leaders,
      stand: (_request, reply) => {
        asked += 1;
        stage.clock.after(1, () => reply.refuse(home.noHome));
        return { cancel: () => undefined };
      },
    };
    const candidate = stand(stage);
    stage.advance(10_000);
    assert.ok(asked > 10 && asked < 25, `${asked} times in 10 s`);
    const next = stage.begin(partition);
    stage.advance(1_100);
    assert.equal(candidate.value.at, 'inaugurate');
    assert.deepEqual(next.asked, ['stand']);
    // One that rests is given up as any other.
    stage.homes.set(partition, home);
    const other = stand(stage, { candidateId: 'b' });
    stage.advance(3_000);
    other.cancel();
    asked = 0;
    stage.advance(3_000);
    assert.equal(asked, 0);
  });

  it('who gives up meanwhile is not asked for any more', () => {
    const stage = new RoutingStage();
    const partition = stage.map.ofLeaders(GROUP);
    stage.homes.set(partition, undefined);
    const candidate = stand(stage);
    candidate.cancel();
    const home = stage.begin(partition);
    stage.advance(1_000);
    assert.deepEqual(home.asked, []);
  });
});

describe('S398: the end of a sidecar', () => {
  it('its drain asks no leader to hand over, and lets candidates go on, here or elsewhere, until it ends', async () => {
    const { stage, term } = led();
    const leader = stand(stage, { term, knows: { at: 'execute', number: term } });
    const candidate = stand(stage, { candidateId: 'b', knows: { at: 'standing', number: 1 } });
    const elsewhere = 'elsewhere';
    const far = stage.map.ofLeaders(elsewhere);
    assert.notEqual(far, stage.map.ofLeaders(GROUP));
    stage.homes.isElsewhere(far);
    await stage.coordinator.drain(1_000);
    stage.advance(10);
    assert.ok(leader.open && candidate.open);
    assert.ok(say(stage, term, 'alive').value.counted);
    assert.equal(stand(stage, { group: elsewhere }).value.at, 'inaugurate');
    const closed = stage.coordinator.close();
    stage.advance(100);
    await closed;
    assert.deepEqual([leader.refusal.kind, candidate.refusal.kind], ['draining', 'draining']);
    assert.equal(stand(stage).refusal.kind, 'draining');
  });
});
