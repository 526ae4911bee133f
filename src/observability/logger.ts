/** The log: JSON lines on stderr, readable ones on a terminal. */
import { destination, type Logger, pino, stdTimeFunctions } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

export interface LogOptions {
  readonly level: string;
  /** A person looks at it. */
  readonly terminal: boolean;
}

const STDERR = 2;

export function createLogger({ level, terminal }: LogOptions): Logger {
  const options = {
    level,
    // No pid and host: whoever collects the logs of many processes knows them better.
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // Written at once: the last line before an exit is the one that explains it. Nothing is logged per call.
  if (terminal)
    return pino(options, pretty({ destination: STDERR, sync: true, colorize: true, translateTime: 'SYS:HH:MM:ss.l' }));
  return pino(options, destination({ dest: STDERR, sync: true }));
}
