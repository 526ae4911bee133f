/** What somebody may mean by what is typed into the search box. */

export interface Sought {
  /** Part of the name of a queue. */
  readonly part: string;
  /** A queue and something in it, when two words were typed, or one while a queue is looked at. */
  readonly pairs: readonly { readonly queue: string; readonly rest: string }[];
}

/** Names of queues have no spaces; keys may. */
const PAIR = /^(\S+)\s+(\S.*)$/su;

/** @param current the queue that is looked at */
export function soughtBy(text: string, current: string | undefined): Sought {
  const trimmed = text.trim();
  const [, queue, rest] = PAIR.exec(trimmed) ?? [];
  const pairs = [
    ...(queue !== undefined && rest !== undefined ? [{ queue, rest }] : []),
    ...(current !== undefined && trimmed !== '' && queue !== current ? [{ queue: current, rest: trimmed }] : []),
  ];
  return { part: trimmed.split(/\s/u)[0] ?? '', pairs };
}
