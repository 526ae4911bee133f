/**
 * Loaded into a server before its own code (`--import`): tells who started it how much memory and time it uses, and how
 * long its event loop was held up.
 */
import { bytesInUse } from '../heap.js';
import { watchLoop } from '../pauses.js';

/** What it is asked; the answer is a number. */
export type Question = 'bytes in use' | 'CPU seconds' | 'watch the loop' | 'longest pause';

let isWatched = false;
let pause = Promise.resolve(0);

process.on('message', (asked: Question) => {
  answerTo(asked).then((answer) => process.send?.(answer));
});
// The channel must not keep alive a server that has ended in peace.
process.channel?.unref();

async function answerTo(asked: Question): Promise<number> {
  switch (asked) {
    case 'bytes in use':
      return bytesInUse();
    case 'watch the loop':
      isWatched = true;
      pause = watchLoop(() => isWatched);
      return 0;
    case 'longest pause':
      isWatched = false;
      return pause;
    case 'CPU seconds': {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }
  }
}
