/** A player in one scenario. Names of clients and handles get the number of the scenario, because a player plays many. */
import { type Fields, fieldsOf } from '../fields.js';
import type { Answer, Asked, PlayerProcess } from '../process/player-process.js';
import { EventList } from './event-list.js';
import type { PlayerPool } from './player-pool.js';
import type { QueueNames } from './queue-names.js';

export class Member {
  readonly events = new EventList();
  /** Names of clients that it has open. */
  readonly clients = new Set<string>();
  readonly #suffix: string;
  readonly #unlisten: () => void;

  constructor(
    readonly process: PlayerProcess,
    scenario: number,
    private readonly names: QueueNames,
    /** Where its process comes from. */
    readonly pool: PlayerPool,
  ) {
    this.#suffix = `#${scenario}`;
    this.#unlisten = process.listen((event, at) => this.#take(event, at));
  }

  request(op: string, args: Fields): Asked {
    const named = { ...args, ...this.#named(args, 'client'), ...this.#named(args, 'handle') };
    const { id, answer } = this.process.request(op, fieldsOf(this.names.out(named)));
    const told = answer.then((one): Answer => {
      if ('ok' in one) return { ok: fieldsOf(this.names.in(one.ok)), at: one.at };
      return { error: fieldsOf(this.names.in(one.error)), at: one.at };
    });
    // Whoever waits for it is told; a scenario may end before.
    told.catch(() => undefined);
    return { id, answer: told };
  }

  leave(): void {
    this.#unlisten();
  }

  #named(args: Fields, field: string): Fields {
    return typeof args[field] === 'string' ? { [field]: `${args[field]}${this.#suffix}` } : {};
  }

  /** Of an earlier scenario is what does not bear our number. */
  #take(event: Fields, at: number): void {
    const { handle } = event;
    if (typeof handle !== 'string' || !handle.endsWith(this.#suffix)) return;
    const told = { ...event, handle: handle.slice(0, -this.#suffix.length) };
    this.events.add(fieldsOf(this.names.in(told)), at);
  }
}
