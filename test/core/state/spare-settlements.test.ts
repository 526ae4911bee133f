/** Records of lanes that were forgotten are used again: nothing of what they told is left in them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { Lane, Queue } from '../../../src/core/state/records.js';
import { ABANDONED, LOST } from '../../../src/core/state/settlement.js';
import { endingByTicket, remember, SpareSettlements, settledTokens } from '../../../src/core/state/settlements.js';
import { ResultLedger } from '../../../src/core/structures/retention-cache.js';

const queue = new Queue('q', BUILT_IN_POLICY, true, new ResultLedger(0), 0);

describe('records of settlements that are used again', () => {
  for (const turns of [1, 2, 7, 8, 9, 20]) {
    it(`of a lane of which ${turns} turns ended: the next lane remembers its own ends, and no other`, () => {
      const spares = new SpareSettlements();
      const old = new Lane(queue, 'old');
      for (let token = 1; token <= turns; token++) remember(spares, old, token, `t${token}`, ABANDONED);
      spares.giveAll(old);
      assert.deepEqual([...settledTokens(old)], []);
      const lane = new Lane(queue, 'new');
      for (let token = 101; token <= 120; token++) {
        remember(spares, lane, token, token % 2 === 0 ? undefined : `t${token}`, LOST.evicted);
        const from = Math.max(101, token - 7);
        assert.deepEqual([...settledTokens(lane)], numbers(from, token));
        assert.equal(endingByTicket(lane, 't1'), undefined);
        assert.equal(endingByTicket(lane, `t${token}`), token % 2 === 0 ? undefined : LOST.evicted);
      }
    });
  }

  it('are taken from one lane at a time: two lanes share none', () => {
    const spares = new SpareSettlements();
    for (let lane = 0; lane < 200; lane++) {
      const old = new Lane(queue, `old ${lane}`);
      for (let token = 1; token <= 8; token++) remember(spares, old, token, undefined, ABANDONED);
      spares.giveAll(old);
    }
    const lanes = Array.from({ length: 200 }, (_, n) => new Lane(queue, `new ${n}`));
    for (let round = 0; round < 8; round++)
      for (const [n, lane] of lanes.entries()) remember(spares, lane, n * 100 + round, undefined, ABANDONED);
    for (const [n, lane] of lanes.entries()) assert.deepEqual([...settledTokens(lane)], numbers(n * 100, n * 100 + 7));
  });
});

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}
