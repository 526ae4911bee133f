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

/** Said on standard error, so that a mistyped name is noticed; what the command prints stays the same. */
export function tellNoQueue(name: string): void {
  process.stderr.write(
    `keyturn: there is no queue ${plain(name)} now: one is made when it is first used. "keyturn queues" lists those that there are.\n`,
  );
}

export function tellNewQueue(name: string): void {
  process.stderr.write(`keyturn: there was no queue ${plain(name)}: it is made now. "keyturn queues" lists all.\n`);
}
