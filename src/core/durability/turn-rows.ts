/** What rows of turns and of their ends say, as it is now. */
import type { AssignmentRow, EndingRow, TicketRow } from '../contract/rows.js';
import type { Assignment, Turn } from '../state/records.js';
import type { Ending } from '../state/settlement.js';

/** The `seq` of each item that the worker has, also of those that are not on disk (S110). */
export function assignmentRow(assignment: Assignment): AssignmentRow {
  if (assignment.kind !== 'items') return assignment;
  return { kind: 'items', seqs: assignment.given ?? assignment.items.map(({ seq }) => seq), done: assignment.done };
}

/** A ticket of dispatch is known by its id and the consumer of the turn. */
export function ticketRow(ticket: Turn['ticket']): TicketRow | undefined {
  if (ticket === undefined) return undefined;
  return typeof ticket === 'string' ? { of: 'key', ticket } : { of: 'dispatch', ticket: ticket.id };
}

/** As it is now: what is written must not change with what is remembered. */
export function endingRow(ending: Ending): EndingRow {
  if (ending.ended !== 'settled') return ending;
  const { ended } = ending;
  switch (ending.call) {
    case 'dequeue': {
      const { promoted, waiting } = ending.answer;
      return { ended, call: ending.call, abandoned: ending.abandoned, answer: { promoted, waiting } };
    }
    case 'ack':
      return { ended, call: ending.call, followUps: ending.followUps && [...ending.followUps] };
    case 'nack': {
      const { retryAt, deadLettered } = ending.answer;
      return { ended, call: ending.call, kind: ending.kind, answer: { retryAt, deadLettered } };
    }
  }
}
