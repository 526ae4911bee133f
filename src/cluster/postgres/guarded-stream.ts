import type { Duplex } from 'node:stream';

/**
 * Of what it does not understand (a way of logging in, the answers of another service) the library throws while it is told what came in:
 * nobody can catch that, and it would end the process. So the stream ends with that error instead, as if it had been lost.
 */
export function guardStream(stream: Duplex): void {
  const emit = stream.emit.bind(stream);
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'data') return Reflect.apply(emit, stream, [event, ...args]);
    try {
      return Reflect.apply(emit, stream, [event, ...args]);
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
      return true;
    }
  };
}
