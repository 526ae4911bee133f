import type { SessionInfo, Unavailable } from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { tellIncomplete, unavailableIn } from './incomplete.js';
import { type SidecarOptions, sidecarOptions, text, wholeBetween } from './options.js';
import { ago, alignColumns, amount, count, humanDuration, isoInstant, plain } from './output.js';
import { withSidecar } from './sidecar.js';

interface SessionsOptions extends SidecarOptions {
  readonly contains?: string;
  readonly limit: number;
  readonly pageToken?: string;
  readonly json?: boolean;
}

/** The contract's limit. */
const LARGEST_PAGE = 1_000;

const HELP = `
TURNS are those that live as long as the session does, HOLDS names the first of them.
Whoever may view all queues sees all sessions, others see their own.

Example:
  $ keyturn sessions --contains billing
`;

export function registerSessions(program: Command): void {
  const command = program
    .command('sessions')
    .summary('who is connected, and what do they hold?')
    .description(
      'Lists the sessions of workers: whether their stream is open, until when they live without it, their turns.',
    )
    .option('--contains <text>', 'only sessions with this in their id', text)
    .option('--limit <n>', 'the most to list', wholeBetween(1, 1_000_000), 100)
    .option('--page-token <token>', 'go on where an earlier list ended')
    .option('--json', 'print one JSON object');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((options: SessionsOptions) => act(() => listSessions(options)));
}

async function listSessions(options: SessionsOptions): Promise<number> {
  const { sessions, next, unavailable } = await readPages(options);
  if (options.json === true) {
    process.stdout.write(`${harmlessJson({ sessions: sessions.map(toJson), next_page_token: next, unavailable })}\n`);
  } else {
    process.stdout.write(sessions.length === 0 ? 'no sessions\n' : table(sessions));
    if (next !== '') process.stdout.write(`there are more: --page-token ${plain(next)}\n`);
  }
  tellIncomplete(unavailable);
  return EXIT.ok;
}

interface Pages {
  readonly sessions: readonly SessionInfo[];
  /** Empty: that was the last. */
  readonly next: string;
  readonly unavailable: readonly Unavailable[];
}

function readPages(options: SessionsOptions): Promise<Pages> {
  const { contains, limit } = options;
  return withSidecar(options, async ({ admin }) => {
    const sessions: SessionInfo[] = [];
    const missing: { readonly unavailable: readonly Unavailable[] }[] = [];
    let next = options.pageToken ?? '';
    do {
      const pageSize = Math.min(limit - sessions.length, LARGEST_PAGE);
      const page = await admin.listSessions({ idContains: contains, pageSize, pageToken: next });
      sessions.push(...page.sessions);
      missing.push(page);
      next = page.nextPageToken;
    } while (next !== '' && sessions.length < limit);
    return { sessions, next, unavailable: unavailableIn(missing) };
  });
}

function table(sessions: readonly SessionInfo[]): string {
  const rows = sessions.map(({ sessionId, principal, brokenSince, endsAt, turns, held }) => {
    const left = endsAt === undefined ? '' : `, ends in ${humanDuration(endsAt - Date.now())}`;
    const state = brokenSince === undefined ? 'open' : `broken ${ago(brokenSince)}${left}`;
    const names = held.slice(0, 3).map(({ queue, key }) => `${queue}/${plain(key)}`);
    const more = turns - names.length;
    const holds = `${names.join(', ')}${more > 0 && names.length > 0 ? ` and ${amount(more, 'more')}` : ''}`;
    return [plain(sessionId), principal === undefined ? '-' : plain(principal), state, count(turns), holds];
  });
  return alignColumns([['SESSION', 'PRINCIPAL', 'STREAM', 'TURNS', 'HOLDS'], ...rows]);
}

/** With the names of the contract; instants in ISO 8601. What is unset is left out. */
function toJson(session: SessionInfo): Readonly<Record<string, unknown>> {
  const { sessionId, principal, brokenSince, endsAt, turns, held } = session;
  return {
    session_id: sessionId,
    principal,
    broken_since: brokenSince && isoInstant(brokenSince),
    ends_at: endsAt && isoInstant(endsAt),
    turns,
    held: held.map(({ queue, key, token, since, consumerId }) => ({
      queue,
      key,
      token,
      since: isoInstant(since),
      consumer_id: consumerId,
    })),
  };
}
