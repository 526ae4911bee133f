/** Loaded into a server before its own code (`--import`): tells who started it how much memory and time it uses. */
import { bytesInUse } from '../heap.js';

/** What it is asked; the answer is a number. */
export type Question = 'bytes in use' | 'CPU seconds';

process.on('message', (asked: Question) => {
  answerTo(asked).then((answer) => process.send?.(answer));
});
// The channel must not keep alive a server that has ended in peace.
process.channel?.unref();

async function answerTo(asked: Question): Promise<number> {
  if (asked === 'bytes in use') return bytesInUse();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
