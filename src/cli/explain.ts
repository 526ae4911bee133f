import type { HolderView, KeyExplanation, LineEntryView } from '@keyturn/client';
import type { Command } from 'commander';
import { pastedCommand } from '../core/contract/pasted-command.js';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { findQueueAndHold, tellNoQueue } from './find-queue.js';
import { type SidecarOptions, sidecarOptions, text } from './options.js';
import { ago, alignColumns, amount, count, humanDuration, isoInstant, plain } from './output.js';
import { withSidecar } from './sidecar.js';

interface ExplainOptions extends SidecarOptions {
  readonly json?: boolean;
}

const HELP = `
The states of a key:
  INIT     nothing to do for it
  PROCESS  somebody processes it
  BLOCK    somebody processes it, others wait
  READY    the head of its line could start: an item waits for a worker, a caller for a gate
  DELAY    nobody may start yet: back-off, a delay, min_interval, or items that must be done before
  PARK     stopped after a dead letter, until somebody resumes it

Example:
  $ keyturn explain orders customer-7
`;

export function registerExplain(program: Command): void {
  const command = program
    .command('explain')
    .summary('why does this key not move?')
    .description('Tells in which state a key is, who holds it, who waits, why it does not move, and until when.')
    .argument('<queue>', 'the queue', text)
    .argument('<key>', 'the key; "": all items without one')
    .option('--json', 'print one JSON object');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((queue: string, key: string, options: ExplainOptions) => act(() => explain(queue, key, options)));
}

async function explain(queue: string, key: string, options: ExplainOptions): Promise<number> {
  const { explanation, found } = await withSidecar(options, async ({ admin }) => ({
    explanation: await admin.explainKey(queue, key),
    found: await findQueueAndHold(admin, queue),
  }));
  const { info, startupHoldUntil } = found;
  if (info === undefined) tellNoQueue(queue);
  process.stdout.write(
    options.json === true
      ? `${harmlessJson({ ...toJson(queue, key, explanation), startup_hold_until: instantOrUnset(startupHoldUntil) })}\n`
      : toText(queue, key, explanation, info?.paused === true, startupHoldUntil),
  );
  return EXIT.ok;
}

function toText(
  queue: string,
  key: string,
  explanation: KeyExplanation,
  isPaused: boolean,
  holdUntil: number | undefined,
): string {
  const { state, since, holder, waitingCallers, waitingItems, attempts, lastError, why, until, deadLetters } =
    explanation;
  const facts: (readonly [string, string] | false)[] = [
    ['key', `${plain(key)} in queue ${queue}`],
    ['state', since === undefined || state === 'INIT' ? state : `${state} since ${isoInstant(since)} (${ago(since)})`],
    why !== '' && ['why', why],
    until !== undefined && ['until', `${isoInstant(until)} (in ${humanDuration(until - Date.now())})`],
    // The reason says it where something waits; who asks for a key at rest shall know it too.
    holdUntil !== undefined && state === 'INIT' && ['gate', holdText(holdUntil)],
    ...remedies(queue, key, explanation, isPaused).map((remedy): [string, string] => ['command', remedy]),
    key !== '' && ['holder', holder === undefined ? 'nobody' : holderText(holder)],
    holder !== undefined && holder.heldItems.length > 0 && ['items', heldText(holder)],
    ['line', lineText(waitingCallers, waitingItems)],
    attempts > 0 && ['attempts', count(attempts)],
    lastError !== undefined && ['last error', lastError],
    deadLetters > 0 && [
      'dead letters',
      `${count(deadLetters)} (${pastedCommand(['dead-letters', 'list', '--queue', queue])})`,
    ],
  ];
  return alignColumns(facts.filter((fact) => fact !== false)) + entryTable(explanation);
}

function holdText(until: number): string {
  return `startup_hold: no queue gives turns until ${isoInstant(until)} (in ${humanDuration(until - Date.now())})`;
}

/** What an operator may do about it, as the command that does it. */
function remedies(queue: string, key: string, explanation: KeyExplanation, isPaused: boolean): readonly string[] {
  const { state, until } = explanation;
  if (key === '') return keylessRemedies(queue, state, isPaused);
  const of = (...words: readonly string[]) => pastedCommand(words, [queue, key]);
  const commands: Partial<Record<KeyExplanation['state'], readonly string[]>> = {
    PROCESS: [of('evict')],
    BLOCK: [of('evict')],
    // Without an end it waits for other items, and no time that passes helps.
    DELAY: until === undefined ? [] : [of('retry')],
    PARK: [pastedCommand(['dead-letters', 'redrive', '--queue', queue, '--key', key]), of('resume')],
  };
  return [...pauseRemedy(queue, isPaused), ...(commands[state] ?? [])];
}

/** Items without a key share no turn that could be taken away, and each has a time of its own. */
function keylessRemedies(queue: string, state: KeyExplanation['state'], isPaused: boolean): readonly string[] {
  const commands: Partial<Record<KeyExplanation['state'], string>> = {
    DELAY: pastedCommand(['retry', '--item-id', 'ID'], [queue]),
    PARK: pastedCommand(['resume'], [queue, '']),
  };
  const command = commands[state];
  return [...pauseRemedy(queue, isPaused), ...(command === undefined ? [] : [command])];
}

