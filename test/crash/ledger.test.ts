/** The ledger itself: histories as they should be, and each with one thing in it that must not be. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Item } from './item.js';
import { Ledger } from './ledger.js';
import type { Asked, Strictness } from './turn-book.js';

const MAX_ATTEMPTS = 3;
type Found = NonNullable<Item['found']>;

interface Given {
  readonly key?: string;
  readonly attempt?: number;
  readonly after?: number;
  readonly asked?: Asked;
}

/** Tells a ledger stories: of one queue, unless it matters. */
class Story {
  readonly ledger: Ledger;
  readonly #found = new Map<string, Found>();

  constructor(strictness?: Strictness) {
    this.ledger = new Ledger(MAX_ATTEMPTS, strictness);
  }

  /** Submitted with one call, and accepted. */
  accepted(...items: readonly { readonly tag: string; readonly key?: string; readonly once?: string }[]): this {
    this.offered(...items);
    for (const { tag } of items) this.ledger.items.accepted(tag, `id-${tag}`);
    return this;
  }

  /** Submitted with one call, and never answered. */
  offered(...items: readonly { readonly tag: string; readonly key?: string; readonly once?: string }[]): this {
    const offers = items.map(({ tag, key = 'k', once }) => ({
      tag,
      queue: 'q',
      key,
      id: `id-${tag}`,
      idempotencyKey: once,
    }));
    this.ledger.items.offers(offers);
    return this;
  }

  /** @param asked unset: just now */
  given(
    token: number,
    tags: readonly string[],
    { key = 'k', attempt = 1, after = 0, asked = this.asks() }: Given = {},
  ): this {
    const turn = { queue: 'q', key, token };
    this.ledger.turns.given(turn, tags, { ...asked, largest: new Map([['q', after]]) });
    this.ledger.items.delivered(
      turn,
      tags.map((tag) => ({ tag, itemId: `id-${tag}`, attempt })),
    );
    return this;
  }

  asks(): Asked {
    return this.ledger.turns.asks(['q'], undefined);
  }

  /** A handler that goes on until {@link ends} is called with the same signal. */
  begins(token: number, signal = { aborted: false }, key = 'k'): this {
    this.ledger.turns.begins({ who: `worker ${token}`, queue: 'q', key, token, signal });
    return this;
  }

  acking(token: number, result = `turn ${token}`, followUps: readonly string[] = []): this {
    const turn = { queue: 'q', key: 'k', token };
    this.ledger.turns.settles(turn);
    this.ledger.items.acking(turn, result, followUps);
    return this;
  }

  acked(token: number, result?: string, followUps?: readonly string[]): this {
    this.acking(token, result, followUps);
    this.ledger.items.acked({ queue: 'q', key: 'k', token });
    return this;
  }

  nacked(token: number, done = 0): this {
    const turn = { queue: 'q', key: 'k', token };
    this.ledger.turns.settles(turn);
    this.ledger.items.nacking(turn, done);
    this.ledger.items.retried(turn, done);
    return this;
  }

  lost(token: number, cause: Parameters<Ledger['turns']['lost']>[1]): this {
    this.ledger.turns.lost({ queue: 'q', key: 'k', token }, cause);
    return this;
  }

  refused(token: number, cause: string): this {
    this.ledger.turns.refused({ queue: 'q', key: 'k', token }, cause);
    return this;
  }

  found(tag: string, state: Found['state'], result?: string): this {
    this.#found.set(tag, { state, result });
    return this;
  }

