/** `keyturn watch`: what happens, as it happens. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventBatch, KeyEvent, Keyturn } from '@keyturn/client';
import type { Command } from 'commander';
import { harmless, harmlessJson, harmlessLines } from '../observability/harmless.js';
import { act, StopSignals } from './action.js';
import { isGoneReader } from './closed-pipes.js';
import { EXIT } from './exit-codes.js';
import { type SidecarOptions, sidecarOptions, text } from './options.js';
import { amount, isoInstant, plain } from './output.js';
import { commandFailure, isAway, withSidecar } from './sidecar.js';

interface WatchOptions extends SidecarOptions {
  readonly json?: boolean;
}

const HELP = `
Prints one line for each event, from now on, until Ctrl-C. Without a queue it shows the events of all queues, with the
queue before the key. A reader that is too slow is told how many events it missed. When the sidecar stops, standard error
says so, and the watch goes on when it is back.
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

/** How often it is looked whether a sidecar is back, ms. */
const LOOK_AGAIN = 1_000;

async function watch(queue: string | undefined, key: string | undefined, options: WatchOptions): Promise<number> {
  const stop = new StopSignals();
  const unread = untilUnread();
  const signal = AbortSignal.any([stop.signal, unread.signal]);
  const what = { queue, key, json: options.json === true };
  try {
    await withSidecar(options, (client) => new Watching(client, what, signal).run());
  } catch (error) {
    // The stop itself ends the stream with an error.
    if (!signal.aborted) throw error;
  } finally {
    stop.release();
    unread.release();
  }
  return stop.exitCode ?? EXIT.ok;
}

/** It has no end of its own: it ends when nobody reads it any more (`| head -1`). */
function untilUnread(): { readonly signal: AbortSignal; release(): void } {
  const reader = new AbortController();
  const look = (error: Error) => {
    if (isGoneReader(error)) reader.abort();
  };
  process.stdout.on('error', look);
  return { signal: reader.signal, release: () => process.stdout.off('error', look) };
}

interface What {
  readonly queue: string | undefined;
  readonly key: string | undefined;
  readonly json: boolean;
}

/** Once it has found the sidecar it goes on when that stops and comes back: that is what people watch, too. */
class Watching {
  constructor(
    private readonly client: Keyturn,
    private readonly what: What,
    private readonly signal: AbortSignal,
  ) {}

  async run(): Promise<void> {
    await this.#look();
    for (;;) {
      const trouble = await this.#show();
      if (this.signal.aborted) return;
      warn(`${trouble}\nWatching goes on when it is back; Ctrl-C ends it.`);
      await this.#untilBack();
      if (this.signal.aborted) return;
      warn(`the sidecar at ${this.client.address} is back; what happened meanwhile is not shown`);
    }
  }

  /** @returns why it ended, if the sidecar may come back */
  async #show(): Promise<string> {
    const { queue, key, json } = this.what;
    try {
      for await (const batch of this.client.admin.watchEvents(queue, key, { signal: this.signal }))
        process.stdout.write(json ? jsonLines(batch) : lines(batch, queue === undefined));
      return `the sidecar at ${this.client.address} has stopped`;
    } catch (error) {
      if (this.signal.aborted || !isAway(error)) throw error;
      const failure = commandFailure(error, this.client.address);
      return failure instanceof Error ? failure.message : String(failure);
    }
  }

  async #untilBack(): Promise<void> {
    while (!this.signal.aborted) {
      await sleep(LOOK_AGAIN, undefined, { signal: this.signal }).catch(() => undefined);
      try {
        return await this.#look();
      } catch (error) {
        if (!isAway(error)) throw error;
      }
    }
  }

  /** Whether it is there; to a watch it answers only when something happens. */
  async #look(): Promise<void> {
    await this.client.admin.listQueues({ nameContains: '', pageSize: 1 });
  }
}

function warn(text: string): void {
  process.stderr.write(`keyturn: ${harmlessLines(text)}\n`);
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