function pauseRemedy(queue: string, isPaused: boolean): readonly string[] {
  return isPaused ? [pastedCommand(['resume'], [queue])] : [];
}

function holderText({ consumerId, token, since, items, heldForTicket, ...life }: HolderView): string {
  const parts = [
    `${plain(consumerId)}, token ${token}, since ${ago(since)}`,
    lifeText(life),
    items > 0 ? amount(items, 'item') : '',
    heldForTicket === undefined ? '' : `held for its absent caller (ticket ${plain(heldForTicket)})`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function heldText({ heldItems, items }: HolderView): string {
  const told = heldItems.map(({ itemId, attempt, traceId }) => {
    const trace = traceId === undefined ? '' : `, trace ${traceId}`;
    return `${plain(itemId)} (attempt ${attempt}${trace})`;
  });
  const more = items - told.length;
  return `${told.join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`;
}

function lifeText({ leaseLeft, renewals, session }: Pick<HolderView, 'leaseLeft' | 'renewals' | 'session'>): string {
  const end = leaseLeft === Number.POSITIVE_INFINITY ? '' : `ends in ${humanDuration(leaseLeft)}`;
  if (session === undefined) return `lease ${end}, ${amount(renewals, 'renewal')}`;
  const { id, brokenSince } = session;
  const kept = brokenSince === undefined ? 'renewed by its' : `stream broken ${ago(brokenSince)}, of`;
  return `${kept} session ${plain(id)}${end === '' ? '' : `, ${end}`}`;
}

function lineText(callers: number, items: number): string {
  return callers + items === 0 ? 'empty' : `${amount(callers, 'caller')}, ${amount(items, 'item')}`;
}

function entryTable({ line, waitingCallers, waitingItems }: KeyExplanation): string {
  if (line.length === 0) return '';
  const isTraced = line.some(({ traceId }) => traceId !== undefined);
  const rows = line.map((entry, at) => [
    String(at + 1),
    entry.kind,
    plain(entry.id),
    ago(entry.since),
    ...(isTraced ? [entry.traceId ?? ''] : []),
    attemptsText(entry),
  ]);
  const more = waitingCallers + waitingItems - line.length;
  const rest = more > 0 ? `and ${count(more)} more\n` : '';
  return `\n${alignColumns([['#', 'WHAT', 'ID', 'WAITS SINCE', ...(isTraced ? ['TRACE'] : []), 'ATTEMPTS'], ...rows])}${rest}`;
}

function attemptsText({ kind, attempts, lastError, after }: LineEntryView): string {
  if (kind === 'caller') return '';
  const failed = lastError === undefined ? '' : `, last error: ${lastError}`;
  return `${attempts}${failed}${after === undefined ? '' : `, waits for ${afterText(after)}`}`;
}

function afterText({ first, count: all }: NonNullable<LineEntryView['after']>): string {
  const names = first.map(({ queue, itemId }) => `${plain(itemId)} (${queue})`).join(', ');
  return all > first.length ? `${names} and ${count(all - first.length)} more` : names;
}

/** With the names of the contract; durations in ms, instants in ISO 8601. What is unset is left out. */
function toJson(queue: string, key: string, explanation: KeyExplanation): Readonly<Record<string, unknown>> {
  return {
    queue,
    key,
    state: explanation.state,
    since: instantOrUnset(explanation.since),
    holder: explanation.holder && holderJson(explanation.holder),
    waiting: explanation.waitingCallers + explanation.waitingItems,
    waiting_callers: explanation.waitingCallers,
    waiting_items: explanation.waitingItems,
    line: explanation.line.map(entryJson),
    attempts: explanation.attempts,
    last_error: explanation.lastError,
    why: explanation.why,
    until: instantOrUnset(explanation.until),
    dead_letters: explanation.deadLetters,
  };
}

function entryJson({
  kind,
  id,
  since,
  attempts,
  lastError,
  after,
  traceId,
}: LineEntryView): Readonly<Record<string, unknown>> {
  return {
    kind,
    id,
    since: isoInstant(since),
    attempts,
    last_error: lastError,
    after: after?.first.map(({ queue, itemId }) => ({ queue, item_id: itemId })),
    after_count: after?.count,
    trace_id: traceId,
  };
}

function holderJson(holder: HolderView): Readonly<Record<string, unknown>> {
  return {
    consumer_id: holder.consumerId,
    token: holder.token,
    since: isoInstant(holder.since),
    lease_left_ms: holder.leaseLeft === Number.POSITIVE_INFINITY ? undefined : holder.leaseLeft,
    renewals: holder.renewals,
    items: holder.items,
    held_for_ticket: holder.heldForTicket,
    session_id: holder.session?.id,
    session_broken_since: instantOrUnset(holder.session?.brokenSince),
    held_items: holder.heldItems.map(({ itemId, attempt, traceId }) => ({
      item_id: itemId,
      attempt,
      trace_id: traceId,
    })),
  };
}

function instantOrUnset(instant: number | undefined): string | undefined {
  return instant === undefined ? undefined : isoInstant(instant);
}
