/** The log of the client: what an application learns though it looks at no result. */
import { functionNeeded, wrongSetting } from './option-checks.js';
import { runAlone } from './run-alone.js';
import { shown } from './values.js';

export type LogDetails = Readonly<Record<string, unknown>>;

/** Where the client writes what no call tells; `console` is one. An error that it throws is a warning of the process. */
export interface Logger {
  /** Something was lost, or is about to be: dead letters, handlers that a stop cut off. */
  warn(message: string, details: LogDetails): void;
  /** What mends itself: a stream that broke, and that stands again. */
  info?(message: string, details: LogDetails): void;
}

/** Without a logger of the application: warnings of the process, which go to stderr, and nothing else. */
const WARNINGS: Logger = {
  warn: (message, details) => runAlone(() => process.emitWarning(`${message} ${harmless(details)}`, 'KeyturnWarning')),
};

/** @throws KeyturnError (INVALID_ARGUMENT) unless it is unset or a logger */
export function loggerOf(logger: Logger | undefined): Logger {
  if (logger === undefined) return WARNINGS;
  if (typeof logger !== 'object' || logger === null)
    throw wrongSetting(`logger is ${shown(logger)}; needed is an object with warn(message, details)`);
  functionNeeded('logger.warn', logger.warn);
  if (logger.info !== undefined) functionNeeded('logger.info', logger.info);
  return {
    warn: (message, details) => runAlone(() => logger.warn(message, details)),
    info: (message, details) => runAlone(() => logger.info?.(message, details)),
  };
}

/** Control characters, and those that turn the direction of what follows: texts of others must not write on a terminal. */
const HARMFUL = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function harmless(details: LogDetails): string {
  return JSON.stringify(details).replace(HARMFUL, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
