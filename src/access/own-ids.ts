/**
 * Ids that a client makes and that give it back what it had: of sessions, tickets, candidates. Inside, the name of its
 * principal stands before each, so that the same id of another principal is another one, and nobody takes over what
 * somebody else has by learning of an id.
 */
import type { Refusal, Reply } from '../coordinator.js';
import type { Principal } from './principal.js';

/** No name of a principal has a control character. */
const BETWEEN = '\u001f';

export function ownId({ name }: Pick<Principal, 'name'>, id: string): string {
  return `${name}${BETWEEN}${id}`;
}

/**
 * What its client knows it as. What nobody owns stays as it is: no id of an item has the character between (see
 * {@link itemIdRefusal}), so none is taken for one that somebody owns.
 */
export function plainId(id: string): string {
  const at = id.indexOf(BETWEEN);
  return at < 0 ? id : id.slice(at + 1);
}

/** A text for its owner that may show an id of its own. */
export function withoutOwnName({ name }: Pick<Principal, 'name'>, text: string): string {
  return text.replaceAll(`${name}${BETWEEN}`, '');
}

/** A sentence of the core about a key or an item: it names sessions. With principals each session has one. */
export function withPlainSessions(why: string): string {
  return why.replaceAll(OWNED_SESSION, 'session "');
}

const OWNED_SESSION = new RegExp(`session "[^${BETWEEN}]*?${BETWEEN}`, 'g');

/** What those who stand wait for: such a sentence begins with the id of a candidate, or names it behind "waits for". */
export function withPlainCandidate(why: string): string {
  return why.replace(OWNED_CANDIDATE, '$1');
}

const OWNED_CANDIDATE = new RegExp(`^(waits for )?[^${BETWEEN}]*${BETWEEN}`);

/**
 * Ids of items belong to their queue, and stand in answers where tickets may stand too. One that looks like a ticket of
 * somebody would be told as another id than it is.
 */
export function itemIdRefusal(field: string, itemId: string | undefined): Refusal | undefined {
  if (itemId === undefined || !itemId.includes(BETWEEN)) return undefined;
  const description = 'has the control character U+001F, which stands between names and ids here; allowed: all others';
  return { kind: 'bad_request', violations: [{ field, description }] };
}

/** Answers go on with ids as their client knows them. */
export class PlainReply<A> implements Reply<A> {
  constructor(
    private readonly reply: Reply<A>,
    private readonly plain: (answer: A) => A,
    private readonly plainRefusal: (refusal: Refusal) => Refusal = asItIs,
  ) {}

  answer(value: A): boolean {
    return this.reply.answer(this.plain(value));
  }

  refuse(refusal: Refusal): void {
    this.reply.refuse(this.plainRefusal(refusal));
  }
}

function asItIs(refusal: Refusal): Refusal {
  return refusal;
}
