/** Leaders of a world in which the process dies and its disk fails: who is told to lead outlives that, and nobody leads twice. */
import type { Reply, YieldView } from '../../src/coordinator.js';
import type { Heard, Send } from './cluster-network.js';
import type { Life } from './durable-life.js';
import type { World } from './durable-world.js';
import { Career, LeaderLedger, type LeaderWorld } from './leaders.js';

export const GROUPS = ['backup', 'billing'] as const;
/** A stream stands for so long at most, ms. */
const LONGEST_STREAM = 8_000;

export class DurableLeaders implements LeaderWorld {
  readonly ledger: LeaderLedger;
  readonly #careers: readonly Career[];
  #last: Life | undefined;
  #lives = 0;
  #streams = 0;

  constructor(private readonly world: World) {
    const { book } = world;
    // Nothing excuses two who lead: what was told was on the disk before.
    const excuses = (): number => 0;
    this.ledger = new LeaderLedger(
      () => book.time.now,
      excuses,
      (what) => book.broken(what),
    );
    this.#careers = GROUPS.flatMap((group) => [0, 1, 2].map((i) => new Career(this, this.ledger, `l${i}`, group)));
  }

  get time() {
    return this.world.book.time;
  }

  get chance() {
    return this.world.chance;
  }

  nextStream(): string {
    this.#streams += 1;
    return `stream ${this.#streams}`;
  }

  start(): void {
    for (const career of this.#careers) career.start();
    this.#operate();
  }

  leave(): void {
    for (const career of this.#careers) career.leave();
  }

  ask<T>(
    group: string,
    send: Send<T>,
    leaves: (answer: T, process: string) => void,
    hear: (heard: Heard<T>) => void,
  ): void {
    const { world, time, chance } = this;
    const { life } = world;
    if (life === undefined) return void time.after(chance.int(20, 200), () => hear('lost'));
    const process = this.#nameOf(life);
    const stands = chance.int(1_000, LONGEST_STREAM);
    const open = life.ask<T>(
      { who: group, what: 'of its leader', queues: [], wait: stands },
      life.coordinator,
      (_, reply) =>
        send(
          life.coordinator,
          leaving(life, reply, (answer) => leaves(answer, process)),
        ),
      hear,
    );
    time.after(stands, () => open.cancel(false));
  }

  /** A person asks the leader of a group to hand over. */
  #operate(): void {
    this.time.after(this.chance.int(2_000, 10_000), () => {
      if (this.world.stopping) return;
      this.ask<YieldView>(
        this.chance.of(...GROUPS),
        ({ leaders }, reply) => void leaders.yieldLeader(this.chance.of(...GROUPS), reply),
        () => undefined,
        () => undefined,
      );
      this.#operate();
    });
  }

  #nameOf(life: Life): string {
    if (life !== this.#last) this.#lives += 1;
    this.#last = life;
    return `life ${this.#lives}`;
  }
}

/** What a process that is dead says reaches nobody. */
function leaving<T>(life: Life, reply: Reply<T>, leaves: (answer: T) => void): Reply<T> {
  return {
    answer: (value) => {
      if (life.alive) leaves(value);
      return reply.answer(value);
    },
    refuse: (refusal) => reply.refuse(refusal),
  };
}
