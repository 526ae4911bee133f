/**
 * Items of a simulated cluster that wait for items of other groups, and who judges them from outside: none starts before an Ack of
 * what it waits for was asked for, and each that was accepted is done in the end.
 */
import type { Delivery, SubmitAnswer } from '../../src/coordinator.js';
import { bytesOfPayload } from '../../src/core/contract/payload.js';
import { bytes, newItem } from '../support/builders.js';
import { Client, type ClientWorld, Consumer } from './cluster-clients.js';

interface Known {
  readonly queue: string;
  readonly itemId: string;
  /** What was excused of its queue when it was accepted. */
  readonly excuses: number;
}

interface After {
  readonly prerequisite: string;
  /** What was excused of both queues when what it waits for was accepted. */
  readonly excuses: number;
  readonly queue: string;
  readonly from: string;
  isAccepted: boolean;
  isDone: boolean;
}

export class AfterLedger {
  /** Of each queue, the item that was accepted last. */
  readonly #known = new Map<string, Known>();
  readonly #ending = new Set<string>();
  readonly #afters = new Map<string, After>();

  constructor(
    private readonly excusesOf: (queue: string) => number,
    private readonly broken: (what: string) => void,
  ) {}

  known(queue: string, itemId: string): void {
    this.#known.set(queue, { queue, itemId, excuses: this.excusesOf(queue) });
  }

  /** What was accepted last there, if it cannot be lost by now. */
  lastOf(queue: string): Known | undefined {
    const known = this.#known.get(queue);
    return known?.excuses === this.excusesOf(queue) ? known : undefined;
  }

  /** An Ack of it is asked for. */
  ending(queue: string, itemId: string): void {
    this.#ending.add(`${queue}/${itemId}`);
  }

  offered(name: string, queue: string, { queue: from, itemId, excuses }: Known): void {
    const both = this.excusesOf(queue) + excuses;
    const prerequisite = `${from}/${itemId}`;
    this.#afters.set(name, { prerequisite, excuses: both, queue, from, isAccepted: false, isDone: false });
  }

  accepted(name: string): void {
    const after = this.#afters.get(name);
    if (after !== undefined) after.isAccepted = true;
  }

  given(name: string, home: string): void {
    const after = this.#afters.get(name);
    if (after === undefined) return this.broken(`${name} was never offered`);
    if (!this.#ending.has(after.prerequisite))
      this.broken(`${name} is given by ${home}: it starts before ${after.prerequisite}`);
  }

  done(name: string): void {
    const after = this.#afters.get(name);
    if (after !== undefined) after.isDone = true;
  }

  get count(): number {
    return [...this.#afters.values()].filter(({ isDone }) => isDone).length;
  }

  /** Those that were accepted and are not done, unless they, or what they wait for, may be lost. */
  get left(): readonly string[] {
    return [...this.#afters]
      .filter(([, { isAccepted, isDone, excuses, queue, from }]) => {
        const isExcused = excuses < this.excusesOf(queue) + this.excusesOf(from);
        return isAccepted && !isDone && !isExcused;
      })
      .map(([name]) => name);
  }
}

/** Submits items that wait for what was accepted last in other groups, each with a key of its own. */
export class Follower extends Client {
  #serial = 0;

  constructor(
    world: ClientWorld,
    private readonly queue: string,
    private readonly sources: readonly string[],
    private readonly afters: AfterLedger,
  ) {
    super(world);
  }

  start(): void {
    if (this.world.isStopping) return;
    const known = this.afters.lastOf(this.sources[this.world.chance.int(0, this.sources.length - 1)] ?? '');
    if (known === undefined) return this.later(100, () => this.start());
    this.#serial += 1;
    const itemId = `a${this.#serial}`;
    this.afters.offered(`${this.queue}/${itemId}`, this.queue, known);
    this.#submit(itemId, known, 20);
  }

  /** @param tries then it may have been accepted or not, and is not sent again */
  #submit(id: string, { queue: from, itemId }: Known, tries: number): void {
    const { queue } = this;
    const name = `${queue}/${id}`;
    const after = [{ queue: from, itemId }];
    const items = [newItem({ key: id, itemId: id, payload: bytes(name), after })];
    const isIn = ({ results }: SubmitAnswer) => results.every((one) => one.decision === 'accept');
    this.ask<SubmitAnswer>(
      { queue, key: id },
      (calls, reply) => calls.submit({ queue, items, waitForRoom: 0, durability: undefined }, reply),
      (answer) => {
        if (isIn(answer)) this.afters.accepted(name);
      },
      (heard) => {
        const isKnown = heard !== 'lost' && 'answer' in heard;
        const goOn = isKnown || tries === 0;
        this.later(400, () => (goOn ? this.start() : this.#submit(id, { queue: from, itemId, excuses: 0 }, tries - 1)));
      },
    );
  }
}

/** Takes them when they may start. */
export class Successor extends Consumer {
  constructor(
    world: ClientWorld,
    name: string,
    queue: string,
    private readonly afters: AfterLedger,
  ) {
    super(world, name, queue);
  }

  protected override given({ turn, items }: Delivery, home: string, asked: number): void {
    this.world.ledger.granted(turn, home, asked);
    for (const { payload } of items) this.afters.given(Buffer.from(bytesOfPayload(payload)).toString(), home);
  }

  protected override finished({ items }: Delivery): void {
    for (const { payload } of items) this.afters.done(Buffer.from(bytesOfPayload(payload)).toString());
  }
}
