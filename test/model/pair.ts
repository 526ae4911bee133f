/** Drives two sides through one scenario and compares everything that can be seen. */
import assert from 'node:assert/strict';
import type { Coordinator, CoordinatorSettings, Limits, TurnRef } from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { policy, settings } from '../support/builders.js';
import type { Outcome } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';
import { Ledger } from '../support/ledger.js';
import { type Command, QUEUES, type QueueName, type Scenario } from './commands.js';
import { modelPeople, type People, realPeople, type Seen } from './people.js';
import { Reference } from './reference.js';
import type { NoRoom } from './reference-room.js';
import { assertSame, type Said } from './same.js';
import { apply, type Side } from './sending.js';
import { Streams } from './streams.js';
import { turnsIn } from './turns-in.js';

export type MakeCoordinator = (settings: CoordinatorSettings, clock: Clock) => Coordinator & { recount?(): void };

function side(name: string, clock: FakeClock, streams: Streams, people: People, recount = () => {}): Side {
  return { name, clock, streams, people, recount, made: [], turns: [], settled: new Set(), tokens: new Map() };
}

export function realSide(make: MakeCoordinator, scenario: Scenario, limits: Partial<Limits> = {}): Side {
  const clock = new FakeClock();
  const coordinator = make(settingsOf(scenario, limits), clock);
  const ledger = new Ledger((queue) => policy(scenario.policies[queue as QueueName])); // those are its queues
  const people = realPeople(coordinator, ledger);
  return side('coordinator', clock, new Streams(coordinator, clock, ledger), people, () => coordinator.recount?.());
}

export function modelSide(scenario: Scenario): Side {
  const clock = new FakeClock();
  const reference = new Reference(settingsOf(scenario, {}), clock);
  return side('reference', clock, new Streams(reference, clock, undefined), modelPeople(reference));
}

function settingsOf({ policies, startupHold, limits: tight }: Scenario, limits: Partial<Limits>): CoordinatorSettings {
  // A large memory of idle lanes costs more to set up than a scenario takes to run.
  return settings({ queues: policies, startupHold, limits: { idleLanes: 1_000, ...tight, ...limits } });
}

export interface PairOptions {
  /** Looks at every queue after every step. */
  readonly seen?: (queue: QueueName, seen: Seen) => void;
  /** Fields of answers, and of what is seen, that may differ. */
  readonly unlike?: readonly string[];
  /** Between keys turns may be given in different orders. */
  readonly anyOrderOfKeys?: boolean;
}

/** Two that must not be told apart by anybody outside. */
export class Pair {
  #comparedTurns = 0;
  /** By stream. */
  readonly #comparedNotices: number[] = [];

  constructor(
    readonly real: Side,
    readonly model: Side,
    readonly options: PairOptions = {},
  ) {}

  async run(commands: readonly Command[]): Promise<void> {
    for (const command of commands) await this.step(command);
  }

  async step(command: Command): Promise<void> {
    const [real, model] = [await this.#apply(this.real, command), await this.#apply(this.model, command)];
    assertSame(real, model, `what ${command.type} told the person`);
    await this.compare();
  }

  /** Everything that was answered since the last time, and everything that can be seen now. */
  async compare(): Promise<void> {
    this.#compareCalls();
    this.#compareNotices();
    for (const queue of QUEUES) {
      const [seen, expected] = [await this.real.people.see(queue), await this.model.people.see(queue)];
      assertSame(said(seen, this.real), said(expected, this.model), `queue ${queue}`, this.options.unlike);
      this.options.seen?.(queue, seen);
    }
    this.#compareTokens();
  }

  async #apply(one: Side, command: Command): Promise<Said> {
    const value = await apply(one, command);
    one.recount();
    one.streams.tidy();
    one.clock.turn();
    one.recount();
    return said(value, one);
  }

  #compareCalls(): void {
    for (const [index, real] of this.real.made.entries()) {
      const model = this.model.made[index];
      if (real.compared || model === undefined) continue;
      const its = likeliest(model.call.outcome, real.call.outcome);
      const [answer, expected] = [said(real.call.outcome, this.real), said(its, this.model)];
      assertSame(answer, expected, `answer to call ${index}`, this.options.unlike);
      real.compared = !real.call.open;
      if (!real.call.deliverable) continue; // nobody got to know these turns
      const [mine, theirs] = [turnsIn(real.call.outcome), turnsIn(model.call.outcome)];
      this.real.turns.push(...mine);
      this.model.turns.push(...theirs);
    }
  }

  #compareNotices(): void {
    const expected = this.model.streams.notices(this.#comparedNotices);
    for (const [index, told] of this.real.streams.notices(this.#comparedNotices).entries()) {
      const one = expected[index] ?? [];
      if (told.length === 0 && one.length === 0) continue;
      this.#comparedNotices[index] = (this.#comparedNotices[index] ?? 0) + told.length;
      assertSame(said(told, this.real), said(one, this.model), `notices of stream ${index}`);
    }
  }

  /** Tokens are compared by their order in their queue, not by their numbers. */
  #compareTokens(): void {
    if (this.options.anyOrderOfKeys === true || this.real.turns.length === this.#comparedTurns) return;
    this.#comparedTurns = this.real.turns.length;
    for (const queue of QUEUES) {
      assert.deepEqual(order(this.real.turns, queue), order(this.model.turns, queue), 'I5: tokens grow with the turns');
    }
  }
}

/** Where several refusals are right, the one that the other side told, if it is among them. */
function likeliest(expected: Outcome<unknown> | undefined, told: Outcome<unknown> | undefined): unknown {
  if (expected === undefined || !('refusal' in expected) || !('oneOf' in expected.refusal)) return expected;
  const { oneOf } = expected.refusal as NoRoom; // nothing else has this field
  const subject = told !== undefined && 'refusal' in told && 'subject' in told.refusal ? told.refusal.subject : '';
  return { refusal: oneOf.find((one) => 'subject' in one && one.subject === subject) ?? oneOf[0] };
}

function said(value: unknown, { tokens }: Side): Said {
  return { value, tokens };
}

function order(turns: readonly TurnRef[], queue: string): number[] {
  const tokens = turns.flatMap((turn) => (turn.queue === queue ? [turn.token] : []));
  return tokens.map((token) => tokens.filter((other) => other < token).length);
}
