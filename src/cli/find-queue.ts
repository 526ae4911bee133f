import type { Keyturn, QueueInfo } from '@keyturn/client';
import { plain } from './output.js';

/** Characters; longer ones are no queue. */
const LONGEST_NAME = 128;

/** A queue by its name. Unset: there is none now, so that what is asked of it is answered as of an empty one. */
export async function findQueue(admin: Keyturn['admin'], name: string): Promise<QueueInfo | undefined> {
  return (await findQueueAndHold(admin, name)).info;
}

/** The same, and until when no queue gives turns after the start, if so. */
export async function findQueueAndHold(
  admin: Keyturn['admin'],
  name: string,
): Promise<{ readonly info: QueueInfo | undefined; readonly startupHoldUntil: number | undefined }> {
  // Who does something with a name that is none is told so in the words of that call.
  if (name === '' || name.length > LONGEST_NAME) return { info: undefined, startupHoldUntil: undefined };
  let page = await admin.listQueues({ nameContains: name });
  for (;;) {
    const info = page.queues.find((queue) => queue.name === name);
    if (info !== undefined || page.nextPageToken === '') return { info, startupHoldUntil: page.startupHoldUntil };
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
