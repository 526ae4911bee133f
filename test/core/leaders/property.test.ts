/**
 * Random careers against the dumb reference: after every step each worker was told what the reference says, GetLeader says who the
 * reference says, and a judge outside sees no two terms overlap. Workers come, break, come back, are slow, are silent, lie about
 * terms; two lives have one id; the sidecar is killed.
 *
 * `KEYTURN_SEED` and `KEYTURN_PATH` run one again.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LeaderReport } from '../../../src/coordinator.js';
import { assertRandom } from '../../support/random-property.js';
import { LeaderStage, type Worker } from './leader-stage.js';
import { type Life, MADE_UP, ReferenceGroup } from './reference-group.js';

const SAYINGS = ['inaugurated', 'alive', 'yield', 'failed', 'handed_over', 'stopped'] as const;

type Acting =
  | { readonly do: 'come' | 'come_back' | 'break' | 'withdraw'; readonly who: number }
  | { readonly do: 'say'; readonly who: number; readonly what: (typeof SAYINGS)[number]; readonly lie: number };

type Step =
  | Acting
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'operator' }
  | { readonly do: 'crash' }
  /** What it says comes, and the sidecar is killed before that is on the disk. */
  | { readonly do: 'crash_at'; readonly who: number; readonly what: (typeof SAYINGS)[number] | 'come' };

const who = fc.nat({ max: 3 });
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('come' as const), who }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('come_back' as const), who }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('break' as const), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('withdraw' as const), who }) },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('say' as const),
      who,
      what: fc.constantFrom(...SAYINGS),
      // Mostly the truth; else of that many terms before, or one that was made up.
      lie: fc.oneof({ weight: 8, arbitrary: fc.constant(-1) }, { weight: 1, arbitrary: fc.nat({ max: 3 }) }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 400, 999, 1_000, 2_000, 4_999, 5_000, 70_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('operator' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('crash_at' as const),
      who,
      what: fc.constantFrom(...SAYINGS, 'come' as const),
    }),
  },
);

/** Each of another patience. */
const LIVES: readonly Omit<Life, 'id'>[] = [
  { ttl: 5_000, inaugurateTimeout: 30_000, handOverTimeout: 10_000 },
  { ttl: 2_000, inaugurateTimeout: 1_000, handOverTimeout: 3_000 },
  { ttl: 4_000, inaugurateTimeout: 4_000, handOverTimeout: 500 },
];
/** The last two are lives of one worker. */
const IDS = ['a', 'b', 'c', 'c'] as const;

interface Actor {
  readonly worker: Worker;
  life: Life;
  /** Its stream stands. */
  isUp: boolean;
}

class Pair {
  readonly stage = new LeaderStage('kept');
  readonly reference = new ReferenceGroup();
  readonly actors: Actor[];
  #lefts = 0;

  constructor() {
    this.actors = IDS.map((id, at) => {
      const life = { id, ...(LIVES[at % LIVES.length] ?? LIVES[0]) } as Life;
      return { worker: this.stage.worker(id, patience(life)), life, isUp: false };
    });
  }

  run(step: Step): void {
    const { stage, reference } = this;
    if (step.do === 'pass') stage.pass(step.ms);
    reference.advance(stage.now);
    if (step.do === 'operator') {
      stage.operatorYield();
      reference.ask(stage.now);
    } else if (step.do === 'crash') this.#crash();
    else if (step.do === 'crash_at') this.#crashAt(this.actors[step.who], step.what);
    else if (step.do !== 'pass') this.#act(step, this.actors[step.who]);
    reference.advance(stage.now);
    this.#compare();
  }

