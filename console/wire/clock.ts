/**
 * The clock of the sidecar, learned from the `Date` of its answers: that of the browser may be hours off. A date has
 * whole seconds; each answer says in which second the sidecar was between question and answer, and what all of them
 * say together is narrower.
 */

interface Bounds {
  /** The sidecar's clock less the browser's, ms: at least, at most. */
  readonly least: number;
  readonly most: number;
}

let known: Bounds | undefined;

/** @param date of the answer @param asked, answered by the browser's clock */
export function heardDate(date: string | null, asked: number, answered: number): void {
  const said = date === null ? Number.NaN : Date.parse(date);
  if (!Number.isNaN(said)) known = narrowed(known, said, asked, answered);
}

/** What does not fit together any more (a clock was set, the machine slept) begins anew. */
export function narrowed(before: Bounds | undefined, said: number, asked: number, answered: number): Bounds {
  const heard = { least: said - answered, most: said + 999 - asked };
  if (before === undefined) return heard;
  const both = { least: Math.max(before.least, heard.least), most: Math.min(before.most, heard.most) };
  return both.least > both.most ? heard : both;
}

/** Now, by the clock of the sidecar, ms. */
export function serverNow(): number {
  return Date.now() + offset();
}

/** How far the browser's clock is behind that of the sidecar, ms. 0 while nothing is known. */
export function offset(): number {
  return known === undefined ? 0 : Math.round((known.least + known.most) / 2);
}
