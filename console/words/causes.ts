/** Dead letters by why they died: those whose errors differ in numbers and ids alone are one group. */
import type { DeadLetter } from '../gen/keyturn/v1/admin.js';
import type { Json } from '../wire/client.js';

type Letter = Json<DeadLetter>;

export interface Group {
  /** `refused: no such customer #` */
  readonly cause: string;
  readonly letters: readonly Letter[];
}

const LONGEST = 160;

/** The largest first. */
export function groupsOf(letters: readonly Letter[]): readonly Group[] {
  const groups = new Map<string, Letter[]>();
  for (const letter of letters) {
    const cause = causeOf(letter);
    const known = groups.get(cause);
    if (known === undefined) groups.set(cause, [letter]);
    else known.push(letter);
  }
  return [...groups]
    .map(([cause, own]) => ({ cause, letters: own }))
    .toSorted((one, other) => other.letters.length - one.letters.length);
}

function causeOf({ cause = '', lastError = '' }: Letter): string {
  const error = lastError
    .split('\n', 1)[0]
    ?.slice(0, LONGEST)
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|0x[0-9a-f]+|\d+/gi, '#');
  return error === undefined || error === '' ? cause : `${cause}: ${error}`;
}