  /** Nobody was told anything of what was not on the disk: as if it had not been said. */
  #crashAt(actor: Actor | undefined, what: (typeof SAYINGS)[number] | 'come'): void {
    this.stage.unwritten(() => {
      if (what === 'come') actor?.worker.stand();
      else actor?.worker.say(reportOf(what, 'never written'));
    });
    this.#crash();
  }

  #crash(): void {
    for (const actor of this.actors) {
      actor.isUp = false;
      actor.worker.cutOff();
    }
    this.stage.restart(100);
    this.reference.restart(this.stage.now);
  }

  #act(step: Acting, actor: Actor | undefined): void {
    const { reference, stage } = this;
    if (actor === undefined) return;
    switch (step.do) {
      case 'come':
        return this.#stand(actor, undefined);
      case 'come_back':
        return this.#stand(actor, actor.worker.term);
      case 'break':
        actor.worker.breakOff();
        if (actor.isUp) reference.breakOff(actor.life, stage.now);
        actor.isUp = false;
        return;
      case 'withdraw':
        if (!actor.isUp) return;
        actor.worker.withdraw();
        return reference.withdraw(actor.life, stage.now);
      case 'say':
        return this.#say(actor, step);
    }
  }

  /** A new stream: of the reference it is another life. */
  #stand(actor: Actor, token: number | undefined): void {
    const { reference } = this;
    if (actor.isUp) {
      actor.worker.breakOff();
      reference.breakOff(actor.life, this.stage.now);
      reference.advance(this.stage.now);
    }
    actor.life = { ...actor.life };
    actor.isUp = true;
    reference.stand(actor.life, token === undefined ? undefined : this.#numberOf(token));
    reference.advance(this.stage.now);
    actor.worker.stand(token);
  }

  #say({ worker }: Actor, { what, lie }: Extract<Acting, { readonly do: 'say' }>): void {
    const token = lie < 0 ? (worker.term ?? 1) : lie === 0 ? 1 : (this.stage.begun.at(-lie) ?? 1);
    this.#lefts += 1;
    const left = `state ${this.#lefts}`;
    const counted = worker.say(reportOf(what, left), token);
    const expected = this.reference.say(this.#numberOf(token), what, this.stage.now, left);
    assert.equal(counted?.counted, expected, `whether ${what} of ${token} counts`);
  }

  #numberOf(token: number): number {
    const at = this.stage.begun.indexOf(token);
    return at < 0 ? MADE_UP : at + 1;
  }

  #compare(): void {
    const { stage, reference } = this;
    const { begun } = stage;
    const { leader, predecessor, candidates } = stage.leader();
    const { term } = reference;
    assert.equal(begun.length, reference.terms, 'how many terms have begun');
    assert.ok(
      begun.every((token, at) => token > (begun[at - 1] ?? 0)),
      'L1: terms grow',
    );
    assert.equal(leader?.candidateId, term?.who.life.id, 'who leads');
    assert.equal(leader && this.#numberOf(leader.term), term?.number, 'in which term');
    assert.equal(candidates, reference.line.length, 'how many stand');
    const before = reference.predecessor ?? { id: '', term: 0, how: 'none' };
    assert.deepEqual([predecessor.candidateId, predecessor.how], [before.id, before.how], 'who led before');
    assert.equal(Buffer.from(stage.state.leaders.groups.get('g')?.state ?? []).toString(), reference.state);
    for (const { worker, life, isUp } of this.actors) if (isUp) this.#compareTold(worker, life);
  }

  #compareTold({ view, id }: Worker, life: Life): void {
    const { at, number } = this.reference.toldTo(life);
    const told =
      view === undefined
        ? undefined
        : 'term' in view
          ? this.#numberOf(view.term)
          : 'position' in view
            ? view.position
            : undefined;
    assert.deepEqual([id, view?.at, told], [id, at, number], 'what it was told');
  }
}

function reportOf(what: (typeof SAYINGS)[number], left: string): LeaderReport {
  if (what === 'handed_over') return { kind: what, state: Buffer.from(left) };
  if (what === 'yield' || what === 'failed') return { kind: 'yield', failed: what === 'failed' };
  return { kind: what };
}

function patience({ ttl, inaugurateTimeout, handOverTimeout }: Life) {
  return { ttl, inaugurateTimeout, handOverTimeout };
}

test('every worker is told what the reference says, whatever all of them do', async (t) => {
  await assertRandom(
    t,
    fc.array(STEP, { maxLength: 60, size: 'max' }),
    (steps) => {
      const pair = new Pair();
      for (const step of steps) pair.run(step);
    },
    { usual: 400, seed: 20_260_101 },
  );
});
