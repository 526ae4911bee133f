import type { ItemReport } from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { findQueue, tellNoQueue } from './find-queue.js';
import { tellIncomplete } from './incomplete.js';
import { type SidecarOptions, sidecarOptions, text } from './options.js';
import { ago, alignColumns, amount, count, humanDuration, isoInstant, plain } from './output.js';
import { withSidecar } from './sidecar.js';

interface ItemOptions extends SidecarOptions {
  readonly payload?: boolean;
  readonly json?: boolean;
}

const HELP = `
The states of an item:
  waiting      it stands in the line of its key
  in_flight    a worker has it
  done         it was acked
  dead         it is a dead letter
  superseded   a newer item took its place
  discarded    a person discarded it
  unknown      nothing is known of this id, or not any more

With --payload what it carries and its result are shown, which needs the right "payload" and stands in the audit.

Examples:
  $ keyturn item orders 01890a5d-ac96-774b-bcce-b302099a8057
  $ keyturn item orders order-7 --payload --json
`;

export function registerItem(program: Command): void {
  const command = program
    .command('item')
    .summary('what became of this message?')
    .description('Tells where an item stands: its key, its tries, why it waits, who has it, or how it ended.')
    .argument('<queue>', 'the queue', text)
    .argument('<id>', 'the id of the item', text)
    .option('--payload', 'also what it carries, and its result')
    .option('--json', 'print one JSON object');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((queue: string, id: string, options: ItemOptions) => act(() => tellItem(queue, id, options)));
}

async function tellItem(queue: string, itemId: string, options: ItemOptions): Promise<number> {
  const { report, isThere } = await withSidecar(options, async ({ admin }) => {
    const found = await admin.getItem({ queue, itemId, withPayload: options.payload });
    // Where not all could be asked nobody knows.
    const isKnown = found.state !== 'unknown' || found.unavailable.length > 0;
    return { report: found, isThere: isKnown || (await findQueue(admin, queue)) !== undefined };
  });
  if (!isThere) tellNoQueue(queue);
  const isShown = options.payload === true;
  process.stdout.write(
    options.json === true
      ? `${harmlessJson(toJson(queue, itemId, report, isShown))}\n`
      : toText(queue, itemId, report, isShown),
  );
  tellIncomplete(report.unavailable);
  return EXIT.ok;
}

function toText(queue: string, itemId: string, report: ItemReport, isShown: boolean): string {
  const { state, key, item, attempts, lastError, notBefore, after, holder, died, why, traceId, payloadBytes } = report;
  const names = after?.first.map((one) => `${plain(one.itemId)} (${one.queue})`).join(', ') ?? '';
  const more = (after?.count ?? 0) - (after?.first.length ?? 0);
  const facts: (readonly [string, string] | false)[] = [
    ['item', `${plain(itemId)} in queue ${queue}`],
    ['state', state],
    key !== '' && ['key', plain(key)],
    why !== '' && ['why', why],
    notBefore !== undefined && ['until', `${isoInstant(notBefore)} (in ${humanDuration(notBefore - Date.now())})`],
    after !== undefined && ['waits for', more > 0 ? `${names} and ${count(more)} more` : names],
    holder !== undefined && ['holder', `${plain(holder.consumerId)}, token ${holder.token}`],
    died !== undefined && ['died', `${ago(died.at)}, ${died.cause}`],
    attempts > 0 && ['tried', amount(attempts, 'time')],
    lastError !== undefined && ['last error', lastError],
    item !== undefined && ['submitted', `${isoInstant(item.submittedAt)} (${ago(item.submittedAt)})`],
    item?.idempotencyKey !== undefined && ['idempotency key', plain(item.idempotencyKey)],
    traceId !== undefined && ['trace', traceId],
    item !== undefined && ['payload', `${count(payloadBytes)} bytes`],
    ...(isShown ? carried(report) : []),
  ];
  return alignColumns(facts.filter((fact) => fact !== false));
}

function carried({ item, result }: ItemReport): readonly (readonly [string, string])[] {
  const headers = [...(item?.headers ?? [])].map(([name, value]): [string, string] => [
    `header ${plain(name)}`,
    plain(value),
  ]);
  const payload: [string, string][] = item === undefined ? [] : [['content', shown(item.payload)]];
  return [...headers, ...payload, ...(result === undefined ? [] : [['result', shown(result)] as const])];
}

/** Text as text, with what a terminal acts on made harmless; else base64. */
function shown(bytes: Uint8Array): string {
  try {
    return plain(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return `base64 ${Buffer.from(bytes).toString('base64')}`;
  }
}

/** With the names of the contract; instants in ISO 8601, bytes in base64. What is unset is left out. */
function toJson(
  queue: string,
  itemId: string,
  report: ItemReport,
  isShown: boolean,
): Readonly<Record<string, unknown>> {
  const { item, after, holder, died, result } = report;
  const base64 = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('base64');
  return {
    queue,
    item_id: itemId,
    state: report.state,
    key: report.key,
    attempts: report.attempts,
    last_error: report.lastError,
    why: report.why,
    not_before: report.notBefore === undefined ? undefined : isoInstant(report.notBefore),
    after: after?.first.map((one) => ({ queue: one.queue, item_id: one.itemId })),
    after_count: after?.count,
    consumer_id: holder?.consumerId,
    token: holder?.token,
    died_at: died && isoInstant(died.at),
    cause: died?.cause,
    submitted_at: item && isoInstant(item.submittedAt),
    idempotency_key: item?.idempotencyKey,
    trace_id: report.traceId,
    payload_bytes: item && report.payloadBytes,
    headers: isShown && item !== undefined ? Object.fromEntries(item.headers ?? []) : undefined,
    payload: isShown ? base64(item?.payload) : undefined,
    result: isShown ? base64(result) : undefined,
    unavailable: report.unavailable,
  };
}
