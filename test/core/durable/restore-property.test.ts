/**
 * A core that is begun anew from its rows, again and again, and one that lives on get the same random commands. What is
 * compared, after every command: every answer; of every queue its counts, whether it is paused, and of every key its
 * state, holder (with what is left of its lease), line and dead letters; of every item its state, attempt, result and
 * error; and after a restart dead letters with what they carry, and since when keys are held or parked. What a restart
 * may change, and so is not compared or not asked for: the numbers of tokens; which of several keys is first (so workers
 * take all that is ready at once, and what bounds whole queues is looked at with one key); how often a turn was renewed;
 * rate limits, which start full; changes of limits; who waits. What a restart ends (streams, waiting calls, places of
 * absent callers) is ended in the one that lives on by ordinary calls.
 *
 * To run one again that failed: as in `test/model/property.test.ts`.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { Coordinator, Policy } from '../../../src/coordinator.js';
import {
  type AcquirePart,
  type Command,
  type ItemPart,
  type Mix,
  QUEUES,
  type Scenario,
  SLOTS,
  scenarios,
} from '../../model/commands.js';
import { Pair, realSide } from '../../model/pair.js';
import { assertSame } from '../../model/same.js';
import type { Side } from '../../model/sending.js';
import { smaller } from '../../model/smaller.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { checkRandom } from '../../support/random-property.js';
import { Restarting, Steady } from './lives.js';

type Step = Command | 'flush' | 'restart';

interface Story {
  readonly scenario: Scenario;
  /** What items carry stays in memory. */
  readonly keepsContents: boolean;
  readonly steps: readonly Step[];
}

/** Of a hundred rolls, below: a restart, a flush. */
const RESTART = 5;
const FLUSH = 25;

function stories(mix: Mix, most: number, tame: (scenario: Scenario) => Scenario): fc.Arbitrary<Story> {
  const rolls = fc.array(fc.nat(99), { minLength: most, maxLength: most, size: 'max' });
  const durability = fc.constantFrom<Policy['durability']>('on_flush', 'on_flush', 'interval', 'count');
  const resultTtl = fc.constantFrom(undefined, undefined, 3, 211);
  return fc.tuple(scenarios(mix, most), rolls, durability, resultTtl, fc.boolean()).map((drawn) => {
    const [any, rolled, chosen, short, keepsContents] = drawn;
    const scenario = durable(tame(any), { durability: chosen, ...(short !== undefined && { resultTtl: short }) });
    const steps = scenario.commands.flatMap((command, index): Step[] => {
      const roll = rolled[index] ?? FLUSH;
      if (roll < RESTART) return [command, 'restart'];
      return roll < FLUSH ? [command, 'flush'] : [command];
    });
    return { scenario, keepsContents, steps: [...steps, 'restart'] };
  });
}

function durable(scenario: Scenario, own: Partial<Policy>): Scenario {
  const policies = { q: { ...scenario.policies.q }, r: { ...scenario.policies.r } };
  const change: Partial<Policy> = { durable: true, ...own, rate: undefined };
  return {
    startupHold: 0,
    policies: { q: { ...policies.q, ...change }, r: { ...policies.r, ...change } },
    commands: scenario.commands.map((command) =>
      command.type === 'submit' ? { ...command, waitForRoom: 0 } : command,
    ),
  };
}

/** Many keys, of which workers take all that are ready. */
function allAtOnce(scenario: Scenario): Scenario {
  const all = (part: AcquirePart): AcquirePart => (part.key === undefined ? { ...part, maxTurns: 1_000 } : part);
  const { q, r } = scenario.policies;
  const roomy: Partial<Policy> = { maxInFlight: undefined, maxDeadLetters: 10_000 };
  return {
    ...scenario,
    policies: { q: { ...q, ...roomy }, r: { ...r, ...roomy } },
    commands: mapped(scenario.commands, all, (item) => item),
  };
}

