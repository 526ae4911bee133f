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

/** What its client knows it as. What nobody owns stays as it is. */
export function plainId(id: string): string {
  const at = id.indexOf(BETWEEN);
  return at < 0 ? id : id.slice(at + 1);
}

/** Answers go on with ids as their client knows them. */
export class PlainReply<A> implements Reply<A> {
  constructor(
    private readonly reply: Reply<A>,
    private readonly plain: (answer: A) => A,
  ) {}

  answer(value: A): boolean {
    return this.reply.answer(this.plain(value));
  }

  refuse(refusal: Refusal): void {
    this.reply.refuse(refusal);
  }
}
