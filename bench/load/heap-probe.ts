/** Loaded into a server before its own code (`--import`): tells who started it how much memory is in use. */
import { bytesInUse } from '../heap.js';

process.on('message', () => {
  bytesInUse().then((bytes) => process.send?.(bytes));
});
// The channel must not keep alive a server that has ended in peace.
process.channel?.unref();
