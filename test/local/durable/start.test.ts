/** A start that comes to nothing leaves everything on the disk as it was. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { idsOf } from '../../contract/stage.js';
import { DurableStage } from './stage.js';

const LEASE = 20_000;

/** A sidecar that gave a turn and was killed, 100 s ago. */
async function killed(): Promise<{ readonly stage: DurableStage; readonly token: number }> {
  const stage = await DurableStage.start({ policy: { lease: LEASE } });
  stage.submit([{ itemId: 'i' }]);
  const given = stage.acquire();
  await stage.flush();
  const [delivery] = given.value.deliveries;
  assert.ok(delivery !== undefined);
  stage.disk.crash();
  await stage.advance(100_000);
  return { stage, token: delivery.turn.token };
}

async function close(stage: DurableStage): Promise<void> {
  const closed = stage.coordinator.close();
  await stage.flush();
  await closed;
}

describe('S52: a start that took long', () => {
  it('leaves no trace in the delays that begin after it', async () => {
    const { stage } = await killed();
    const slow = stage.restart();
    const recovering = slow.coordinator.recover();
    await slow.advance(60_000);
    await recovering;
    slow.submit([{ itemId: 'late', key: 'l', delay: 100_000 }]);
    await slow.flush();
    const next = await slow.restart().recovered();
    await next.advance(99_000);
    const early = next.acquire({ maxTurns: 10 });
    await next.flush();
    assert.deepEqual(idsOf(early), [['i']]);
    await next.advance(1_000);
    const due = next.acquire({ maxTurns: 10 });
    await next.flush();
    assert.deepEqual(idsOf(due), [['late']]);
  });
});

describe('before it has begun', () => {
  it('no time passes for it, though it is to end already', () => {
    const stage = new DurableStage();
    void stage.coordinator.drain(60_000);
    assert.equal(stage.clock.pending, 0);
  });
});

describe('S51: a start that was not to be', () => {
  it('because the queue is not durable any more: nothing is written, and the next one finds the lease as it was', async () => {
    const { stage, token } = await killed();
    const before = { rows: stage.disk.rows(), past: stage.disk.past };
    const refused = stage.restart({ policy: { durable: false } });
    await assert.rejects(refused.recovered(), /q \(1 items, 0 dead letters, 1 live turns\)/);
    await close(refused);
    assert.deepEqual({ rows: stage.disk.rows(), past: stage.disk.past }, before);
    const next = await refused.restart({ policy: { lease: LEASE } }).recovered();
    await next.advance(LEASE - 1_000);
    const acked = next.ack({ queue: 'q', key: 'k', token, lease: LEASE, leaseExpiresAt: 0, attempt: 1 });
    await next.flush();
    assert.deepEqual(acked.value.followUps, []);
  });

  it('because it was stopped before it was ready', async () => {
    const { stage } = await killed();
    const before = { rows: stage.disk.rows(), past: stage.disk.past };
    const stopped = stage.restart();
    const recovering = stopped.recovered();
    await close(stopped);
    await recovering;
    assert.deepEqual({ rows: stage.disk.rows(), past: stage.disk.past }, before);
  });

  it('because it was stopped before anybody asked it to recover', async () => {
    const { stage } = await killed();
    const before = { rows: stage.disk.rows(), past: stage.disk.past };
    await close(stage.restart());
    assert.deepEqual({ rows: stage.disk.rows(), past: stage.disk.past }, before);
  });
});
