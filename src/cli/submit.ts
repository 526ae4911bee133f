import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Durability, ItemCall, ItemRef, Keyturn, SubmitResult } from '@keyturn/client';
import { DURABILITIES } from '@keyturn/client';
import { type Command, Option } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act, StopSignals } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { inBatches, Stopped, untilStopped } from './live-input.js';
import { collect, durationBetween, type SidecarOptions, sidecarOptions, text } from './options.js';
import { humanDuration, plain } from './output.js';
import { inputFailure } from './replay/lines.js';
import { BrokenInput } from './replay/rows.js';
import { type TextLine, textLines } from './replay/text-lines.js';
import { withSidecar } from './sidecar.js';

interface SubmitOptions extends SidecarOptions {
  readonly message?: string | undefined;
  readonly queue: string;
  readonly key: string;
  readonly payload?: string;
  readonly payloadFile?: string;
  readonly lines?: boolean;
  readonly itemId?: string;
  readonly idempotencyKey?: string;
  readonly header?: readonly string[];
  readonly delay?: number;
  readonly after?: readonly string[];
  readonly afterUnknown?: ItemCall['afterUnknown'];
  readonly waitForRoom: number;
  readonly durability?: Durability;
  readonly json?: boolean;
}

/** Lines per Submit, and what they may have together: well below the 4 MiB that a server takes. */
const BATCH = { items: 500, bytes: 1_000_000 };

const HELP = `
The payload is the last argument, or --payload, or --payload-file, or standard input. With --lines every line of
standard input that is not blank is an item of its own, in order, with the bytes that it has; with --item-id ID the
line n gets the id "ID:n", so that the same input sent twice is kept once. Lines of a pipe are sent when 500 are
there, or when no other has come for a moment. Ctrl-C sends the lines that were read, and ends.

With --after the item starts when that one is done, whatever queue it is of; with --lines every item does.

The exit code is ${EXIT.notMyTurn} when an item was declined.

Examples:
  $ keyturn submit --queue orders --key customer-7 '{"order": 12}'
  $ keyturn submit --queue mail --key ada@example.org --header kind=welcome --delay 10m < mail.json
  $ keyturn submit --queue publish --key ada --after extract=job-17 --payload 2026
  $ keyturn submit --queue events --key user-1 --lines --item-id import-2026-11 < events.jsonl
`;

export function registerSubmit(program: Command): void {
  const command = program
    .command('submit')
    .summary('hand messages over for workers to take')
    .description('Hands messages over for Keyturn to keep until a worker takes them with Acquire.')
    .argument('[message]', 'the message')
    .requiredOption('--queue <queue>', 'the queue', text)
    .option('--key <key>', 'the key; unset: no order, no exclusion', '')
    .option('--payload <text>', 'the message')
    .option('--payload-file <file>', 'the file that has the message')
    .option('--lines', 'every line of standard input is an item')
    .option('--item-id <id>', 'identity of the submission, makes a resend harmless; unset: a new one', text)
    .option('--idempotency-key <id>', 'business id: once done, not done again', text)
    .option('--header <name=value>', 'a header, may be given again', collect)
    .option('--delay <duration>', 'not before this has passed', durationBetween(0, 30 * 86_400_000, '0s to 720h'))
    .option('--after <queue=id>', 'an item that must be done before, may be given again', collect)
    .addOption(
      new Option('--after-unknown <what>', 'when nothing is known of one of these; unset: refuse').choices([
        'refuse',
        'wait',
      ]),
    )
    .option(
      '--wait-for-room <duration>',
      'how long to wait when the queue is full',
      durationBetween(0, 300_000, '0s to 5m'),
      0,
    )
    .addOption(
      new Option(
        '--durability <when>',
        'what has happened when an item of a durable queue is accepted; unset: as the queue has it',
      ).choices(DURABILITIES),
    )
    .option('--json', 'print each result as a JSON object on a line of its own');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((message: string | undefined, options: SubmitOptions) => act(() => submit({ ...options, message })));
}

async function submit(options: SubmitOptions): Promise<number> {
  refuseContradictions(options);
  const template = templateOf(options);
  if (options.lines !== true) return submitAll(options, [[await wholeItem(options, template)]]);
  const stop = new StopSignals();
  try {
    const exitCode = await submitAll(options, lineBatches(options, template, stop.signal));
    return stop.exitCode ?? exitCode;
  } finally {
    stop.release();
  }
}

async function submitAll(
  options: SubmitOptions,
  batches: AsyncIterable<readonly ItemCall[]> | Iterable<readonly ItemCall[]>,
): Promise<number> {
  return withSidecar(options, async (client) => {
    let exitCode: number = EXIT.ok;
    for await (const items of batches) {
      const results = await send(client, items, options);
      for (const result of results) process.stdout.write(show(result, options.json === true));
      if (results.some(({ decision }) => decision === 'decline')) exitCode = EXIT.notMyTurn;
    }
    return exitCode;
  });
}

async function wholeItem(options: SubmitOptions, template: ItemCall): Promise<ItemCall> {
  return { ...template, itemId: options.itemId ?? randomUUID(), payload: await wholePayload(options) };
}

