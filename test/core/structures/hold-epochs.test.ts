import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Epoch, HoldEpochs } from '../../../src/core/structures/hold-epochs.js';

describe('live turns by age', () => {
  it('the oldest is known up to 100 ms early, whichever turns end', () => {
    const step = fc.record({ pass: fc.constantFrom(0, 30, 99, 100, 250), end: fc.option(fc.nat(20)) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const holds = new HoldEpochs();
        const live: { readonly since: number; readonly epoch: Epoch }[] = [];
        let now = 1_000;
        for (const { pass, end } of steps) {
          now += pass;
          if (end === null) live.push({ since: now, epoch: holds.start(now, now) });
          else for (const ended of live.splice(end, 1)) holds.end(ended.epoch);
          const oldest = live[0]?.since;
          const told = holds.oldestSince;
          if (oldest === undefined) assert.equal(told, undefined);
          else assert.ok(told !== undefined && told <= oldest && told > oldest - 100, `${told} of ${oldest}`);
        }
      }),
    );
  });

  it('turns that come and go need two epochs, whatever time passes', () => {
    const holds = new HoldEpochs();
    const seen = new Set<Epoch>();
    for (let now = 0; now < 10_000; now += 50) {
      const epoch = holds.start(now, now);
      seen.add(epoch);
      holds.end(epoch);
    }
    assert.equal(seen.size, 2);
  });
});
