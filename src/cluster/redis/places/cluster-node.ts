import type { Clock } from '../../../local/clock.js';
import { JournalError } from '../../../local/journal/journal.js';
import { storeError } from '../../store/partition/failures.js';
import type { RedisAddress } from '../address.js';
import { RedisServer } from '../server.js';
import { oneAddress } from '../source.js';
import type { PlacesOptions, Shape } from './places.js';

/**
 * Connections for what waits for replicas (`main`), for large answers (`reader`), and for what must wait for neither (`side`): looks
 * at guards, and what is asked of a node on behalf of another one.
 */
export type Lane = 'main' | 'reader' | 'side';

const SIDE: Shape = { connections: 1, each: 256 };
/** A node that could not be reached is not tried again sooner, ms. */
const AGAIN_AFTER = 100;

/** One node of a Redis Cluster: connections with it, opened when they are needed. */
export class ClusterNode {
  /** Called when it was started anew. */
  onFailover: (() => void) | undefined;
  readonly #lanes = new Map<Lane, Promise<RedisServer>>();
  #main: RedisServer | undefined;
  #isClosed = false;
  #failed: { readonly at: number; readonly error: JournalError } | undefined;

  constructor(
    private readonly address: RedisAddress,
    private readonly options: PlacesOptions,
    private readonly clock: Clock,
  ) {}

  /** Of the server that it is connected with; empty: of none so far. */
  get identity(): string {
    return this.#main?.identity ?? '';
  }

  /** @throws JournalError `io`; `unfit` too, when it is opened for the first time at a start */
  async server(lane: Lane, startDeadline?: number): Promise<RedisServer> {
    const there = this.#lanes.get(lane);
    if (there !== undefined) return there;
    const failed = this.#failed;
    if (failed !== undefined && this.clock.now() - failed.at < AGAIN_AFTER) throw failed.error;
    const opened = this.#open(lane, startDeadline);
    this.#lanes.set(lane, opened);
    opened.catch((error: unknown) => {
      this.#lanes.delete(lane);
      // What was in order at the start may be so again: nobody has to begin anew for it.
      const text = error instanceof Error ? error.message : String(error);
      this.#failed = { at: this.clock.now(), error: new JournalError('io', text, { cause: error }) };
    });
    return startDeadline === undefined ? opened.catch(() => Promise.reject(this.#failed?.error)) : opened;
  }

  close(): void {
    this.#isClosed = true;
    this.onFailover = undefined;
    for (const opened of this.#lanes.values())
      opened.then(
        (server) => server.close(),
        () => undefined,
      );
  }

  async #open(lane: Lane, startDeadline?: number): Promise<RedisServer> {
    const { deadline, clock, shape, readers = SIDE } = this.options;
    const patience = { deadline, startDeadline: startDeadline ?? deadline, clock };
    const source = oneAddress(this.address, true);
    const others = lane === 'main' ? {} : { sameAs: await this.server('main', startDeadline) };
    const those = lane === 'main' ? shape : lane === 'side' ? SIDE : readers;
    if (this.#isClosed) throw storeError('io', `${this.address.name} has nothing to be asked for any more`);
    const server = await RedisServer.open(source, { ...patience, ...those, ...others });
    if (lane === 'main') {
      server.onFailover = () => this.onFailover?.();
      this.#main = server;
    }
    return server;
  }
}
