/** The log: JSON lines on stderr, readable ones on a terminal. */
import { destination, type Logger, type LoggerOptions, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { eventOf } from './event-of.js';
import { harmless, harmlessWithin } from './harmless.js';

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
        if (message !== undefined)
          method.apply(this, [named(first, message), harmless(message), ...rest.map(harmlessText)]);
        else if (typeof first === 'string') method.apply(this, [named({}, first), harmless(first)]);
        else method.apply(this, [first]);
      },
    },
  };
  // Written at once: the last line before an exit is the one that explains it. Nothing is logged per call.
  if (!terminal) return pino(options, destination({ dest: STDERR, sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ destination: STDERR, sync: true, colorize: true, translateTime: 'SYS:HH:MM:ss.l' }));
}

/** Before all other fields the name of what is said, unless who says it has named it. */
function named(fields: unknown, message: string): unknown {
  const event = eventOf(message);
  if (event === undefined || typeof fields !== 'object' || fields === null) return harmlessText(fields);
  return { event, ...fields };
}

function harmlessText(value: unknown): unknown {
  return typeof value === 'string' ? harmless(value) : value;
}

function harmlessFields(fields: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(fields);
  return Object.fromEntries(
    // The serializer of `err` comes after this, and wants the error itself.
    entries.map(([name, value]) => [harmless(name), name === 'err' ? value : harmlessWithin(value)]),
  );
}

/** What is thrown may be anything. */
function harmlessError(error: unknown): unknown {
  if (!(error instanceof Error)) return harmlessWithin(error);
  const { message, stack, ...rest } = stdSerializers.err(error);
  const head = `${harmless(error.name)}: ${harmless(message)}`;
  return { ...harmlessFields(rest), message: harmless(message), stack: [head, ...framesOf(stack)].join('\n') };
}

/** A stack has lines; those of a foreign text, in the message of the error or of its cause, are none of its frames. */
function framesOf(stack: string): readonly string[] {
  return stack
    .split('\n')
    .filter((line) => /^(?: {4}at |caused by: )/.test(line))
    .map(harmless);
}
