/** Ids that are made here begin with this; what begins so cannot be chosen by a client. */
export const OWN_ID = '~';
const OWN_UNIT = OWN_ID.charCodeAt(0);
const RADIX = 36;

/**
 * The id of a follow-up to another group that its client gave none: the same when the same Ack is repeated, and no id of a queue's
 * own making, because those have no point.
 * @param token of the turn that is acknowledged, unique over all partitions
 */
export function followUpId(token: number, index: number): string {
  return `${OWN_ID}${token.toString(RADIX)}.${index.toString(RADIX)}`;
}

/** An item whose id a client chose has no number. */
export const NO_NUMBER = -1;

/** The ids that are made here for the items of one queue: numbers from 0, behind a prefix that no other queue has. */
export class OwnIds {
  constructor(private readonly prefix: string) {}

  idOf(number: number): string {
    return this.prefix + number.toString(RADIX);
  }

  /** That of {@link idOf}, which makes no text. */
  lengthOf(number: number): number {
    let digits = 1;
    for (let rest = number; rest >= RADIX; rest = Math.floor(rest / RADIX)) digits += 1;
    return this.prefix.length + digits;
  }

  /** @returns {@link NO_NUMBER} for an id that is not of this queue's making */
  numberOf(id: string): number {
    if (id.charCodeAt(0) !== OWN_UNIT || !id.startsWith(this.prefix)) return NO_NUMBER;
    const number = Number.parseInt(id.slice(this.prefix.length), RADIX);
    // Others read as the same number: "00a", "a b".
    return this.idOf(number) === id ? number : NO_NUMBER;
  }
}
