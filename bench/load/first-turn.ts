/** From the start of a sidecar until it gives its first turn. */
import { setTimeout as pass } from 'node:timers/promises';
import { type ServerProcess, type SidecarOptions, startSidecar } from './server-process.js';
import { SessionStream } from './session-stream.js';
import { acquire, seconds } from './wire.js';

/** Between two tries, ms: it takes no calls before it is ready. */
const BETWEEN_TRIES = 10;
/** s; of the Acquire that gets in. */
const WAIT = 300;

export interface FirstTurn {
  readonly sidecar: ServerProcess;
  /** s */
  readonly after: number;
}

/** The process is begun, what is on the disk is read, and one who waits for a turn has it. */
export async function untilFirstTurn(options: SidecarOptions): Promise<FirstTurn> {
  const start = performance.now();
  const sidecar = await startSidecar(options);
  while (!(await getsTurn(sidecar.address))) await pass(BETWEEN_TRIES);
  return { sidecar, after: (performance.now() - start) / 1_000 };
}

/** @returns false: it is not ready */
async function getsTurn(address: string): Promise<boolean> {
  const session = new SessionStream(address);
  try {
    const { deliveries } = await session.ask(acquire(1, seconds(WAIT)));
    if (deliveries[0]?.items[0]?.payload.length === undefined) throw new Error('the first turn has no item');
    return true;
  } catch (error) {
    if (isUnavailable(error)) return false;
    throw error;
  } finally {
    session.close();
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof Error && error.message.includes('UNAVAILABLE');
}
