/** What signals do: the first one drains, a second one ends it now. SIGHUP does nothing, where Node would end. */
import type { Logger } from '../../observability/logger.js';
import { EXIT, exitCodeOfSignal } from '../exit-codes.js';
import type { Sidecar } from './sidecar.js';

interface ShutdownOptions {
  readonly log: Logger;
  /** ms */
  readonly timeout: number;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
type Signal = (typeof SIGNALS)[number];

export function drainOnSignals(sidecar: Sidecar, { log, timeout }: ShutdownOptions): void {
  let first: Received | undefined;
  const onSignal = (signal: Signal): void => {
    const received = { signal, at: performance.now() };
    if (first !== undefined && isEcho(first, received)) return;
    if (first !== undefined) endNow(sidecar, signal, log);
    first = received;
    log.info({ signal, timeout_ms: timeout }, 'draining; a second signal ends it now');
    void drain(sidecar, timeout, log);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on('SIGHUP', () => log.warn({ signal: 'SIGHUP' }, 'signal ignored: settings are read at the start only'));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error; ending');
    process.exit(EXIT.failure);
  });
}

interface Received {
  readonly signal: Signal;
  /** ms */
  readonly at: number;
}

const ECHO_MS = 500;

/**
 * `npm start` passes a signal on that the terminal, or who ends the process group, has sent to us as well: one press of
 * Ctrl-C arrives twice. Without `exec` in that script it would arrive once, and a SIGTERM for npm not at all.
 */
function isEcho(first: Received, second: Received): boolean {
  const byNpm = process.env['npm_lifecycle_event'] === 'start';
  return byNpm && first.signal === second.signal && second.at - first.at < ECHO_MS;
}

/** Exits, instead of waiting for the last handle to be let go: what is drained must not hang. */
async function drain(sidecar: Sidecar, timeout: number, log: Logger): Promise<never> {
  try {
    const { liveTurns, lostItems } = await sidecar.drain(timeout);
    tellEnd(log, liveTurns, lostItems);
    process.exit(EXIT.ok);
  } catch (error) {
    log.error({ err: error }, 'the drain failed');
    process.exit(EXIT.failure);
  }
}

function tellEnd(log: Logger, liveTurns: number, lostItems: number): void {
  const numbers = { live_turns: liveTurns, lost_items: lostItems };
  if (lostItems > 0) log.warn(numbers, `stopped; ${lostItems} items kept only in memory are lost`);
  else if (liveTurns > 0) log.warn(numbers, `stopped; ${liveTurns} turns had not ended`);
  else log.info(numbers, 'stopped');
}

function endNow(sidecar: Sidecar, signal: Signal, log: Logger): never {
  const { liveTurns, waitingItems, deadLetters } = sidecar.end();
  const numbers = { signal, live_turns: liveTurns, waiting_items: waitingItems, dead_letters: deadLetters };
  log.warn(numbers, 'ended at once; items kept only in memory are lost');
  process.exit(exitCodeOfSignal(signal));
}
