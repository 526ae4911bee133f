/** I10, S100: a start with smaller limits keeps what is there, tells of it as before, and lets in no more. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Limits, NewItem, Policy } from '../../../src/coordinator.js';
import { newItem, QUEUE } from '../../support/builders.js';
import { Lives } from './reborn.js';

const AFTER = ['x', 'y'].map((itemId) => ({ queue: QUEUE, itemId }));
/** Each waits for two others, has a key of its own and some bytes. */
const KEPT = ['a', 'b', 'c'].map(
  (itemId): Partial<NewItem> => ({
    itemId,
    key: itemId,
    payload: new Uint8Array(100),
    after: AFTER,
    afterUnknown: 'wait',
  }),
);
const NEW = { ...KEPT[0], itemId: 'new', key: 'new' };

interface Smaller {
  readonly limits?: Partial<Limits>;
  readonly policy?: Partial<Policy>;
  readonly refused: string;
}

const SMALLER: Readonly<Record<string, Smaller>> = {
  'limits.dependencies': { limits: { dependencies: 4 }, refused: 'limit' },
  'limits.busy_lanes': { limits: { busyLanes: 2 }, refused: 'limit' },
  'limits.payload_memory_bytes': { limits: { payloadMemoryBytes: 1_000 }, refused: 'memory_full' },
  max_waiting: { policy: { maxWaiting: 2 }, refused: 'queue_full' },
};

/** A turn that lived before, and what was accepted before. */
function begunAnew({ limits = {}, policy = {} }: Smaller) {
  const lives = new Lives();
  const { value } = lives.stage.enQueue('w');
  assert.ok(value.decision === 'accept');
  lives.stage.submit('p', KEPT);
  lives.flush();
  lives.restart({ change: { queues: { [QUEUE]: { durable: true, ...policy } }, limits } });
  return { stage: lives.stage, token: value.turn.token };
}

describe('after a start with a smaller', () => {
  for (const [name, smaller] of Object.entries(SMALLER)) {
    it(`${name} what was accepted is accepted again, by Submit and as a follow-up, and nothing new`, () => {
      const { stage, token } = begunAnew(smaller);
      assert.deepEqual(
        stage.submit('p', KEPT).value.results.map(({ decision }) => decision),
        ['accept', 'accept', 'accept'],
      );
      assert.equal(stage.submit('p', [NEW]).refusal.kind, smaller.refused);
      const followUps = KEPT.map((item) => ({ queue: QUEUE, item: newItem(item) }));
      const answer = stage.ack('w', { token, followUps }).value;
      assert.deepEqual(
        answer.followUps.map(({ decision }) => decision),
        ['accept', 'accept', 'accept'],
      );
    });
  }
});
