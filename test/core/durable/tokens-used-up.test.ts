/** A disk that takes nothing, for so long that all tokens that were reserved on it are given. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CandidateView } from '../../../src/coordinator.js';
import { KEY, QUEUE } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { FIRST_WALL } from '../../support/fake-clock.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { Stage } from '../stage.js';

const MEMORY = 'memory';
const QUEUES = { queues: { [QUEUE]: { durable: true }, [MEMORY]: {} } };
const AHEAD = 8;

/** With what its first batch wrote, and nothing more. */
function started(): { readonly stage: Stage; readonly disk: MemoryDisk } {
  const stage = new Stage(QUEUES, 5_000, { durable: true, tokensAhead: AHEAD });
  const disk = new MemoryDisk();
  write(stage, disk);
  return { stage, disk };
}

function write({ core, now }: Stage, disk: MemoryDisk): void {
  const batch = core.collect(now);
  disk.apply(batch.changes, batch.instant);
  core.written(batch);
}

/** Turns of memory queues, until there is none. @returns their tokens */
function spend(stage: Stage): readonly number[] {
  const tokens: number[] = [];
  for (let at = 0; at < 2 * AHEAD; at++) {
    const call = stage.enQueue('spender', { queue: MEMORY, key: `k${at}`, wait: 0 });
    if (stage.told.at(-1) !== 'spender ACCEPT') return tokens;
    if (call.value.decision === 'accept') tokens.push(call.value.turn.token);
  }
  return assert.fail('there is no end of tokens');
}

describe('tokens that are not reserved on the disk', () => {
  it('are not given: callers and workers are told so, whatever the queue', () => {
    const { stage } = started();
    stage.submit('p', [{ itemId: 'i' }], MEMORY);
    spend(stage);
    stage.told.length = 0;
    stage.enQueue('c', { key: 'free' });
    stage.enQueue('c', { queue: MEMORY, key: 'free', wait: 0 });
    stage.acquire('w', { queues: [MEMORY], wait: 100 });
    stage.acquire('w', { queues: [MEMORY], key: 'free', wait: 100 });
    assert.deepEqual(stage.told, [
      'c STORE_UNAVAILABLE',
      'c STORE_UNAVAILABLE',
      'w STORE_UNAVAILABLE',
      'w STORE_UNAVAILABLE',
    ]);
    assert.equal(
      stage.explain(MEMORY, KEY).why,
      'the disk has not taken the reserve of tokens: all that were reserved are used up',
    );
  });

  it('would not be below those of the next run, though its clock is back', () => {
    const { stage, disk } = started();
    const given = spend(stage);
    const [floor] = disk.rows();
    assert.ok(floor?.table === 'floor');
    const start = { wall: FIRST_WALL - 3_600_000, durable: true, tokenFloor: floor.token, tokensAhead: AHEAD };
    const next = spend(new Stage(QUEUES, 1, start));
    assert.ok(Math.min(...next) > Math.max(...given));
  });

  it('turns that live go on and end; what they free waits', () => {
    const { stage } = started();
    stage.enQueue('holder', { queue: MEMORY, key: 'held' });
    stage.enQueue('waiter', { queue: MEMORY, key: 'held', wait: 1_000 });
    const [first] = spend(stage);
    assert.ok(first !== undefined);
    stage.told.length = 0;
    stage.deQueue('holder', { queue: MEMORY, key: 'held', holder: { token: first - 1 } });
    assert.deepEqual(stage.told, ['holder OK']);
    stage.pass(1_000);
    assert.deepEqual(stage.told.slice(1), ['waiter BLOCK ahead 0']);
  });

  it('are given as soon as the disk took more of them, to those who wait first', () => {
    const { stage, disk } = started();
    stage.enQueue('holder', { queue: MEMORY, key: 'held' });
    stage.enQueue('waiter', { queue: MEMORY, key: 'held', wait: 1_000 });
    stage.acquire('w', { queues: [QUEUE], wait: 1_000 });
    const [first] = spend(stage);
    assert.ok(first !== undefined);
    stage.deQueue('holder', { queue: MEMORY, key: 'held', holder: { token: first - 1 } });
    stage.submit('p', [{ itemId: 'i' }]);
    stage.told.length = 0;
    write(stage, disk);
    stage.pass(1);
    assert.deepEqual(stage.told, ['waiter ACCEPT', 'w turn with i']);
  });

  it('are given to a candidate of a group without a leader as soon as the disk took more of them', () => {
    const { stage, disk } = started();
    // Leaders of before the start might live.
    stage.pass(60_000);
    spend(stage);
    const times = { ttl: 5_000, inaugurateTimeout: 30_000, handOverTimeout: 10_000 };
    const stamp = { at: 1, by: 'one' };
    const more = { metadata: new Map<string, string>(), term: undefined, knows: undefined };
    stage.core.stand(
      { group: 'g', candidateId: 'one', stamp, ...times, ...more },
      new Call<CandidateView>(),
      stage.now,
    );
    const leads = () => stage.core.inside.leaders.groups.get('g')?.term?.candidate.id;
    stage.pass(1);
    assert.equal(leads(), undefined);
    write(stage, disk);
    stage.pass(1);
    assert.equal(leads(), 'one');
  });

  it('a ticket is told its turn again all the same', () => {
    const { stage } = started();
    stage.enQueue('c', { queue: MEMORY, key: 'mine', ticket: 't' });
    spend(stage);
    stage.told.length = 0;
    stage.enQueue('c', { queue: MEMORY, key: 'mine', ticket: 't' });
    assert.deepEqual(stage.told, ['c ACCEPT']);
  });

  it('an Ack is carried out; its next brings nothing', () => {
    const { stage } = started();
    stage.submit('p', [{ itemId: 'a' }, { itemId: 'b', key: 'other' }], MEMORY);
    const [delivery] = stage.acquire('w', { queues: [MEMORY] }).value.deliveries;
    assert.ok(delivery !== undefined);
    spend(stage);
    stage.told.length = 0;
    const next = { queues: [MEMORY], key: undefined, consumerId: 'w', ticket: undefined, maxTurns: 1 };
    const answer = stage.ack('w', {
      queue: MEMORY,
      token: delivery.turn.token,
      next: { ...next, maxItemsPerTurn: 1, wait: 0, lease: undefined },
    }).value;
    assert.deepEqual(answer.next?.deliveries, []);
  });

  it('without a journal there is no end of them', () => {
    const stage = new Stage(QUEUES, 5_000, { tokensAhead: AHEAD });
    assert.throws(() => spend(stage), /there is no end of tokens/);
  });
});
