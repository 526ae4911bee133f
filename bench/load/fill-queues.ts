/** Very many queues with an item waiting for each of their keys. */
import { makeKeys } from '../coordinator.js';
import { perSecondInFlight } from './in-flight.js';
import { SessionStream } from './session-stream.js';
import { newItem, submit } from './wire.js';

export async function fillQueues(address: string, queues: number, keysPerQueue: number): Promise<void> {
  const session = new SessionStream(address);
  const keys = makeKeys(keysPerQueue);
  await perSecondInFlight(queues, 4, async (queue) => {
    const items = keys.map((key) => newItem(key));
    const { results } = await session.ask(submit(items, `queue-${queue}`));
    if (results.length !== keysPerQueue) throw new Error('an item was not answered');
  });
  session.close();
}
