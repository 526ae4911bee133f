/** What signals do: the first one drains, a second one ends it now. */
import type { Logger } from '../../observability/logger.js';
import { EXIT, exitCodeOfSignal } from '../exit-codes.js';
import type { Sidecar } from './sidecar.js';

export interface ShutdownOptions {
  readonly log: Logger;
  /** ms */
  readonly timeout: number;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
type Signal = (typeof SIGNALS)[number];

export function drainOnSignals(sidecar: Sidecar, { log, timeout }: ShutdownOptions): void {
  let draining = false;
  const onSignal = (signal: Signal): void => {
    if (draining) endNow(sidecar, signal, log);
    draining = true;
    log.info({ signal, timeout_ms: timeout }, 'draining; a second signal ends it now');
    void drain(sidecar, timeout, log);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error; ending');
    process.exit(EXIT.failure);
  });
}

/** Exits, instead of waiting for the last handle to be let go: what is drained must not hang. */
async function drain(sidecar: Sidecar, timeout: number, log: Logger): Promise<never> {
  try {
    const { liveTurns, lostItems } = await sidecar.drain(timeout);
    const numbers = { live_turns: liveTurns, lost_items: lostItems };
    if (liveTurns + lostItems > 0) log.warn(numbers, `stopped; ${lostItems} items kept only in memory are lost`);
    else log.info(numbers, 'stopped');
    process.exit(EXIT.ok);
  } catch (error) {
    log.error({ err: error }, 'the drain failed');
    process.exit(EXIT.failure);
  }
}

function endNow(sidecar: Sidecar, signal: Signal, log: Logger): never {
  const { liveTurns, waitingItems, deadLetters } = sidecar.end();
  const numbers = { signal, live_turns: liveTurns, waiting_items: waitingItems, dead_letters: deadLetters };
  log.warn(numbers, 'ended at once; items kept only in memory are lost');
  process.exit(exitCodeOfSignal(signal));
}
