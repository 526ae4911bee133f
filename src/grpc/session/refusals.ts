/** What only a session refuses. */
import type { Limits, Refusal } from '../../coordinator.js';

/** ms; nothing better is known. */
const RETRY_SOON = 1_000;

export const DRAINING: Refusal = { kind: 'draining', retryAfter: RETRY_SOON };

/** Ends the stream: where a next command would begin is not known. */
export function malformedCommand(index: number): Refusal {
  return wrong(`commands[${index}]`, 'bytes that are no command');
}

export function unknownCommand(index: number): Refusal {
  return wrong(`commands[${index}].call`, 'none, or none that this server knows, is not allowed; allowed: one call');
}

export function idInUse(index: number, id: number): Refusal {
  return wrong(`commands[${index}].id`, `${id} is not allowed: an open command has it; allowed: an id that none has`);
}

export function tooManyOpen({ openCommands }: Limits): Refusal {
  return limit(
    'open_commands',
    openCommands,
    `no more than ${openCommands} commands that wait on a session (limits.open_commands)`,
  );
}

/** Ends the stream. */
export function unsentFull({ mostUnsentBytes }: Limits): Refusal {
  const what = `more than ${mostUnsentBytes} bytes of answers (limits.most_unsent_bytes) wait for the client to read`;
  return limit('most_unsent_bytes', mostUnsentBytes, what);
}

/** Ends the stream. */
export function unread({ unreadFor }: Limits): Refusal {
  const what = `the client read none of its answers for ${unreadFor} ms (limits.unread_for), and left too many`;
  return limit('unread_for', unreadFor, what);
}

function wrong(field: string, description: string): Refusal {
  return { kind: 'bad_request', violations: [{ field, description }] };
}

function limit(subject: string, bound: number, description: string): Refusal {
  return { kind: 'limit', subject, limit: bound, description, retryAfter: RETRY_SOON };
}
