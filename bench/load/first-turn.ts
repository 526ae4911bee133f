/** From the start of a sidecar until it gives its first turn. */
import { openWhenReady } from './ready-session.js';
import { type ServerProcess, type SidecarOptions, startSidecar } from './server-process.js';
import { acquire, seconds } from './wire.js';

/** s */
const WAIT = 60;

export interface FirstTurn {
  readonly sidecar: ServerProcess;
  /** s */
  readonly after: number;
}

/** The process is begun, what is on the disk is read, and one who waits for a turn has it. */
export async function untilFirstTurn(options: SidecarOptions): Promise<FirstTurn> {
  const start = performance.now();
  const sidecar = await startSidecar(options);
  const session = await openWhenReady(sidecar.address);
  const { deliveries } = await session.ask(acquire(1, seconds(WAIT)));
  const after = (performance.now() - start) / 1_000;
  session.close();
  if (deliveries[0]?.items.length !== 1) throw new Error('the first turn has no item');
  return { sidecar, after };
}
