/** Turns of calls whose callers are gone, when the write that holds their answers back fails. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DurableStage } from './stage.js';

const BACK_OFF = 100;
const TICKET_TTL = 10_000;

/** A turn is decided for the ticket, and its write waits until `fails`. */
async function decided() {
  const stage = await DurableStage.start();
  const worker = stage.acquire({ wait: 60_000, ticket: 't' });
  const fails = stage.stop({ does: 'tear', applied: true });
  stage.submit([{ key: 'a' }]);
  await stage.flush();
  return { stage, worker, fails };
}

async function turnsOf(stage: DurableStage): Promise<number> {
  const next = stage.acquire();
  await stage.flush();
  return next.value.deliveries.length;
}

describe('a write that fails behind its caller', () => {
  for (const leave of [false, true])
    it(`S580: ${leave ? 'ends the turn of one who left' : 'keeps the turn of one who may come back'}`, async () => {
      const { stage, worker, fails } = await decided();
      worker.cancel(leave);
      await fails();
      await stage.advance(BACK_OFF);
      assert.equal(await turnsOf(stage), leave ? 1 : 0);
    });

  it('S579: a turn that two calls with one ticket were to hear of, and none heard of, does not live on', async () => {
    const { stage, worker, fails } = await decided();
    worker.cancel();
    const again = stage.acquire({ ticket: 't' });
    await stage.flush();
    await fails();
    assert.equal(again.refusal.kind, 'store_unavailable');
    await stage.advance(TICKET_TTL + BACK_OFF);
    assert.equal(await turnsOf(stage), 1);
  });
});
