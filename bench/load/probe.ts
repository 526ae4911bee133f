/**
 * Loaded into a server before its own code (`--import`): tells who started it how much memory is in use, and how long its
 * event loop was held up.
 */
import { bytesInUse } from '../heap.js';
import { watchLoop } from '../pauses.js';
import { ASKED } from './asked.js';

let isWatched = false;
let pause = Promise.resolve(0);

process.on('message', (asked) => {
  if (asked === ASKED.bytes) void bytesInUse().then(tell);
  else if (asked === ASKED.watch) {
    isWatched = true;
    pause = watchLoop(() => isWatched);
    tell(0);
  } else if (asked === ASKED.pause) {
    isWatched = false;
    void pause.then(tell);
  }
});
// The channel must not keep alive a server that has ended in peace.
process.channel?.unref();

function tell(figure: number): void {
  process.send?.(figure);
}
