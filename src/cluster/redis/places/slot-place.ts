import type { Buffer } from 'node:buffer';
import type { Clock } from '../../../local/clock.js';
import { JournalError } from '../../../local/journal/journal.js';
import type { EngineHost } from '../../address/engine-address.js';
import { storeError } from '../../store/partition/failures.js';
import type { RedisLink } from '../connection.js';
import type { RedisServer } from '../server.js';
import type { Lane } from './cluster-node.js';
import type { RedisPlace } from './places.js';
import { type Redirect, redirectIn } from './redirect.js';

/** While a slot is on its way it is tried again, ms; each time twice as long, until a request would have had its answer. */
const FIRST_PAUSE = 5;
const LONGEST_PAUSE = 100;
/** A request that is sent from node to node more often has met nodes that do not agree. */
const MOST_TRIES = 32;

/** What changes nothing may be asked of the node to which a key is gone. */
const READS: ReadonlySet<string> = new Set(['GET', 'EXISTS', 'HGET', 'HMGET', 'HGETALL', 'HKEYS', 'HLEN', 'SMEMBERS']);

/** What a slot needs to know of its cluster. */
export interface SlotHost {
  readonly name: string;
  readonly clock: Clock;
  /** ms */
  readonly deadline: number;
  identityOf(slot: number): string;
  /** Where the master of the slot is, as far as is known; for comparison. */
  masterOf(slot: number): string | undefined;
  /** The master of the slot. @throws JournalError */
  serverOf(slot: number, lane: Lane): Promise<RedisServer>;
  /** Another node, for one request. @throws JournalError */
  sideAt(node: EngineHost): Promise<RedisServer>;
  /** The map may be old. */
  lookSoon(): void;
}

/** The keys of one slot, wherever they are. */
export class SlotPlace implements RedisPlace {
  constructor(
    private readonly host: SlotHost,
    private readonly slot: number,
    private readonly lane: Lane,
  ) {}

  get name(): string {
    return this.host.name;
  }

  get identity(): string {
    return this.host.identityOf(this.slot);
  }

  async use<T>(task: (link: RedisLink) => Promise<T>): Promise<T> {
    const { clock, deadline } = this.host;
    const giveUp = clock.now() + deadline;
    for (let tries = 1, pause = FIRST_PAUSE; ; tries += 1, pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const master = this.host.masterOf(this.slot);
      try {
        const server = await this.host.serverOf(this.slot, this.lane);
        return await server.use((link) => task(new FollowingLink(link, this.host)));
      } catch (error) {
        const redirect = redirectIn(error);
        this.host.lookSoon();
        // Of one that was left while it was asked, another one is asked.
        const isLeft = this.host.masterOf(this.slot) !== master && isUnknown(error);
        if (redirect === undefined && !isLeft) throw error;
        if (tries >= MOST_TRIES || clock.now() + pause > giveUp)
          throw redirect === undefined ? error : this.#givenUp(redirect, error);
      }
      // No connection is held meanwhile.
      await new Promise<void>((resolve) => void clock.after(pause, resolve));
    }
  }

  #givenUp({ kind }: Redirect, error: unknown): Error {
    const { name } = this.host;
    const what =
      kind === 'moved'
        ? `the nodes of ${name} do not agree yet who has slot ${this.slot}`
        : `slot ${this.slot} of ${name} is being moved to another node, and takes no writes until it is there`;
    return storeError('io', what, error);
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof JournalError && error.problem === 'io';
}

/**
 * Follows single keys that are at another node already, while their slot is moved. Only reads: a script that changes something has
 * two keys (`Script`), so that it is refused whole as long as its keys may be at both.
 */
class FollowingLink implements RedisLink {
  constructor(
    private readonly link: RedisLink,
    private readonly host: Pick<SlotHost, 'sideAt'>,
  ) {}

  get isOpen(): boolean {
    return this.link.isOpen;
  }

  ask(args: readonly (string | Buffer)[], deadline?: number): Promise<unknown> {
    return this.#followed(args, this.link.ask(args, deadline), (there) => there.ask(args, deadline));
  }

  askForBytes(args: readonly (string | Buffer)[], deadline?: number): Promise<unknown> {
    return this.#followed(args, this.link.askForBytes(args, deadline), (there) => there.askForBytes(args, deadline));
  }

  async #followed(
    [command]: readonly (string | Buffer)[],
    answer: Promise<unknown>,
    again: (there: RedisLink) => Promise<unknown>,
  ): Promise<unknown> {
    try {
      return await answer;
    } catch (error) {
      const redirect = redirectIn(error);
      if (redirect?.kind !== 'ask' || !READS.has(String(command))) throw error;
      const server = await this.host.sideAt(redirect.at);
      return server.use((there) => {
        // Of the next request on the same connection only: both go at once.
        const asking = there.ask(['ASKING']);
        asking.catch(() => undefined);
        return again(there);
      });
    }
  }
}
