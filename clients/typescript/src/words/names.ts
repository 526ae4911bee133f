/** Names that callers may say: one that there is not would lose what it asks for, in silence. */

export type Names = Readonly<Record<string, true>>;

/** @returns the first name that there is not */
export function unknownName(said: object, known: Names): string | undefined {
  for (const name in said) if (known[name] !== true) return name;
  return undefined;
}

/** What is wrong with this name, and which one may be meant. */
export function noSuchName(name: string, known: Names): string {
  const shown = JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name);
  const meant = meantBy(name, known);
  const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
  return `${shown} is not an option; those are ${Object.keys(known).join(', ')}${hint}`;
}

/** Two letters that are wrong are a slip; with more it is another word. */
const MOST_SLIPS = 2;
const LONGEST = 32;

function meantBy(name: string, known: Names): string | undefined {
  if (name.length > LONGEST) return undefined;
  const said = plain(name);
  let [best, least] = [undefined as string | undefined, MOST_SLIPS + 1];
  for (const one of Object.keys(known)) {
    const slips = distance(said, plain(one));
    // Of a short word nothing is left when two letters are wrong.
    if (slips < least && slips < one.length / 2) [best, least] = [one, slips];
  }
  return best;
}

/** As other languages and libraries write it: `wait_ms`, `waitMs`, `waitMillis`. */
function plain(name: string): string {
  return name
    .replace(/_?(ms|millis|seconds)$/i, '')
    .replaceAll('_', '')
    .toLowerCase();
}

/** Letters to be changed, put in or left out. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
