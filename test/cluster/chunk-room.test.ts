/** How much of partitions is read at once: it is all in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChunkRoom } from '../../src/cluster/store/redis/read.js';

test('S350: a partition has 8 chunks under way, all of them 32, and each one at least', () => {
  const room = new ChunkRoom();
  const taken = (own: number) => {
    let more = 0;
    while (room.takes(own + more)) more += 1;
    return more;
  };
  assert.deepEqual([0, 0, 0, 0].map(taken), [8, 8, 8, 8]);
  assert.deepEqual([0, 0].map(taken), [1, 1], 'beyond the bound one each, or they would stand still');
  room.give(8);
  assert.equal(taken(1), 6, 'what others gave back is there, less what went beyond the bound');
});
