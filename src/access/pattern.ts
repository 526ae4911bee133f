/** Patterns of names: `*` stands for any run of characters, none as well; everything else for itself. */

const ANY = '*';

/**
 * Greedy, and back to the last `*` only: at most pattern times name steps, however a name is made (the known linear-space
 * way, Krauss 2008). Not a regular expression: with those a name could be made that takes for ever.
 */
export function matches(pattern: string, name: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let resume = 0;
  while (at < name.length) {
    // Before what is equal: a name may have a star of its own.
    if (pattern[from] === ANY) {
      star = from++;
      resume = at;
    } else if (from < pattern.length && pattern[from] === name[at]) {
      from += 1;
      at += 1;
    } else if (star >= 0) {
      from = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[from] === ANY) from += 1;
  return from === pattern.length;
}

/** It matches every name there can be. */
export function matchesAll(pattern: string): boolean {
  return pattern !== '' && [...pattern].every((character) => character === ANY);
}
