/**
 * Random scenarios without the reference, for what it does not know: commands while the wheel is late, calls from within
 * answers, and turns from before the start. The ledger follows every turn and every item, each call has one answer, and
 * after every step everything that is kept twice is recounted.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkRandom } from '../support/random-property.js';
import { RecountedCoordinator } from '../support/recounted.js';
import {
  type CallCommand,
  type Command,
  KEYS,
  type Mix,
  oneOf,
  QUEUES,
  type QueueName,
  type Scenario,
  scenarios,
} from './commands.js';
import { Invariants } from './invariants.js';
import { type MakeCoordinator, realSide } from './pair.js';
import { apply, applyCall, type Made, type Side } from './sending.js';
import { smaller } from './smaller.js';
import { turnsIn } from './turns-in.js';

/** So long the process does not run: the next commands, as many, come before any timer. */
interface Late {
  readonly ms: number;
  readonly commands: number;
}

/** A token of a run before. */
interface Old {
  readonly how: 'renew' | 'deQueue' | 'ack' | 'nack';
  readonly queue: QueueName;
  readonly key: string;
  readonly token: number;
}

interface Step {
  readonly command: Command;
  readonly late: Late | undefined;
  readonly old: Old | undefined;
  /** What the first one who is answered in this step asks for from within. */
  readonly within: readonly (CallCommand & Pick<Made, 'on'>)[];
}

const MIX: Mix = {
  open: 2,
  hello: 3,
  break: 1,
  enQueue: 6,
  deQueue: 4,
  leave: 1,
  submit: 4,
  submitDependants: 4,
  acquire: 7,
  acquireKey: 1,
  ack: 4,
  nack: 3,
  renew: 2,
  await: 3,
  cancel: 1,
  again: 2,
  evict: 1,
  resumeKey: 1,
  pause: 1,
  maxInFlight: 1,
  rate: 1,
  people: 1,
  advance: 5,
};
const WITHIN: Mix = { enQueue: 3, deQueue: 3, leave: 1, submit: 3, acquire: 4, ack: 5, nack: 3, renew: 1 };
const MOST = 80;
const RUNS = 400;

const late: fc.Arbitrary<Late | undefined> = fc.oneof(
  { weight: 5, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.record({ ms: oneOf(0.25, 1, 300, 1_009, 2_003, 9_001), commands: oneOf(1, 2, 4) }) },
);
const old: fc.Arbitrary<Old | undefined> = fc.oneof(
  { weight: 7, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.record({
      how: oneOf<Old['how']>('renew', 'renew', 'deQueue', 'ack', 'nack'),
      queue: oneOf(...QUEUES),
      key: oneOf(...KEYS),
      token: oneOf(1, 2, 3),
    }),
  },
);

interface Play {
  readonly scenario: Scenario;
  /** With few of them lanes are forgotten, and what is left of them is used again. */
  readonly idleLanes: number;
  readonly steps: readonly Step[];
}

const plays: fc.Arbitrary<Play> = fc
  .record({
    scenario: scenarios(MIX, MOST, true),
    inner: scenarios(WITHIN, MOST),
    idleLanes: oneOf(1, 2, 5, 1_000),
    extras: fc.array(fc.record({ late, old, within: oneOf(0, 0, 0, 1, 2) }), { minLength: MOST, maxLength: MOST }),
  })
  .map(({ scenario, inner, idleLanes, extras }) => {
    const asked = inner.commands.filter((command): command is Step['within'][number] => 'on' in command);
    const steps = scenario.commands.map((command, at): Step => {
      const { within = 0, ...extra } = extras[at] ?? { late: undefined, old: undefined };
      return { command, ...extra, within: asked.slice(at, at + within) };
    });
    return { scenario, idleLanes, steps };
  });

class Alone {
  readonly #side: Side;
  readonly #invariants: Invariants;
  readonly #coordinator: RecountedCoordinator;
  #within: Step['within'] = [];
  #withoutTick = 0;

  constructor({ scenario, idleLanes, steps }: Play) {
    let made: RecountedCoordinator | undefined;
    const make: MakeCoordinator = (settings, clock) => {
      made = new RecountedCoordinator(settings, { clock, seed: 1 }, 1);
      return made;
    };
    this.#side = realSide(make, scenario, { idleLanes });
    assert.ok(made);
    this.#coordinator = made;
    // What is asked from within counts among the commands.
    const commands = steps.flatMap(({ command, within }) => [command, ...within]);
    this.#invariants = new Invariants({ ...scenario, commands }, this.#side);
    this.#side.answered = (call) => {
      this.#side.turns.push(...turnsIn(call.outcome));
      const [next, ...rest] = this.#within;
      this.#within = rest;
      if (next !== undefined) applyCall(this.#side, next);
    };
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await this.#step(step);
    await this.#wakeUp();
  }

  async #step({ command, late: sleep, old: turn, within }: Step): Promise<void> {
    const { clock, streams } = this.#side;
    this.#within = within;
    if (sleep !== undefined) {
      clock.skip(sleep.ms);
      this.#withoutTick = sleep.commands;
    }
    if (turn !== undefined) this.#comeBack(turn);
    await apply(this.#side, command);
    streams.tidy();
    this.#withoutTick -= 1;
    if (this.#withoutTick <= 0) await this.#wakeUp();
  }

  async #wakeUp(): Promise<void> {
    this.#side.clock.turn();
    for (const queue of QUEUES) this.#invariants.check(queue, await this.#side.people.see(queue));
  }

  /** The ledger knows nothing of it: whatever is answered, nobody else may have the key. */
  #comeBack({ how, queue, key, token }: Old): void {
    const coordinator = this.#coordinator;
    const reply = { answer: () => true, refuse: () => undefined };
    const next = undefined;
    if (how === 'renew') coordinator.renew({ turns: [{ queue, key, token }], lease: undefined }, reply);
    else if (how === 'ack') coordinator.ack({ queue, key, token, result: undefined, followUps: [], next }, reply);
    else if (how === 'nack')
      coordinator.nack({ queue, key, token, kind: 'retry', delay: undefined, error: '', done: 0 }, reply);
    else coordinator.deQueue({ queue, key, holder: { token }, abandoned: false, result: undefined }, reply);
  }
}

function nothing(): undefined {
  return undefined;
}

function said(thrown: unknown): string {
  return (thrown instanceof Error ? thrown.stack : undefined) ?? String(thrown);
}

describe('the coordinator, recounted after every step', () => {
  it('commands while the wheel is late, calls from within answers, turns from before the start', async (t) => {
    const amount = { usual: RUNS, seed: 20_260_101, endOnFailure: true };
    const details = await checkRandom(t, plays, (play) => new Alone(play).run(play.steps), amount);
    const [failing] = details.counterexample ?? [];
    if (!details.failed || failing === undefined) return;
    const error = (play: Play) => new Alone(play).run(play.steps).then(nothing, said);
    const fails = async (steps: readonly Step[]) => (await error({ ...failing, steps })) !== undefined;
    const small = { ...failing, steps: await smaller(failing.steps, fails) };
    const lines = small.steps.map((step) => `  ${JSON.stringify(step)}`).join('\n');
    const { policies, startupHold, limits } = small.scenario;
    const { idleLanes } = small;
    assert.fail(
      `${await error(small)}\n\nsmallest: ${JSON.stringify({ policies, startupHold, limits, idleLanes })}\n${lines}\n\nto run it again: KEYTURN_SEED=${details.seed} KEYTURN_PATH=${details.counterexamplePath}`,
    );
  });
});