/** One key to a queue: nobody is before or behind another key. */
function oneKey(scenario: Scenario): Scenario {
  const keys = { q: 'a', r: 'b' } as const;
  const one = (part: AcquirePart): AcquirePart => {
    const queue = part.queues[0] ?? 'q';
    return { ...part, queues: [queue], key: part.key === undefined ? undefined : keys[queue] };
  };
  const commands = mapped(scenario.commands, one, (item, queue) => ({ ...item, key: keys[queue] }));
  return {
    ...scenario,
    commands: commands.map((command) =>
      'key' in command && 'queue' in command && command.key !== undefined
        ? { ...command, key: keys[command.queue] }
        : command,
    ),
  };
}

function mapped(
  commands: readonly Command[],
  acquire: (part: AcquirePart) => AcquirePart,
  item: (item: ItemPart, queue: 'q' | 'r') => ItemPart,
): readonly Command[] {
  return commands.map((command): Command => {
    switch (command.type) {
      case 'acquire':
        return { ...command, ...acquire(command) };
      case 'submit':
        return { ...command, items: command.items.map((one) => item(one, command.queue)) };
      case 'ack': {
        const followUps = command.followUps.map((one) => ({ ...one, item: item(one.item, one.queue) }));
        return { ...command, followUps, next: command.next && acquire(command.next) };
      }
      default:
        return command;
    }
  });
}

async function live({ scenario, keepsContents, steps }: Story, anyOrderOfKeys: boolean): Promise<void> {
  const disk = new MemoryDisk(keepsContents);
  const restarting = new Living(scenario, (settings, clock) => new Restarting(settings, clock, disk));
  const steady = new Living(scenario, (settings, clock) => new Steady(settings, clock));
  const pair = new Pair(restarting.side, steady.side, { unlike: ['renewals'], anyOrderOfKeys });
  for (const step of steps) {
    if (step === 'flush') restarting.coordinator.flush();
    else if (step === 'restart') {
      restarting.coordinator.restart();
      endCalls(restarting.side);
      endCalls(steady.side);
      steady.coordinator.forget();
      await pair.compare();
      await compareMore(restarting, steady);
    } else await pair.step(step);
  }
}

class Living<T extends Coordinator> {
  readonly side: Side;
  readonly coordinator: T;
  constructor(scenario: Scenario, make: (...args: ConstructorParameters<typeof Steady>) => T) {
    let made: T | undefined;
    this.side = realSide((settings, clock) => {
      made = make(settings, clock);
      return made;
    }, scenario);
    assert.ok(made !== undefined);
    this.coordinator = made;
  }
}

/** Streams and calls end with the process: whoever waits gives up its place. */
function endCalls(side: Side): void {
  for (const slot of SLOTS) side.streams.break(slot, false);
  for (const { call } of side.made) if (call.open) call.cancel(true);
  side.clock.turn();
}

async function compareMore(restarting: Living<Restarting>, steady: Living<Steady>): Promise<void> {
  for (const queue of QUEUES) {
    const [one, other] = [await more(restarting.coordinator, queue), await more(steady.coordinator, queue)];
    const tokens = { mine: restarting.side.tokens, theirs: steady.side.tokens };
    assertSame({ value: one, tokens: tokens.mine }, { value: other, tokens: tokens.theirs }, `more of queue ${queue}`);
  }
}

async function more({ admin }: Coordinator, queue: string): Promise<unknown> {
  const dead = await admin.ask('listDeadLetters', { queue, key: undefined, pageSize: 1_000, pageToken: '' });
  assert.ok(dead.ok);
  // Places order the pages of one life; they mean nothing in the next.
  const letters = dead.value.deadLetters.map(({ place: _, ...letter }) => letter);
  const keys = [];
  for (const state of ['PROCESS', 'BLOCK', 'PARK', 'READY', 'DELAY'] as const) {
    const page = await admin.ask('listKeys', { queue, state, pageSize: 1_000, pageToken: '' });
    assert.ok(page.ok);
    const began = state === 'READY' || state === 'DELAY';
    const told = page.value.keys.map(({ place: _, since, ...key }) => JSON.stringify(began ? key : { ...key, since }));
    keys.push(told.sort());
  }
  return { letters, keys };
}

