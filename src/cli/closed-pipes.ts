/**
 * `keyturn queues | head -1`: the reader has gone, and that is no failure. The command goes on to its end and keeps its
 * exit code: one that submits lines must not stop in the middle because nobody reads what became of them.
 *
 * To be called before anything is written: the parser prints help and complaints before a command has begun.
 */
export function bearClosedPipes(streams: readonly NodeJS.WriteStream[] = [process.stdout, process.stderr]): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}
