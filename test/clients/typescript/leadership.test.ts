/** Candidacies on streams that the test opens and breaks, in time that stands still until it moves it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LeaderCareer, type LeaderWork, type LeadOptions, TermLostError } from '@keyturn/client';
import { LeadLink } from '#client/lead/lead-link';
import { Leadership } from '#client/lead/leadership';
import { leadSettings } from '#client/lead/options';
import type { LeadNews, LeadSaying, LeadStreamHandlers } from '#client/words/leader-words';
import { type Deferred, deferred } from '../../support/deferred.js';
import { FakeClock } from '../../support/fake-clock.js';

const TTL = 5_000;
const NOBODY = { candidateId: '', term: 0, how: 'none', state: new Uint8Array(0) } as const;

class Stage {
  readonly clock = new FakeClock();
  /** What was said since it was looked at last. */
  #said: LeadSaying[] = [];
  #number = 0;
  #handlers: LeadStreamHandlers | undefined;
  readonly #link = new LeadLink(
    this.clock,
    () => this.random(),
    (handlers) => {
      this.#handlers = handlers;
      const say = (sayings: readonly (readonly [number, LeadSaying])[]) => {
        for (const [number, saying] of sayings) {
          this.#number = number;
          this.#said.push(saying);
        }
      };
      return { say, end: () => undefined, destroy: () => undefined };
    },
  );

  constructor(private readonly random = () => 0.5) {}

  lead(career: LeaderCareer, options: LeadOptions = {}): Leadership {
    const settings = leadSettings('g', career, { ttl: TTL, candidateId: 'a', ...options }, () => '');
    const leadership = new Leadership('g', career, settings, this.#link, () => 0.5, undefined);
    this.clock.turn();
    return leadership;
  }

  /** In few words. */
  async said(): Promise<string[]> {
    await this.settle();
    const said = this.#said;
    this.#said = [];
    return said.map((saying) => {
      if (saying.say === 'stand') return `stand ${saying.call.term}`;
      if (saying.say !== 'handed_over') return 'term' in saying ? `${saying.say} ${saying.term}` : saying.say;
      return `handed over ${saying.term}${saying.lost ? ', lost' : ` "${Buffer.from(saying.state).toString()}"`}`;
    });
  }

  async tell(...news: readonly LeadNews[]): Promise<void> {
    for (const one of news) this.#handlers?.told(this.#number, one);
    await this.settle();
  }

  /** Until nothing happens without time any more. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.clock.turn();
  }

  /** Until the next sign of life is said. */
  async nextAlive(): Promise<void> {
    while (!(await this.said()).some((one) => one.startsWith('alive'))) this.clock.advance(10);
  }

  /** Chosen, and told to work. */
  async appoint(term: number, ttl = TTL): Promise<void> {
    await this.tell({ news: 'inaugurate', term, predecessor: NOBODY }, { news: 'kept', term, ttl });
    await this.tell({ news: 'execute', term });
  }

  /** The stream breaks, and the next one is not there yet. */
  breakOff(): void {
    this.#handlers?.ended(undefined);
    this.#said = [];
  }

  /** Until a stream stands again, and what is said on it first. */
  async comesBack(): Promise<string[]> {
    for (let tries = 0; this.#said.length === 0 && tries < 100; tries += 1) this.clock.advance(50);
    return this.said();
  }
}

describe('S376: the term of a leader that was told to stop, and does not', () => {
  it('is kept by nobody when its stream comes back', async () => {
    const stage = new Stage();
    const work = deferred();
    let why: unknown;
    stage.lead({
      execute: (_term, signal) => {
        signal.addEventListener('abort', () => {
          why = signal.reason;
        });
        return work.promise;
      },
    });
    await stage.appoint(7);
    stage.clock.advance(TTL);
    await stage.settle();
    assert.ok(why instanceof TermLostError && why.loss === 'unreachable');
    stage.breakOff();
    assert.deepEqual(await stage.comesBack(), ['stand 7']);
    stage.clock.advance(3 * TTL);
    assert.deepEqual(await stage.said(), []);
    work.resolve();
    assert.deepEqual(await stage.said(), ['handed over 7, lost']);
  });
});

describe('S402: a leader whose sidecar was away for long', () => {
  it('comes back within 2 s, whatever chance says: the term has its ttl from the start of the sidecar', async () => {
    const stage = new Stage(() => 1);
    stage.lead({ execute: (_term, signal) => new Promise((ends) => signal.addEventListener('abort', () => ends())) });
    for (let breaks = 0; breaks < 20; breaks += 1) {
      stage.breakOff();
      const since = stage.clock.now();
      assert.deepEqual(await stage.comesBack(), ['stand 0']);
      assert.ok(stage.clock.now() - since <= 2_050);
    }
  });
});

describe('docs/LEADERS.md: a home that dies, and the next one that is there 4 s later', () => {
  /** Calls that wait for a home are given to the next one for so long. */
  const WAIT = 2_000;
  const outlives = async (ttl: number, margin?: number) => {
    const stage = new Stage();
    let isLost = false;
    const execute = (_term: number, _signal: AbortSignal, { lost }: LeaderWork) =>
      new Promise<void>((ends) =>
        lost.addEventListener('abort', () => {
          isLost = true;
          ends();
        }),
      );
    stage.lead({ execute }, { ttl, margin });
    await stage.appoint(7, ttl);
    await stage.said();
    // It dies just before the next sign of life.
    await stage.nextAlive();
    const diesAt = stage.clock.now();
    const opens = diesAt + 4_000;
    let unheard = 1;
    let saidLast = diesAt;
    while (stage.clock.now() < opens || saidLast < opens - WAIT) {
      stage.clock.advance(10);
      const said = await stage.said();
      if (said.includes('alive 7')) saidLast = stage.clock.now();
      unheard += said.filter((one) => one === 'alive 7').length;
    }
    for (; unheard > 0; unheard -= 1) await stage.tell({ news: 'kept', term: 7, ttl });
    return !isLost;
  };

  it('a client keeps its term with a ttl of 8 s, `keyturn lead` with 12 s', async () => {
    assert.equal(await outlives(8_000), true);
    assert.equal(await outlives(12_000, 12_000 / 3 + 1_200), true);
    assert.equal(await outlives(8_000, 8_000 / 3 + 800), false);
    assert.equal(await outlives(5_000), false);
  });
});

describe('S407: a hand-over that nobody has heard', () => {
  async function handedOverUnheard(): Promise<{ stage: Stage; leadership: Leadership; work: Deferred<void> }> {
    const stage = new Stage();
    const work = deferred();
    const leadership = stage.lead({ execute: () => work.promise, handOver: () => 'offset 7' });
    await stage.appoint(7);
    stage.breakOff();
    return { stage, leadership, work };
  }

  it('is said for as long as its worker stands: a sidecar with a data directory knows the term for its ttl from its start', async () => {
    const { stage, work } = await handedOverUnheard();
    work.resolve();
    await stage.settle();
    for (let away = 0; away < 3 * TTL; away += 100) {
      stage.clock.advance(100);
      await stage.settle();
      stage.breakOff();
    }
    assert.deepEqual(await stage.comesBack(), ['stand 7', 'handed over 7 "offset 7"']);
    await stage.tell({ news: 'released', term: 7 });
    stage.breakOff();
    assert.deepEqual(await stage.comesBack(), ['stand 0']);
  });

  it('is given up by one that ends when its ttl is over', async () => {
    const { stage, leadership, work } = await handedOverUnheard();
    const ends: string[] = [];
    void leadership.stop().then(() => void ends.push('over'));
    work.resolve();
    await stage.settle();
    stage.clock.advance(TTL - 100);
    await stage.settle();
    assert.deepEqual(ends, []);
    // It looks every second.
    stage.clock.advance(1_100);
    await stage.settle();
    assert.deepEqual(ends, ['over']);
  });
});

describe('S403: a leader that is stopped by its own work', () => {
  it('does not wait for itself: it hands over when its work ends, and stands no more', async () => {
    const stage = new Stage();
    let isStopped = false;
    const leadership: Leadership = stage.lead({
      execute: async () => {
        await leadership.stop();
        isStopped = true;
      },
      handOver: () => 'offset 7',
    });
    await stage.appoint(7);
    assert.ok(isStopped);
    assert.deepEqual((await stage.said()).slice(-1), ['handed over 7 "offset 7"']);
    await stage.tell({ news: 'released', term: 7 });
    await leadership.ended;
  });

  it('is waited for by the work of another one, also one that it has begun', async () => {
    const stage = new Stage();
    const work = deferred();
    const told: string[] = [];
    const other = deferred<Leadership>();
    stage.lead({
      execute: async () => {
        const inner = stage.lead({ execute: () => work.promise });
        other.resolve(inner);
        await inner.ended;
        told.push('ended');
      },
    });
    await stage.appoint(7);
    const inner = await other.promise;
    await stage.appoint(8);
    void inner.stop().then(() => told.push('stopped'));
    await stage.settle();
    assert.deepEqual(told, []);
    work.resolve();
    await stage.settle();
    await stage.tell({ news: 'released', term: 8 });
    assert.deepEqual(told.sort(), ['ended', 'stopped']);
  });
});

describe('metadata that is none', () => {
  const wrong: readonly (readonly [string, unknown, string])[] = [
    ['a number', { port: 8_080 }, 'metadata.port is 8080; needed is a text'],
    ['half a character', { name: '\ud800' }, 'metadata.name is "'],
    ['half a character in a name', { '\ud800': 'x' }, 'a name in metadata is "'],
    ['a list', ['x'], 'metadata is of type object'],
    ['null', null, 'metadata is null'],
  ];
  for (const [what, metadata, said] of wrong) {
    it(`is refused at once, before it breaks the stream of all: ${what}`, () => {
      // As from JavaScript.
      const options = { metadata } as LeadOptions;
      assert.throws(
        () => leadSettings('g', { execute: () => undefined }, options, () => 'a'),
        ({ message, code }: { message: string; code: string }) => code === 'INVALID_ARGUMENT' && message.includes(said),
      );
    });
  }
});
