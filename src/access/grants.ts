/** What one principal may do. */
import { matches, matchesAll } from './pattern.js';
import { type Right, VERBS, type Verb } from './settings.js';

/** Names whose verbs are remembered, of each kind. */
const REMEMBERED = 1_000;

type Subject = 'queues' | 'groups';

/** `1 << n` for the n-th verb. */
function bit(verb: Verb): number {
  return 1 << VERBS.indexOf(verb);
}

const BIT: Readonly<Record<Verb, number>> = {
  produce: bit('produce'),
  consume: bit('consume'),
  view: bit('view'),
  payload: bit('payload'),
  operate: bit('operate'),
};

export class Grants {
  readonly #queues: Verbs;
  readonly #groups: Verbs;

  constructor(readonly rights: readonly Right[]) {
    this.#queues = new Verbs(rights, 'queues');
    this.#groups = new Verbs(rights, 'groups');
  }

  /** On the way of every call: one look-up. */
  mayQueue(verb: Verb, queue: string): boolean {
    return (this.#queues.of(queue) & BIT[verb]) !== 0;
  }

  mayGroup(verb: Verb, group: string): boolean {
    return (this.#groups.of(group) & BIT[verb]) !== 0;
  }

  /** On all queues, also those that there are not yet: what concerns the sidecar or the cluster as a whole. */
  mayEverywhere(verb: Verb): boolean {
    return (this.#queues.everywhere & BIT[verb]) !== 0;
  }
}

/** The verbs of names of one kind, as bits. */
class Verbs {
  readonly everywhere: number;
  readonly #patterns: readonly (readonly [string, number])[];
  readonly #remembered = new Map<string, number>();
  /** Commands of a stream mostly name one queue. */
  #last: string | undefined;
  #lastBits = 0;

  constructor(rights: readonly Right[], subject: Subject) {
    this.#patterns = rights.flatMap((right) => right[subject].map((pattern) => [pattern, bitsOf(right)] as const));
    this.everywhere = this.#sum(matchesAll);
  }

  of(name: string): number {
    if (name === this.#last) return this.#lastBits;
    const bits = this.#remembered.get(name) ?? this.#find(name);
    this.#last = name;
    this.#lastBits = bits;
    return bits;
  }

  #find(name: string): number {
    const bits = this.#sum((pattern) => matches(pattern, name));
    if (this.#remembered.size >= REMEMBERED) this.#remembered.clear();
    this.#remembered.set(name, bits);
    return bits;
  }

  #sum(counts: (pattern: string) => boolean): number {
    return this.#patterns.reduce((sum, [pattern, bits]) => (counts(pattern) ? sum | bits : sum), 0);
  }
}

function bitsOf({ may }: Right): number {
  return may.reduce((sum, verb) => sum | BIT[verb], 0);
}
