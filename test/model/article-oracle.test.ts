/**
 * The article's machine as an oracle (Liu Ding, "Distributed queue programming: optimization", 2016): a key has a head,
 * who processes, and a tail, who waits. Its two operations are written here as they were published, and nothing else.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { DeQueueAnswer, EnQueueAnswer } from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { deQueueRequest, enQueueRequest, QUEUE, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';

type Verdict = 'ACCEPT' | 'BLOCK' | 'DECLINE';

class ArticleKey {
  head: string | undefined;
  tail: string | undefined;

  enQueue(who: string): Verdict {
    if (this.tail !== undefined) return 'DECLINE';
    if (this.head === undefined) {
      this.head = who;
      return 'ACCEPT';
    }
    this.tail = who;
    return 'BLOCK';
  }

  /** Who is woken. */
  deQueue(): string | undefined {
    this.head = this.tail;
    this.tail = undefined;
    return this.head;
  }
}

type Step = { readonly do: 'enQueue' | 'deQueue'; readonly key: string };

const steps = fc.array(
  fc.record({
    do: fc.constantFrom('enQueue' as const, 'enQueue' as const, 'deQueue' as const),
    key: fc.constantFrom('a', 'b', 'c'),
  }),
  { minLength: 1, maxLength: 200, size: 'max' },
);

/** What the oracle calls BLOCK is a call that is still open: its consumer waits to be woken. */
function verdict(call: Call<EnQueueAnswer>): Verdict {
  if (call.open) return 'BLOCK';
  return call.value.decision === 'accept' ? 'ACCEPT' : 'DECLINE';
}

class Machines {
  readonly #coordinator = new LocalCoordinator(
    settings({ queues: { [QUEUE]: { waitingPerKey: 1, lease: 86_400_000 } }, limits: { idleLanes: 100 } }),
    { clock: new FakeClock(), seed: 1 },
  );
  readonly #keys = new Map<string, ArticleKey>();
  readonly #calls = new Map<string, Call<EnQueueAnswer>>();

  step({ do: what, key }: Step): void {
    const known = this.#keys.get(key) ?? new ArticleKey();
    this.#keys.set(key, known);
    if (what === 'enQueue') this.#enQueue(key, known);
    else if (known.head !== undefined) this.#deQueue(key, known, known.head);
  }

  #enQueue(key: string, article: ArticleKey): void {
    const who = `consumer-${this.#calls.size}`;
    const call = new Call<EnQueueAnswer>();
    this.#calls.set(who, call);
    call.waits(this.#coordinator.enQueue(enQueueRequest({ key, consumerId: who, wait: 300_000 }), call));
    assert.equal(verdict(call), article.enQueue(who), `${who} on ${key}`);
  }

  #deQueue(key: string, article: ArticleKey, who: string): void {
    const turn = this.#turnOf(who);
    const done = new Call<DeQueueAnswer>();
    this.#coordinator.deQueue(deQueueRequest({ key, holder: { token: turn } }), done);
    const woken = article.deQueue();
    assert.deepEqual(done.value, { promoted: woken !== undefined, waiting: 0 }, `DeQueue of ${who} on ${key}`);
    if (woken !== undefined) this.#turnOf(woken);
  }

  #turnOf(who: string): number {
    const answer = this.#calls.get(who)?.value;
    assert.ok(answer?.decision === 'accept', `${who} is head and has the turn`);
    return answer.turn.token;
  }
}

describe('the article is the oracle', () => {
  it('waiting_per_key 1, the longest leases, no time: the same verdicts in any order of calls', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const machines = new Machines();
        for (const step of sequence) machines.step(step);
      }),
      { numRuns: 500, seed: 2_016 },
    );
  });

  it('and the default queue, where callers alone come, is that machine too', () => {
    const coordinator = new LocalCoordinator(settings(), { clock: new FakeClock(), seed: 1 });
    const verdicts = ['first', 'second', 'third'].map((consumerId) => {
      const call = new Call<EnQueueAnswer>();
      return verdict(call.waits(coordinator.enQueue(enQueueRequest({ consumerId }), call)));
    });
    assert.deepEqual(verdicts, ['ACCEPT', 'BLOCK', 'DECLINE']);
  });
});
