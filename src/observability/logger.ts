/** The log: JSON lines on stderr, readable ones on a terminal. */
import { destination, type Logger, type LoggerOptions, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { harmless, harmlessLines, harmlessWithin } from './harmless.js';

export type { Logger };

interface LogOptions {
  readonly level: string;
  /** A person looks at it. */
  readonly terminal: boolean;
}

const STDERR = 2;

export async function createLogger({ level, terminal }: LogOptions): Promise<Logger> {
  const options: LoggerOptions = {
    level,
    // No pid and host: whoever collects the logs of many processes knows them better.
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: harmlessFields },
    serializers: { err: harmlessError },
    hooks: {
      // Fields have their formatter; here are message and what is put into it.
      logMethod(args, method) {
        const [first, message, ...rest] = args;
        if (message === undefined) method.apply(this, [harmlessText(first)]);
        else method.apply(this, [harmlessText(first), harmless(message), ...rest.map(harmlessText)]);
      },
    },
  };
  // Written at once: the last line before an exit is the one that explains it. Nothing is logged per call.
  if (!terminal) return pino(options, destination({ dest: STDERR, sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ destination: STDERR, sync: true, colorize: true, translateTime: 'SYS:HH:MM:ss.l' }));
}

function harmlessText(value: unknown): unknown {
  return typeof value === 'string' ? harmless(value) : value;
}

function harmlessFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [harmless(name), harmlessWithin(value)]));
}

/** A stack has lines; its first ones may have those of a foreign text. */
function harmlessError(error: Error): object {
  const { message, stack, ...rest } = stdSerializers.err(error);
  const frames = stack.slice(stack.indexOf('\n    at '));
  return {
    ...harmlessFields(rest),
    message: harmless(message),
    stack: `${error.name}: ${harmless(message)}${harmlessLines(frames)}`,
  };
}
