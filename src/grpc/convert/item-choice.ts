/** Which dead letters a person means, from the wire to the port. */
import type { Changed, DiscardRequest, ItemChoice, LetterFilter, ListDeadLettersRequest } from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/admin.js';
import { optionalKey, page } from './admin.js';
import { toOptionalTimestamp } from './time.js';
import type { Check } from './validate.js';

type Cause = LetterFilter['causes'][number];
const CAUSES: ReadonlySet<string> = new Set<Cause>(['max_attempts', 'max_crashes', 'refused', 'dependency']);
const ERROR_BYTES = 256;
/** Changed at once: so that whoever does it in steps sees how far it is, and can stop. */
const MOST_AT_ONCE = 10_000;

export function listDeadLettersRequest(message: wire.ListDeadLettersRequest, check: Check): ListDeadLettersRequest {
  return {
    queue: check.queue('queue', message.queue),
    key: optionalKey(message.key, check),
    ...page(message, check),
    filter: letterFilter(message.filter, check),
  };
}

export function itemChoice(message: wire.RedriveRequest, check: Check): ItemChoice {
  check.listLength('item_ids', message.itemIds.length, 0, check.limits.pageSize);
  for (const [index, id] of message.itemIds.entries()) check.requiredId(`item_ids[${index}]`, id);
  return {
    queue: check.queue('queue', message.queue),
    key: optionalKey(message.key, check),
    itemIds: message.itemIds,
    filter: letterFilter(message.filter, check),
    dryRun: message.dryRun || undefined,
    most: message.limit === 0 ? undefined : check.count('limit', message.limit, MOST_AT_ONCE, MOST_AT_ONCE),
  };
}

export function discardRequest(message: wire.DiscardRequest, check: Check): DiscardRequest {
  const { waiting, filter } = message;
  if (waiting && filter !== undefined)
    check.wrong('filter', 'a filter of dead letters with waiting', 'one of the two: items that wait have no error');
  return { ...itemChoice(message, check), waiting };
}

function letterFilter(filter: wire.DeadLetterFilter | undefined, check: Check): LetterFilter | undefined {
  if (filter === undefined) return undefined;
  check.enterField('filter');
  const causes = filter.causes.flatMap((word, index) => {
    if (isCause(word)) return word;
    check.wrong(`causes[${index}]`, JSON.stringify(word.slice(0, ERROR_BYTES)), [...CAUSES].join(', '));
    return [];
  });
  check.listLength('causes', filter.causes.length, 0, CAUSES.size);
  const errorContains = check.text('error_contains', filter.errorContains, ERROR_BYTES);
  const diedAfter = check.moment('died_after', filter.diedAfter);
  const diedBefore = check.moment('died_before', filter.diedBefore);
  if (diedAfter !== undefined && diedBefore !== undefined && diedAfter > diedBefore)
    check.wrong(
      'died_before',
      new Date(diedBefore).toISOString(),
      `${new Date(diedAfter).toISOString()} (died_after) or later`,
    );
  check.leave();
  return { causes, errorContains, diedAfter, diedBefore };
}

function isCause(word: string): word is Cause {
  return CAUSES.has(word);
}

export function redriveResponse({ done, chosen, asOf }: Changed): wire.RedriveResponse {
  return { redriven: done, chosen, asOf: toOptionalTimestamp(asOf) };
}

export function discardResponse({ done, chosen, asOf }: Changed): wire.DiscardResponse {
  return { discarded: done, chosen, asOf: toOptionalTimestamp(asOf) };
}
