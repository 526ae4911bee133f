import { connect, type Keyturn, KeyturnError } from '@keyturn/client';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';

/** Uses the sidecar at an address, and closes the connection whatever happens. Failed calls become {@link CommandFailure}s. */
export function withSidecar<T>(address: string, use: (client: Keyturn) => Promise<T>): Promise<T> {
  // Administration is unary anyhow, and for a single call so is the rest.
  return using(connect(address, { transport: 'unary' }), use);
}

export interface WorkerOptions {
  readonly address: string;
  /** Each call by itself. Unset: all of them on one session. */
  readonly unary?: boolean;
}

/** The same for a worker: many calls, and turns that are held. */
export function withWorker<T>(
  { address, unary = false }: WorkerOptions,
  queue: string,
  use: (client: Keyturn) => Promise<T>,
): Promise<T> {
  if (unary) return withSidecar(address, use);
  return using(connect(address), async (client) => {
    await reach(client, queue);
    return use(client);
  });
}

/** A session waits for a sidecar until its calls time out. A person who forgot to start one shall be told at once. */
async function reach(client: Keyturn, queue: string): Promise<void> {
  try {
    await client.admin.explainKey(queue, '');
  } catch (error) {
    // Whatever else it says, it is there.
    if (error instanceof KeyturnError && isUnreachable(error)) throw error;
  }
}

async function using<T>(client: Keyturn, use: (client: Keyturn) => Promise<T>): Promise<T> {
  try {
    return await use(client);
  } catch (error) {
    throw commandFailure(error, client.address);
  } finally {
    await client.close();
  }
}

const BACK_SOON: readonly string[] = ['DRAINING', 'STORE_UNAVAILABLE'];

/** The sidecar did not answer, is shutting down, or its disk is full: it may be back soon, and the same call may be sent again. */
export function isAway(error: unknown): boolean {
  return error instanceof KeyturnError && (isUnreachable(error) || BACK_SOON.includes(error.reason));
}

function isUnreachable({ code, reason }: KeyturnError): boolean {
  return reason === '' && (code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED');
}

/** A failed call as people should read it: what went wrong, and what they can do. Other errors stay what they are. */
export function commandFailure(error: unknown, address: string): unknown {
  if (!(error instanceof KeyturnError)) return error;
  if (isUnreachable(error)) return new CommandFailure(unreachable(error, address), EXIT.unreachable);
  const { text, exitCode } = (REASONS[error.reason] ?? otherwise)(error);
  return new CommandFailure(text, exitCode);
}

function unreachable(error: KeyturnError, address: string): string {
  // Of the many words of the transport these are the ones that tell something.
  const why = /connect E[A-Z]+/.exec(error.message)?.[0] ?? error.message;
  return (
    `no answer from a sidecar at ${address} (${why}).\n` +
    'Start one with "keyturn serve", or say where it is with --address or KEYTURN_ADDRESS.'
  );
}

interface Told {
  readonly text: string;
  readonly exitCode: number;
}

const REASONS: Readonly<Record<string, (error: KeyturnError) => Told>> = {
  BAD_REQUEST: (error) => ({ text: badRequest(error), exitCode: EXIT.usage }),
  TURN_LOST: (error) => ({ text: error.message, exitCode: EXIT.turnLost }),
  DRAINING: (error) => ({ text: `the sidecar is shutting down: ${error.message}`, exitCode: EXIT.unreachable }),
  STORE_UNAVAILABLE: (error) => ({
    text: `the sidecar cannot use its data directory: ${error.message}`,
    exitCode: EXIT.unreachable,
  }),
  NO_SUCH_QUEUE: (error) => ({
    text: `${error.message}\n"keyturn queues" lists the queues that there are.`,
    exitCode: EXIT.failure,
  }),
};

function otherwise(error: KeyturnError): Told {
  const name = error.reason === '' ? error.code : `${error.code}, ${error.reason}`;
  return { text: `${error.message} (${name})`, exitCode: EXIT.failure };
}

function badRequest({ message, details }: KeyturnError): string {
  if (details.violations.length === 0) return message;
  return details.violations.map(({ field, description }) => `${field}: ${description}`).join('\n');
}
