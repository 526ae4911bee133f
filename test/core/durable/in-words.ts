/** Rows in short words, for tables. */
import type { Row, RowChange, RowId } from '../../../src/core/contract/rows.js';

export function inWords(changes: readonly RowChange[]): string[] {
  return changes.map((change) => ('put' in change ? `+ ${put(change.put)}` : `- ${name(change.delete)}`)).sort();
}

function put(row: Row): string {
  switch (row.table) {
    case 'items':
      return `${name(row)} ${row.id} ${row.state}`;
    case 'progress':
      return `${name(row)} ${progress(row)}`;
    case 'tokens':
      return `${name(row)} ${row.state === 'live' ? live(row) : ended(row)}`;
    case 'floor':
      return 'floor';
    default:
      return name(row);
  }
}

function progress({ attempts, takesRoom, dead, rank, seq }: Extract<Row, { table: 'progress' }>): string {
  const words = [`tries ${attempts}`];
  if (!takesRoom) words.push('back');
  if (rank !== seq) words.push(`rank ${rank}`);
  if (dead !== undefined) words.push(`dead ${dead.cause}`);
  return words.join(' ');
}

function live({ assignment, handed, session }: Extract<Row, { state: 'live' }>): string {
  const what =
    assignment.kind === 'items'
      ? `items ${assignment.seqs.join('+')}${assignment.done ? ' done' : ''}`
      : assignment.kind;
  return ['live', what, handed, ...(session === undefined ? [] : [`in ${session}`])].join(' ');
}

function ended({ ending }: Extract<Row, { table: 'tokens'; state: 'ended' }>): string {
  return ending.ended === 'settled' ? `ended by ${ending.call}` : `ended ${ending.ended}`;
}

/** Tokens by their last digit: no table here has ten. */
function name(id: RowId | Row): string {
  switch (id.table) {
    case 'items':
    case 'progress':
      return `${id.table} ${id.seq}`;
    case 'tokens':
      return `turn ${id.token % 10}`;
    case 'keys':
      return `key ${id.key}/${id.idempotencyKey}`;
    case 'parks':
      return `park ${id.key === '' ? `~${id.lane}` : id.key}`;
    case 'pauses':
      return 'pause';
    case 'limits':
      return 'limits';
    case 'leaders':
      return `leader of ${id.group}`;
    case 'sessions':
      return `session ${id.id}`;
    case 'outbox':
      return `parcel ${id.stamp % 10}`;
    case 'inbox':
      return `inbox of ${id.source}`;
    case 'floor':
      return 'floor';
  }
}
