/** `keyturn watch`: what happens, as it happens. */
import type { EventBatch, KeyEvent, Keyturn } from '@keyturn/client';
import type { Command } from 'commander';
import { harmless, harmlessJson } from '../observability/harmless.js';
import { act, StopSignals } from './action.js';
import { EXIT } from './exit-codes.js';
import { type SidecarOptions, sidecarOptions, text } from './options.js';
import { amount, isoInstant, plain } from './output.js';
import { withSidecar } from './sidecar.js';

interface WatchOptions extends SidecarOptions {
  readonly json?: boolean;
}

const HELP = `
Prints one line for each event, from now on, until Ctrl-C. Without a queue it shows the events of all queues, with the
queue before the key. A reader that is too slow is told how many events it missed.
With --json each line is an object: at, event, queue, key, and token, item_id, consumer_id, detail if the event has
them; or missed.

Examples:
  $ keyturn watch
  $ keyturn watch orders
  $ keyturn watch orders customer-7 --json
`;

export function registerWatch(program: Command): void {
  const command = program
    .command('watch')
    .summary('show what happens in a queue, or in all of them')
    .description('Shows arrivals, turns, settlements, expiries, evictions and dead letters as they happen.')
    .argument('[queue]', 'only this queue', text)
    .argument('[key]', 'only this key')
    .option('--json', 'print a JSON object for each event');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((queue: string | undefined, key: string | undefined, options: WatchOptions) =>
      act(() => watch(queue, key, options)),
    );
}

async function watch(queue: string | undefined, key: string | undefined, options: WatchOptions): Promise<number> {
  const stop = new StopSignals();
  try {
    await withSidecar(options, (client) => show(client, queue, key, options.json === true, stop.signal));
    return stop.exitCode ?? EXIT.ok;
  } catch (error) {
    // The stop itself ends the stream with an error.
    if (stop.exitCode !== undefined) return stop.exitCode;
    throw error;
  } finally {
    stop.release();
  }
}

async function show(
  client: Keyturn,
  queue: string | undefined,
  key: string | undefined,
  json: boolean,
  signal: AbortSignal,
): Promise<void> {
  for await (const batch of client.admin.watchEvents(queue, key, { signal }))
    process.stdout.write(json ? jsonLines(batch) : lines(batch, queue === undefined));
}

function lines({ events, missed }: EventBatch, withQueue: boolean): string {
  const gap = missed === 0 ? '' : `… ${amount(missed, 'event')} missed\n`;
  return gap + events.map((event) => `${harmless(line(event, withQueue))}\n`).join('');
}

function line({ kind, at, queue, key, token, itemId, consumerId, detail }: KeyEvent, withQueue: boolean): string {
  const parts = [
    isoInstant(at),
    kind.padEnd('dead_letter'.length),
    withQueue ? plain(queue) : '',
    plain(key),
    token === undefined ? '' : `token ${token}`,
    itemId === undefined ? '' : `item ${plain(itemId)}`,
    consumerId === undefined ? '' : `by ${plain(consumerId)}`,
    detail ?? '',
  ];
  return parts.filter((part) => part !== '').join('  ');
}

function jsonLines({ events, missed }: EventBatch): string {
  const gap = missed === 0 ? '' : `${harmlessJson({ missed })}\n`;
  return gap + events.map((event) => `${harmlessJson(toJson(event))}\n`).join('');
}

function toJson({
  kind,
  at,
  queue,
  key,
  token,
  itemId,
  consumerId,
  detail,
}: KeyEvent): Readonly<Record<string, unknown>> {
  return { at: isoInstant(at), event: kind, queue, key, token, item_id: itemId, consumer_id: consumerId, detail };
}
