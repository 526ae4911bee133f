import { setLogger } from '@grpc/grpc-js';
import type { Log } from '../call/handler.js';

/** grpc-js writes through one logger of the process; what it says belongs to our log, not beside it. Before any server or channel. */
export function grpcSpeaksTo(log: Log): void {
  setLogger({ error: (...said: unknown[]) => log.warn({ said: said.map(String) }, 'grpc-js') });
}
