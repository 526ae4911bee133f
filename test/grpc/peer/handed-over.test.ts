/** The home that hands a partition over tells the next one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HandOverStep } from '../../../src/grpc/peer/hand-over-step.js';
import { LinkStage } from './link-stage.js';
import { ADDRESS, HOME } from './pipe.js';

function scene() {
  const told: [partition: number, shutFor: number, step: HandOverStep][] = [];
  const stage = new LinkStage({}, { handedOver: (...one) => told.push(one) });
  const tell = (partition: number, shutFor: number, step?: HandOverStep) =>
    stage.linked.links.handedOver(ADDRESS, HOME, partition, shutFor, step);
  return { stage, told, tell };
}

describe('a partition that was handed over', () => {
  it('S333: its next home is told, and for how long it has let no call in', () => {
    const { stage, told, tell } = scene();
    tell(5, 12.4);
    tell(0, 0);
    stage.settle();
    assert.deepEqual(told, [
      [5, 12, 'done'],
      [0, 0, 'done'],
    ]);
  });

  it('S384: both sides are told of the steps before, also once there is a link', () => {
    const { stage, told, tell } = scene();
    tell(5, 0, 'read');
    stage.settle();
    stage.broken(1_500);
    stage.linked.isReachable = false;
    tell(6, 0, 'read');
    tell(7, 0, 'has_read');
    stage.settle();
    stage.linked.isReachable = true;
    stage.advance(2_000);
    assert.deepEqual(
      told.map(([partition, , step]) => [partition, step]),
      [
        [5, 'read'],
        [6, 'read'],
        [7, 'has_read'],
      ],
    );
  });

  it('S333: its next home is told once there is a link, and then it is longer', () => {
    const { stage, told, tell } = scene();
    stage.broken(1_500);
    stage.linked.isReachable = false;
    tell(5, 20);
    stage.settle();
    assert.equal(told.length, 0);
    stage.linked.isReachable = true;
    stage.advance(2_000);
    assert.equal(told.length, 1);
    assert.ok(
      told.every(([partition, shutFor]) => partition === 5 && shutFor >= 20),
      `${told}`,
    );
    stage.broken(1_500);
    stage.advance(2_000);
    assert.equal(told.length, 1);
  });

  it('S333: a home that fails over it ends nothing of the link', () => {
    const stage = new LinkStage(
      {},
      {
        handedOver: () => {
          throw new Error('broken');
        },
      },
    );
    stage.linked.links.handedOver(ADDRESS, HOME, 1, 1);
    const call = stage.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.equal(call.value.decision, 'accept');
    assert.match(stage.linked.logged.join(), /a call failed inside the sidecar/);
  });
});