  /** @returns what is wrong with it at the end */
  end(): string {
    for (const [tag, found] of this.#found) this.ledger.items.found(tag, found);
    this.ledger.audit();
    return this.ledger.violations.join('\n');
  }
}

function story(): Story {
  return new Story();
}

type Cases = Readonly<Record<string, (story: Story) => Story>>;

const FINE: Cases = {
  'one item after the other, each acked': (story) =>
    story
      .accepted({ tag: 'a' }, { tag: 'b' })
      .given(1, ['a'])
      .acked(1)
      .given(2, ['b'], { after: 1 })
      .acked(2)
      .found('a', 'done', 'turn 1')
      .found('b', 'done', 'turn 2'),
  'an answer that is repeated': (story) =>
    story.accepted({ tag: 'a' }).given(1, ['a']).given(1, ['a']).acked(1).found('a', 'done', 'turn 1'),
  'a second handler after the first was told': (story) => story.begins(1, { aborted: true }).begins(2),
  'a second handler at another key': (story) => story.begins(1).begins(2, { aborted: false }, 'other'),
  'two keyless items at once': (story) => story.begins(1, { aborted: false }, '').begins(2, { aborted: false }, ''),
  'a try after a Nack counts one more': (story) =>
    story
      .accepted({ tag: 'a' })
      .given(1, ['a'])
      .nacked(1)
      .given(2, ['a'], { attempt: 2 })
      .acked(2)
      .found('a', 'done', 'turn 2'),
  'what comes back and was dead begins with the first try, and its order counts no more': (story) => {
    story.accepted({ tag: 'a' }).accepted({ tag: 'b' }).given(1, ['b']).acked(1);
    story.ledger.items.redriving(['a']);
    return story.given(2, ['a']).acked(2).found('a', 'done', 'turn 2').found('b', 'done', 'turn 1');
  },
  'an Ack without an answer that was carried out': (story) =>
    story.accepted({ tag: 'a' }).given(1, ['a']).acking(1).found('a', 'done', 'turn 1'),
  'an Ack without an answer that was not': (story) =>
    story
      .accepted({ tag: 'a' })
      .given(1, ['a'])
      .acking(1)
      .given(2, ['a'], { attempt: 2 })
      .acked(2)
      .found('a', 'done', 'turn 2'),
  'an item without an answer that is not there': (story) => story.offered({ tag: 'a' }).found('a', 'unknown'),
  'items finished by a Nack of those behind them': (story) =>
    story
      .accepted({ tag: 'a' }, { tag: 'b' })
      .given(1, ['a', 'b'])
      .nacked(1, 1)
      .given(2, ['b'], { attempt: 2 })
      .acked(2)
      .found('a', 'done')
      .found('b', 'done', 'turn 2'),
  'a turn lost by its holder’s own clock, and refused then': (story) =>
    story.given(1, []).lost(1, 'unreachable').refused(1, 'lease_expired'),
  'a turn that is told to be settled after its holder asked for that': (story) =>
    story.accepted({ tag: 'a' }).given(1, ['a']).acked(1).lost(1, 'settled').found('a', 'done', 'turn 1'),
  'an evicted holder': (story) => {
    story.given(1, []).begins(1);
    const evicted = story.ledger.turns.evicting('q', 'k');
    story.given(2, []).begins(2);
    evicted(1);
    return story.lost(1, 'evicted');
  },
  'a holder that was evicted, and reads so late that it has a turn': (story) => {
    const asked = story.asks();
    story.ledger.turns.evicting('q', 'k')(undefined);
    return story.given(1, [], { asked }).lost(1, 'evicted');
  },
  'a follow-up of an Ack that was carried out': (story) =>
    story
      .accepted({ tag: 'a' })
      .given(1, ['a'])
      .offered({ tag: 'b' })
      .acking(1, 'turn 1', ['b'])
      .found('a', 'done', 'turn 1')
      .found('b', 'dead'),
  'an item declined because its idempotency key is done': (story) => {
    story.accepted({ tag: 'a', once: 'o' }).given(1, ['a']).acked(1).offered({ tag: 'b', once: 'o' });
    story.ledger.items.declined('b', 'already_done');
    return story.found('a', 'done', 'turn 1').found('b', 'unknown');
  },
  'an item done without a turn because its idempotency key is': (story) =>
    story
      .accepted({ tag: 'a', once: 'o' }, { tag: 'b', once: 'o' })
      .given(1, ['a'])
      .acked(1)
      .found('a', 'done', 'turn 1')
      .found('b', 'done', 'turn 1'),
};

const WRONG: Readonly<Record<string, readonly [story: (story: Story) => Story, said: RegExp]>> = {
  'a second handler while the first is at work (I1)': [(story) => story.begins(1).begins(2), /begins while worker 1/],
  'a turn given while a handler is at work (I1)': [(story) => story.begins(1).given(2, []), /is given while worker 1/],
  'an older handler after a newer one (I1)': [
    (story) => story.begins(2, { aborted: true }).begins(1),
    /worker 1 .* begins after 2/,
  ],
  'a token that is not above what was known when it was asked for (I5)': [
    (story) => story.given(5, [], { after: 5 }),
    /not above 5/,
  ],
  'a token that is given twice, for something else (I5)': [
    (story) => story.accepted({ tag: 'a' }, { tag: 'b' }).given(1, ['a']).given(1, ['b']),
    /given again, with b instead of a/,
  ],
  'a turn that is taken from its holder': [
    (story) => story.given(1, []).lost(1, 'lease_expired'),
    /taken from its holder \(lease_expired\)/,
  ],
  'a turn that is unknown after the crash': [
    (story) => story.given(1, []).acking(1).refused(1, 'unknown'),
    /taken from its holder \(unknown, 0 later turns/,
  ],
  'a repeated Ack that is not remembered (I10)': [
    (story) => story.given(1, []).acking(1).refused(1, 'settled'),
    /taken from its holder \(settled\)/,
  ],
  'an Ack with follow-ups that is not remembered after a later one (S18)': [
    (story) => story.given(1, []).acking(1).given(2, []).acking(2).refused(1, 'settled'),
    /taken from its holder \(settled\)/,
  ],
  'an evicted holder’s successor that is taken from too': [
    (story) => {
      story.given(1, []);
      story.ledger.turns.evicting('q', 'k')(1);
      return story.given(2, []).lost(2, 'evicted');
    },
    /k 2 was taken/,
  ],
  'a turn taken that was asked for after an eviction that nobody answered': [
    (story) => {
      story.ledger.turns.evicting('q', 'k')(undefined);
      return story.given(1, []).lost(1, 'evicted');
    },
    /k 1 was taken/,
  ],
  'a turn taken that was asked for before such an eviction, and given after a later one': [
    (story) => {
      const asked = story.asks();
      story.ledger.turns.evicting('q', 'k')(undefined);
      return story.given(1, []).given(2, [], { asked }).lost(2, 'evicted');
    },
    /k 2 was taken/,
  ],
  'a second handler on a turn that was asked for before such an eviction, and given after a later one': [
    (story) => {
      const asked = story.asks();
      story.ledger.turns.evicting('q', 'k')(undefined);
      return story.given(1, []).given(2, [], { asked }).begins(2).begins(3);
    },
    /begins while worker 2/,
  ],
  'an accepted item that is not there at the end (I6)': [
    (story) => story.accepted({ tag: 'a' }).found('a', 'unknown'),
    /a was accepted, and is lost/,
  ],
  'a delivered item that is not there at the end (I6)': [
    (story) => story.offered({ tag: 'a' }).given(1, ['a']).found('a', 'unknown'),
    /a was accepted, and is lost/,
  ],
  'an item that nobody asked for at the end': [(story) => story.accepted({ tag: 'a' }), /is lost/],
  'an item that waits when everything was drained (I6)': [
    (story) => story.accepted({ tag: 'a' }).found('a', 'waiting'),
    /a is waiting/,
  ],
  'an item that is dead after its Ack was answered with OK': [
    (story) => story.accepted({ tag: 'a' }).given(1, ['a']).acked(1).found('a', 'dead'),
    /a is dead, and its Ack/,
  ],
  'an item delivered after its Ack was answered with OK': [
    (story) => story.accepted({ tag: 'a' }).given(1, ['a']).acked(1).given(2, ['a'], { attempt: 2 }),
    /delivered again, though its Ack in turn 1/,
  ],
  'a result that is not that of its Ack': [
    (story) => story.accepted({ tag: 'a' }).given(1, ['a']).acked(1).found('a', 'done', 'turn 7'),
    /done with turn 7; its Ack said turn 1/,
  ],
  'an item that is done, and nobody did it': [
    (story) => story.accepted({ tag: 'a' }).found('a', 'done'),
    /nobody asked for that/,
  ],
  'a result that is another one later': [
    (story) => {
      story.accepted({ tag: 'a' }).given(1, ['a']).acking(1).given(2, ['a'], { attempt: 2 }).acking(2);
      story.ledger.items.told('a', 'turn 1');
      return story.found('a', 'done', 'turn 2');
    },
    /told to be done with turn 1, and is done with turn 2/,
  ],
  'items of one call in another order (I3)': [
    (story) => story.accepted({ tag: 'a' }, { tag: 'b' }).given(1, ['b']).given(2, ['a']),
    /b of q\/k came before a/,
  ],
  'items of one turn in another order (I3)': [
    (story) => story.accepted({ tag: 'a' }).accepted({ tag: 'b' }).given(1, ['b', 'a']),
    /b of q\/k came before a/,
  ],
  'an item before one that was accepted before it was offered (I3)': [
    (story) => story.accepted({ tag: 'a' }).accepted({ tag: 'b' }).given(1, ['b']).given(2, ['a']),
    /b of q\/k came before a/,
  ],
  'an attempt that is not counted': [
    (story) => story.accepted({ tag: 'a' }).given(1, ['a']).nacked(1).given(2, ['a']),
    /has attempt 1; at least 2/,
  ],
  'attempts that begin anew': [
    (story) => story.accepted({ tag: 'a' }).given(1, ['a'], { attempt: 2 }).given(2, ['a']),
    /has attempt 1; at least 2/,
  ],
  'more attempts than there may be': [
    (story) => story.accepted({ tag: 'a' }).given(1, ['a'], { attempt: 4 }),
    /has attempt 4; .* at most 3/,
  ],
  'an id that changes (I10)': [
    (story) => {
      story.accepted({ tag: 'a' });
      story.ledger.items.accepted('a', 'another');
      return story;
    },
    /a has the id another, and had id-a/,
  ],
  'an accepted item that is declined when it is sent again (I10)': [
    (story) => {
      story.accepted({ tag: 'a' });
      story.ledger.items.declined('a', 'already_done');
      return story;
    },
    /a is declined, and was accepted before/,
  ],
  'an item that is declined for no reason': [
    (story) => {
      story.offered({ tag: 'a' });
      story.ledger.items.declined('a', 'already_done');
      return story;
    },
    /a is declined \(already_done\) without a reason/,
  ],
  'an Ack without its follow-up': [
    (story) =>
      story
        .accepted({ tag: 'a' })
        .given(1, ['a'])
        .offered({ tag: 'b' })
        .acking(1, 'turn 1', ['b'])
        .found('a', 'done', 'turn 1')
        .found('b', 'unknown'),
    /b, which follows a, is not there, and the Ack is/,
  ],
  'a follow-up without its Ack': [
    (story) =>
      story
        .accepted({ tag: 'a' })
        .given(1, ['a'])
        .offered({ tag: 'b' })
        .acking(1, 'turn 1', ['b'])
        .found('a', 'dead')
        .found('b', 'dead'),
    /b, which follows a, is there without the Ack/,
  ],
  'an idempotency key that is done twice': [
    (story) =>
      story.accepted({ tag: 'a', once: 'o' }, { tag: 'b', once: 'o' }).given(1, ['a']).acked(1).given(2, ['b']),
    /b in turn 2 is delivered, though o was done/,
  ],
  'an item accepted after its idempotency key was done': [
    (story) =>
      story
        .accepted({ tag: 'a', once: 'o' })
        .given(1, ['a'])
        .acked(1)
        .offered({ tag: 'b', once: 'o' })
        .accepted({ tag: 'c', once: 'o' }),
    /c is accepted, and o was done/,
  ],
  'an item done by its idempotency key with another result': [
    (story) =>
      story
        .accepted({ tag: 'a', once: 'o' }, { tag: 'b', once: 'o' })
        .given(1, ['a'])
        .acked(1)
        .found('a', 'done', 'turn 1')
        .found('b', 'done', 'x'),
    /b is done with x/,
  ],
  'an item of another key': [
    (story) => story.accepted({ tag: 'a', key: 'other' }).given(1, ['a']),
    /a in turn 1 is of q\/other, not of q\/k/,
  ],
  'an item that nobody submitted': [(story) => story.given(1, ['a']), /a was never offered/],
};

describe('the ledger of the crash test', () => {
  for (const [what, tell] of Object.entries(FINE))
    it(`finds nothing wrong with ${what}`, () => assert.equal(tell(story()).end(), ''));
  for (const [what, [tell, said]] of Object.entries(WRONG))
    it(`sees ${what}`, () => assert.match(tell(story()).end(), said));

  /** S18: of a key the last settlements are remembered. Which turns went to nobody the ledger cannot know. */
  const overtakenBy = (others: number): string => {
    const told = new Story('store away').given(1, []).acking(1);
    for (let token = 2; token <= others + 1; token += 1) told.given(token, [], { key: 'k' }).acked(token);
    told.given(100, [], { key: 'other' });
    return told.refused(1, 'unknown').end();
  };

  it('finds nothing wrong with a turn that nobody knows when others had their turns of its key meanwhile', () =>
    assert.equal(overtakenBy(4), ''));

  it('sees a turn that nobody knows when hardly anybody had one meanwhile', () =>
    assert.match(overtakenBy(3), /taken from its holder \(unknown, 3 later turns of its key were heard of\)/));
});
