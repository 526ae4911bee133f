import { connect, type Keyturn, KeyturnError, type KeyturnOptions, TlsError } from '@keyturn/client';
import { harmless, harmlessLines } from '../observability/harmless.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { reachOf, type SidecarOptions } from './options.js';

/** Uses a sidecar, and closes the connection whatever happens. Failed calls become {@link CommandFailure}s. */
export async function withSidecar<T>(
  options: SidecarOptions,
  use: (client: Keyturn) => Promise<T>,
  logger?: KeyturnOptions['logger'],
): Promise<T> {
  // Administration is unary anyhow, and for a single call so is the rest.
  return using(connectTo(options, 'unary', logger), use);
}

/** @throws CommandFailure when the options of TLS are wrong */
function connectTo(
  options: SidecarOptions,
  transport: KeyturnOptions['transport'],
  logger?: KeyturnOptions['logger'],
): Keyturn {
  try {
    return connect(options.address, { transport, ...reachOf(options), logger });
  } catch (error) {
    if (!(error instanceof KeyturnError)) throw error;
    throw new CommandFailure(
      error.message
        .replaceAll(/\btoken\.file\b/g, '--token-file')
        .replaceAll(/\btls\.(ca|cert|key)\b/g, '--tls-$1')
        .replace(/^token: (.*); use tls, or say insecure: true$/, '--token-file: $1; use --tls-ca, or say --insecure'),
      EXIT.usage,
    );
  }
}

interface WorkerOptions extends SidecarOptions {
  /** Each call by itself. Unset: all of them on one session. */
  readonly unary?: boolean;
}

/** The same for a worker: many calls, and turns that are held. */
export async function withWorker<T>(
  options: WorkerOptions,
  queue: string,
  use: (client: Keyturn) => Promise<T>,
): Promise<T> {
  if (options.unary === true) return withSidecar(options, use);
  return using(connectTo(options, 'session'), async (client) => {
    await reach(client, queue);
    return use(client);
  });
}

/** A session waits for a sidecar until its calls time out. A person who forgot to start one shall be told at once. */
async function reach(client: Keyturn, queue: string): Promise<void> {
  try {
    await client.admin.explainKey(queue, 'is it there?');
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

const BACK_SOON: readonly string[] = ['DRAINING', 'STORE_UNAVAILABLE', 'NO_HOME'];

/** The sidecar did not answer, is shutting down, its disk is full, or nobody in its cluster decides about the queue now: it may be back soon, and the same call may be sent again. */
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

/** HTTP/1 on the other side, as the HTTP port of a sidecar has it, or no HTTP at all. */
const NO_GRPC = /Protocol error|Parse Error|HTTP\/1/;

function unreachable(error: KeyturnError, address: string): string {
  // It stands in the sentences below.
  const message = error.message.replace(`cannot reach ${address}: `, '');
  if (error instanceof TlsError)
    return (
      `no connection to the sidecar at ${address}: ${message}.\n` +
      'The options of a command for TLS are --tls-ca, --tls-cert, --tls-key and --tls-server-name.'
    );
  if (NO_GRPC.test(message))
    return (
      `what listens at ${address} does not speak gRPC. The metrics and probes of a sidecar are on a port of their own\n` +
      '(http_listen, 7421); commands need the one of gRPC (listen, 7420): --address or KEYTURN_ADDRESS.'
    );
  // Of the many words of the transport these are the ones that tell something.
  const why = /connect E[A-Z]+/.exec(message)?.[0] ?? harmless(message);
  return (
    `no answer from a sidecar at ${address} (${why}).\n` +
    'Start one with "keyturn serve", or say where it is with --address or KEYTURN_ADDRESS.'
  );
}

interface Described {
  readonly text: string;
  readonly exitCode: number;
}

/** Texts of the sidecar may have names that clients chose. */
function messageOf({ message }: KeyturnError): string {
  return harmlessLines(message);
}

const REASONS: Readonly<Record<string, (error: KeyturnError) => Described>> = {
  BAD_REQUEST: (error) => ({ text: badRequest(error), exitCode: EXIT.usage }),
  TURN_LOST: (error) => ({ text: messageOf(error), exitCode: EXIT.turnLost }),
  DRAINING: (error) => ({ text: `the sidecar is shutting down: ${messageOf(error)}`, exitCode: EXIT.unreachable }),
  // Of a data directory, of the store of a cluster, or of a link that broke: the text names which.
  STORE_UNAVAILABLE: (error) => ({ text: messageOf(error), exitCode: EXIT.unreachable }),
  NO_HOME: (error) => ({
    text: `the cluster decides about this queue nowhere now: ${messageOf(error)}`,
    exitCode: EXIT.unreachable,
  }),
  NO_SUCH_QUEUE: (error) => ({
    text: error.message.includes('"keyturn queues"')
      ? messageOf(error)
      : `${messageOf(error)}\n"keyturn queues" lists the queues that there are.`,
    exitCode: EXIT.failure,
  }),
};

function otherwise(error: KeyturnError): Described {
  const name = error.reason === '' ? error.code : `${error.code}, ${error.reason}`;
  return { text: `${messageOf(error)} (${harmless(name)})`, exitCode: EXIT.failure };
}

function badRequest({ message, details }: KeyturnError): string {
  if (details.violations.length === 0) return harmlessLines(message);
  return details.violations.map(({ field, description }) => harmless(`${field}: ${description}`)).join('\n');
}
