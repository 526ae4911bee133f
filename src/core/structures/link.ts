/**
 * A place in an intrusive, circular, doubly linked list. A list is a Link of its own that stands before its first and
 * behind its last member. What is in no list is linked to itself.
 *
 * A Link is in one list at a time. That is on purpose: a lane is on the timing wheel (a turn or a delay ends), or in a
 * ready list, or in that of the session to which its turn is tied, or in none, and never in two of them.
 */
export class Link {
  prev: Link = this;
  next: Link = this;
}

export function isLinked(link: Link): boolean {
  return link.next !== link;
}

export function unlink(link: Link): void {
  link.prev.next = link.next;
  link.next.prev = link.prev;
  link.prev = link;
  link.next = link;
}

/** Precondition: `link` is in no list. */
export function append(list: Link, link: Link): void {
  link.prev = list.prev;
  link.next = list;
  list.prev.next = link;
  list.prev = link;
}

/** Moves everything from one list to the end of another, in order. */
export function moveAll(from: Link, to: Link): void {
  if (!isLinked(from)) return;
  from.next.prev = to.prev;
  from.prev.next = to;
  to.prev.next = from.next;
  to.prev = from.prev;
  from.prev = from;
  from.next = from;
}
