import assert from 'node:assert/strict';
import type { Coordinator, QueueView } from '../../src/coordinator.js';
import { ALL_QUEUES } from './builders.js';

/** The queues as people see them; the test fails when that is refused. */
export async function listedQueues({ admin }: Pick<Coordinator, 'admin'>): Promise<readonly QueueView[]> {
  const listed = await admin.ask('listQueues', ALL_QUEUES);
  if (!listed.ok) assert.fail(`refused: ${JSON.stringify(listed.refusal)}`);
  return listed.value.queues;
}