function refuseContradictions({ message, payload, payloadFile, lines, idempotencyKey }: SubmitOptions): void {
  const sources = [
    message !== undefined && 'the message as an argument',
    payload !== undefined && '--payload',
    payloadFile !== undefined && '--payload-file',
    lines && '--lines',
  ];
  const given = sources.filter((source) => typeof source === 'string');
  if (given.length > 1) throw new CommandFailure(`${given.join(' and ')} exclude each other`, EXIT.usage);
  if (lines === true && idempotencyKey !== undefined) {
    const why =
      'with --lines every line would have the same --idempotency-key, and all but the first would not be done';
    throw new CommandFailure(why, EXIT.usage);
  }
}

function templateOf(options: SubmitOptions): ItemCall {
  const { key, header, delay, idempotencyKey, afterUnknown } = options;
  const headers = new Map((header ?? []).map(headerOf));
  return { key, headers, delay, idempotencyKey, after: options.after?.map(awaitedOf), afterUnknown };
}

/** The name of a queue has no `=`, an id may have some. */
function awaitedOf(given: string): ItemRef {
  const at = given.indexOf('=');
  if (at < 1) throw new CommandFailure(`--after ${harmlessJson(given)}: write queue=id`, EXIT.usage);
  return { queue: given.slice(0, at), itemId: given.slice(at + 1) };
}

function headerOf(given: string): [string, string] {
  const at = given.indexOf('=');
  if (at < 1) throw new CommandFailure(`--header ${harmlessJson(given)}: write name=value`, EXIT.usage);
  return [given.slice(0, at), given.slice(at + 1)];
}

/** A pipe on which nothing has come for so long may be a live one: what is there is sent. */
const QUIET_MS = 100;

async function* lineBatches(
  { itemId }: SubmitOptions,
  template: ItemCall,
  stop: AbortSignal,
): AsyncGenerator<readonly ItemCall[]> {
  const prefix = itemId ?? randomUUID();
  const each = bytesBesidesPayload(template, prefix);
  const bytesOf = ({ raw }: TextLine) => raw.length + each;
  for await (const lines of inBatches(standardInputLines(stop), { ...BATCH, bytesOf, quietMs: QUIET_MS }))
    yield lines.map(({ line, raw }) => ({ ...template, itemId: `${prefix}:${line}`, payload: raw }));
}

/** Of each item in a message: key, headers and names, and what the format adds. */
function bytesBesidesPayload({ key = '', headers, after }: ItemCall, prefix: string): number {
  const FRAMING = 64;
  let bytes = FRAMING + Buffer.byteLength(key) + Buffer.byteLength(prefix);
  const pairs = headers instanceof Map ? headers : Object.entries(headers ?? {});
  for (const [name, value] of pairs) bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 8;
  for (const ref of after ?? []) bytes += Buffer.byteLength(ref.queue) + Buffer.byteLength(ref.itemId) + 8;
  return bytes;
}

async function* standardInputLines(stop: AbortSignal): AsyncGenerator<TextLine> {
  try {
    yield* textLines(untilStopped(process.stdin, stop));
  } catch (error) {
    if (error instanceof Stopped) return;
    if (error instanceof BrokenInput) throw new CommandFailure(`standard input, ${error.message}`, EXIT.failure);
    throw inputFailure('standard input', error);
  }
}

async function wholePayload({ message, payload = message, payloadFile }: SubmitOptions): Promise<Uint8Array> {
  if (payload !== undefined) return Buffer.from(payload);
  const file = payloadFile ?? '-';
  try {
    return file === '-' ? await standardInput() : await readFile(file);
  } catch (error) {
    throw inputFailure(file, error);
  }
}

/** The most that is read: what is above the limit of a payload is refused by the sidecar, with its own words. */
const LONGEST_PAYLOAD = 2 * 1_048_576;

async function standardInput(): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(Buffer.from(chunk));
    bytes += chunks.at(-1)?.length ?? 0;
    if (bytes > LONGEST_PAYLOAD)
      throw new CommandFailure('standard input is longer than 1 MiB, the limit of a payload', EXIT.usage);
  }
  return Buffer.concat(chunks);
}

async function send(
  client: Keyturn,
  items: readonly ItemCall[],
  options: SubmitOptions,
): Promise<readonly SubmitResult[]> {
  const { queue, waitForRoom, durability } = options;
  const { results } = await client.submit({ queue, items, waitForRoom, durability });
  return results;
}

function show(result: SubmitResult, json: boolean): string {
  return json ? `${harmlessJson(toJson(result))}\n` : `${sentence(result)}\n`;
}

/** With the names of the contract; durations in ms. */
function toJson(result: SubmitResult): Readonly<Record<string, unknown>> {
  const { decision, itemId } = result;
  if (decision === 'accept') return { item_id: itemId, decision, superseded_id: result.supersededId };
  const { reason, survivorId, retryAfter } = result;
  return { item_id: itemId, decision, reason, survivor_id: survivorId, retry_after_ms: retryAfter };
}

function sentence(result: SubmitResult): string {
  const id = plain(result.itemId);
  if (result.decision === 'accept') {
    return result.supersededId === undefined
      ? `accepted  ${id}`
      : `accepted  ${id}  instead of ${plain(result.supersededId)}`;
  }
  const by = result.survivorId === undefined ? '' : `  ${plain(result.survivorId)} stands in`;
  const again = result.retryAfter === undefined ? '' : `  try again in ${humanDuration(result.retryAfter)}`;
  return `declined  ${id}  ${result.reason.toUpperCase()}${by}${again}`;
}