interface About {
  readonly mix: Mix;
  readonly most: number;
  readonly runs: number;
  readonly tame: (scenario: Scenario) => Scenario;
}

const ABOUT: Readonly<Record<string, About>> = {
  'callers, their turns and tickets': {
    mix: {
      open: 1,
      hello: 1,
      break: 1,
      enQueue: 8,
      deQueue: 5,
      leave: 2,
      acquireKey: 2,
      renew: 2,
      cancel: 1,
      again: 2,
      evict: 1,
      advance: 6,
    },
    most: 60,
    runs: 150,
    tame: allAtOnce,
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
      evict: 1,
      people: 2,
      resumeKey: 1,
      advance: 5,
    },
    most: 60,
    runs: 250,
    tame: allAtOnce,
  },
  'items that wait for others': {
    mix: {
      submitDependants: 6,
      submit: 1,
      acquire: 7,
      ack: 4,
      ackDependants: 2,
      nack: 4,
      await: 1,
      again: 2,
      evict: 1,
      people: 3,
      resumeKey: 1,
      advance: 5,
    },
    most: 60,
    runs: 150,
    tame: allAtOnce,
  },
  'streams and sessions': {
    mix: {
      open: 4,
      hello: 4,
      break: 3,
      enQueue: 5,
      deQueue: 3,
      submit: 4,
      acquire: 5,
      acquireKey: 1,
      ack: 3,
      nack: 2,
      renew: 2,
      again: 2,
      evict: 1,
      advance: 7,
    },
    most: 60,
    runs: 150,
    tame: allAtOnce,
  },
  'one key with everything, gates of its queue too': {
    mix: {
      open: 1,
      hello: 1,
      break: 1,
      enQueue: 5,
      deQueue: 4,
      leave: 1,
      submit: 5,
      acquire: 7,
      acquireKey: 1,
      ack: 5,
      nack: 4,
      renew: 1,
      await: 1,
      cancel: 1,
      again: 1,
      evict: 1,
      resumeKey: 1,
      pause: 1,
      people: 1,
      advance: 5,
    },
    most: 80,
    runs: 250,
    tame: oneKey,
  },
};

async function holds(t: TestContext, name: string, { mix, most, runs, tame }: About): Promise<void> {
  const run = (story: Story) => live(story, tame === allAtOnce);
  const amount = { usual: runs, seed: 20_260_102, endOnFailure: true };
  const details = await checkRandom(t, stories(mix, most, tame), run, amount);
  const [failing] = details.counterexample ?? [];
  if (!details.failed || failing === undefined) return;
  const { scenario, keepsContents } = failing;
  const error = (steps: readonly Step[]) =>
    run({ scenario, keepsContents, steps }).then(
      () => undefined,
      (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown))),
    );
  const small = await smaller(failing.steps, async (steps) => (await error(steps)) !== undefined);
  const said = [
    `contents ${keepsContents ? 'in memory' : 'on disk'}`,
    JSON.stringify(scenario.policies),
    ...small.map((step) => JSON.stringify(step)),
  ].join('\n  ');
  const again = `KEYTURN_SEED=${details.seed} KEYTURN_PATH=${details.counterexamplePath} node --test --test-name-pattern="${name}" dist/test/core/durable/restore-property.test.js`;
  assert.fail(`${(await error(small))?.stack}\n\nsmallest found: ${said}\n\nto run it again: ${again}`);
}

describe('a core that began anew from its rows cannot be told from one that lived on', () => {
  for (const [name, about] of Object.entries(ABOUT)) it(name, (t) => holds(t, name, about));
});
