/**
 * Whoever asks and does not read is not waited for: an answer is kept in memory for as long as it takes. How a call was answered,
 * and why a stream ended, makes no difference.
 */
import type { ServerResponse } from 'node:http';

const LOOK_EVERY_MS = 15_000;
/** Looks in a row at which nothing of what is to be read had been read since the one before. */
const MOST_IN_VAIN = 2;

/** While nothing is there to be read it waits for as long as its call does. */
export function cutUnread(response: ServerResponse): void {
  let before = 0;
  let inVain = 0;
  const timer = setInterval(() => {
    const unread = response.writableLength;
    inVain = unread > 0 && unread === before ? inVain + 1 : 0;
    before = unread;
    if (inVain >= MOST_IN_VAIN) response.destroy();
  }, LOOK_EVERY_MS).unref();
  response.once('close', () => clearInterval(timer));
}
