import type { Keyturn, QueueInfo } from '@keyturn/client';
import { plain } from './output.js';

/** A queue by its name. Unset: there is none now, so that what is asked of it is answered as of an empty one. */
export async function findQueue(admin: Keyturn['admin'], name: string): Promise<QueueInfo | undefined> {
  let page = await admin.listQueues({ nameContains: name });
  for (;;) {
    const found = page.queues.find((queue) => queue.name === name);
    if (found !== undefined || page.nextPageToken === '') return found;
    page = await admin.listQueues({ nameContains: name, pageToken: page.nextPageToken });
  }
}

export function noQueue(name: string): string {
  return `there is no queue ${plain(name)} now: one is made when it is first used. "keyturn queues" lists those that there are.`;
}
