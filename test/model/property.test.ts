/**
 * Random scenarios against the dumb reference: every answer, every state and every promise, after every step.
 *
 * What failed is printed with its seed and path. To run that one again, already made small:
 * `KEYTURN_SEED=… KEYTURN_PATH=… node --test dist/test/model/property.test.js`. A seed alone runs other scenarios than
 * usual, `KEYTURN_RUNS` more or fewer of them, `KEYTURN_BUDGET_S` longer.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { checkRandom } from '../support/random-property.js';
import { RecountedCoordinator } from '../support/recounted.js';
import { type Mix, type Scenario, SIMPLEST_POLICY, scenarios } from './commands.js';
import { Invariants } from './invariants.js';
import { type MakeCoordinator, modelSide, Pair, realSide } from './pair.js';
import { smaller } from './smaller.js';

const make: MakeCoordinator = (settings, clock) => new RecountedCoordinator(settings, { clock, seed: 1 });

interface About {
  readonly mix: Mix;
  readonly most: number;
  readonly runs: number;
  /** Little room, of whatever kind. */
  readonly tight?: boolean;
}

const ABOUT: Readonly<Record<string, About>> = {
  'callers and their tickets': {
    mix: { enQueue: 8, deQueue: 5, leave: 2, acquireKey: 2, renew: 1, cancel: 2, again: 2, evict: 1, advance: 6 },
    most: 80,
    runs: 500,
  },
  'items and their workers': {
    mix: {
      submit: 6,
      acquire: 7,
      ack: 5,
      nack: 4,
      renew: 1,
      await: 2,
      cancel: 1,
      again: 2,
      people: 2,
      resumeKey: 1,
      advance: 5,
    },
    most: 80,
    runs: 500,
  },
  'items that wait for others': {
    mix: {
      submitDependants: 6,
      submit: 1,
      acquire: 7,
      ack: 4,
      ackDependants: 2,
      nack: 4,
      enQueue: 1,
      await: 2,
      again: 2,
      people: 2,
      resumeKey: 1,
      advance: 5,
    },
    most: 80,
    runs: 500,
  },
  gates: {
    mix: {
      enQueue: 6,
      submit: 3,
      acquire: 4,
      deQueue: 4,
      ack: 3,
      pause: 2,
      maxInFlight: 2,
      rate: 2,
      evict: 1,
      advance: 6,
    },
    most: 60,
    runs: 400,
  },
  'streams, sessions and what they are told': {
    mix: {
      open: 4,
      hello: 4,
      break: 3,
      enQueue: 7,
      deQueue: 3,
      leave: 1,
      submit: 3,
      acquire: 4,
      acquireKey: 1,
      ack: 3,
      nack: 2,
      renew: 2,
      cancel: 1,
      again: 2,
      evict: 1,
      maxInFlight: 1,
      advance: 7,
    },
    most: 100,
    runs: 400,
  },
  'little room': {
    mix: {
      enQueue: 4,
      deQueue: 3,
      submit: 3,
      submitDependants: 4,
      acquire: 6,
      acquireKey: 1,
      ack: 3,
      ackDependants: 2,
      nack: 3,
      await: 2,
      cancel: 1,
      again: 1,
      people: 1,
      resumeKey: 1,
      advance: 5,
    },
    most: 80,
    runs: 400,
    tight: true,
  },
  'everything at once': {
    mix: {
      open: 1,
      hello: 1,
      break: 1,
      enQueue: 6,
      deQueue: 4,
      leave: 1,
      submit: 4,
      acquire: 6,
      acquireKey: 1,
      ack: 4,
      nack: 3,
      renew: 1,
      await: 1,
      cancel: 1,
      again: 1,
      evict: 1,
      resumeKey: 1,
      pause: 1,
      maxInFlight: 1,
      rate: 1,
      people: 1,
      advance: 5,
    },
    most: 150,
    runs: 400,
  },
};

/** One line for each command, and of the policies what is not the simplest. */
function printed({ policies, startupHold, limits, commands }: Scenario): string {
  const plain = new Map(Object.entries(SIMPLEST_POLICY));
  const said = Object.entries(policies).map(([name, part]) => {
    const unlike = Object.entries(part).filter(([setting, value]) => !isDeepStrictEqual(plain.get(setting), value));
    return `  ${name}: ${JSON.stringify(Object.fromEntries(unlike))}`;
  });
  return [
    `startup_hold ${startupHold} limits ${JSON.stringify(limits ?? {})}`,
    ...said,
    ...commands.map((command) => `  ${JSON.stringify(command)}`),
  ].join('\n');
}

async function holds(
  t: TestContext,
  name: string,
  { mix, most, runs, tight }: About,
  property: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const amount = { usual: runs, seed: 20_260_101, endOnFailure: true };
  const details = await checkRandom(t, scenarios(mix, most, tight), property, amount);
  const [failing] = details.counterexample ?? [];
  if (!details.failed || failing === undefined) return;
  const error = (scenario: Scenario) =>
    property(scenario).then(
      () => undefined,
      (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown))),
    );
  const fails = async (commands: Scenario['commands']) => (await error({ ...failing, commands })) !== undefined;
  const small = { ...failing, commands: await smaller(failing.commands, fails) };
  const again = `KEYTURN_SEED=${details.seed} KEYTURN_PATH=${details.counterexamplePath} node --test --test-name-pattern="${name}" dist/test/model/property.test.js`;
  assert.fail(
    `${(await error(small))?.stack}\n\nsmallest scenario found: ${printed(small)}\n\nto run it again: ${again}`,
  );
}

describe('the coordinator and the reference cannot be told apart', () => {
  for (const [name, about] of Object.entries(ABOUT)) {
    it(`${name}: same answers, same states, I1 to I6, I10`, (t) =>
      holds(t, name, about, async (scenario) => {
        const real = realSide(make, scenario);
        const invariants = new Invariants(scenario, real);
        await new Pair(real, modelSide(scenario), { seen: (queue, seen) => invariants.check(queue, seen) }).run(
          scenario.commands,
        );
      }));
  }
});

describe('I8: the LRU changes no decision', () => {
  // A dropped lane forgets settled tokens, which I10 allows: scenarios here settle a token once, and
  // why a lost one was lost is not compared.
  const mix: Mix = { enQueue: 6, submit: 4, acquire: 6, settleOnce: 8, people: 1, evict: 1, resumeKey: 1, advance: 5 };
  it('one idle lane remembered, or more than there are', (t) =>
    holds(t, 'one idle lane', { mix, most: 80, runs: 500 }, async (scenario) => {
      const forgetful = realSide(make, scenario, { idleLanes: 1 });
      const mindful = realSide(make, scenario, { idleLanes: 1_000 });
      await new Pair(forgetful, mindful, { unlike: ['cause'] }).run(scenario.commands);
    }));
});
