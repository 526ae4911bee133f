/** A value as somebody wrote it, with the place where. The same for all sources, so that one table can read them all. */

export type Plain = string | number | boolean | null;

export type Written =
  | { readonly kind: 'scalar'; readonly place: string; readonly value: Plain; readonly text: string }
  /** Lazy: an alias can stand for a map that holds aliases, and a few lines can stand for billions of entries. */
  | { readonly kind: 'map'; readonly place: string; entries(): Iterable<Entry> }
  /** Lazy, too. */
  | { readonly kind: 'list'; readonly place: string; items(): Iterable<Written> };

export interface Entry {
  readonly key: string;
  readonly place: string;
  readonly value: Written;
}

const LONGEST_SHOWN = 80;

/** From the environment or a flag, where everything is text: `true` and `false` mean what they say. */
export function writtenText(text: string, place: string): Written {
  const value = text === 'true' ? true : text === 'false' ? false : text;
  return { kind: 'scalar', place, value, text };
}

/** For messages: short, on one line, without control characters. */
export function show(written: Written): string {
  if (written.kind === 'map') return 'a mapping';
  if (written.kind === 'list') return 'a list';
  return written.value === null ? 'nothing' : showText(written.text);
}

export function showText(text: string): string {
  const quoted = JSON.stringify(text.slice(0, LONGEST_SHOWN + 1));
  return quoted.length > LONGEST_SHOWN + 2 ? `${quoted.slice(0, LONGEST_SHOWN + 1)}…"` : quoted;
}

/** The entry of a map with this key, if there is one. */
export function entryOf(written: Written | undefined, key: string): Entry | undefined {
  if (written?.kind !== 'map') return undefined;
  for (const entry of written.entries()) {
    if (entry.key === key) return entry;
  }
  return undefined;
}
