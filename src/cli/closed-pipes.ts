/**
 * `keyturn queues | head -1`: the reader has gone, and that is no failure. The command goes on to its end and keeps its
 * exit code: one that submits lines must not stop in the middle because nobody reads what became of them. What cannot be
 * written for another reason (`> /dev/full`) is told, and ends the command: nobody would learn what it says.
 *
 * To be called before anything is written: the parser prints help and complaints before a command has begun.
 */
import { EXIT } from './exit-codes.js';

export function bearClosedPipes(
  streams: readonly NodeJS.WriteStream[] = [process.stdout, process.stderr],
  exit: (code: number) => void = (code) => process.exit(code),
): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (isGoneReader(error)) return;
      if (stream !== process.stderr)
        process.stderr.write(`keyturn: standard output cannot be written: ${error.message}\n`);
      exit(EXIT.failure);
    });
  }
}

export function isGoneReader(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}
