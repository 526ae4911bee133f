/** A sidecar that owns nothing: it has no session, reads who is the home of what, and forwards. */
import type { Coordinator } from '../../coordinator.js';
import type { Clock } from '../../local/clock.js';
import type { Homes } from '../partitions/homes.js';
import type { HomeEntry, Registry } from '../registry/registry.js';
import { HomeChanges } from './changes.js';
import { type Connect, RemoteHomes, type Unlinked } from './remote-homes.js';

/** One key a second, however many gateways there are, ms. */
const READ_EVERY = 1_000;
/** While a call waits for a home, ms. */
const READ_SOON = 50;

interface GatewayOptions {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly partitions: number;
  readonly connect: Connect;
  readonly unlinked?: Unlinked;
  /** Reads the record of the cluster, and follows it: a home may have refused a call for that. */
  readonly catchUp?: () => Promise<void>;
  /** Unset: it goes right again. */
  readonly trouble?: (error: Error | undefined) => void;
}

export class GatewayHomes implements Homes {
  readonly partitions: number;
  readonly #options: GatewayOptions;
  readonly #remote: RemoteHomes;
  readonly #changes: HomeChanges;
  #isReading = false;
  #isSoon = false;
  #isKnown = false;
  #isEnded = false;
  #trouble: Error | undefined;
  #disarm: (() => void) | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.partitions = options.partitions;
    this.#remote = new RemoteHomes(options.connect, options.unlinked);
    this.#changes = new HomeChanges(options.clock);
  }

  /** Whether the map was read, since the start. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  start(): void {
    this.#read();
  }

  look(): void {
    if (this.#isEnded || this.#isReading || this.#isSoon) return;
    this.#isSoon = true;
    this.#disarm?.();
    this.#disarm = this.#options.clock.after(READ_SOON, () => this.#read());
  }

  close(): void {
    this.#isEnded = true;
    this.#disarm?.();
  }

  home(partition: number): Coordinator | undefined {
    return this.#remote.get(partition);
  }

  isHere(): boolean {
    return false;
  }

  /** The incarnation elsewhere that is the home of a partition, as far as is known. */
  memberOf(partition: number): string | undefined {
    return this.#remote.memberOf(partition);
  }

  /** The incarnations elsewhere that are homes of partitions. */
  elsewhere(): ReadonlySet<string> {
    return this.#remote.members;
  }

  whyNone(partition: number): string {
    const problem = this.#remote.problemOf(partition);
    if (problem !== undefined) return problem;
    const why = this.#isKnown ? 'no member has said that it is its home' : 'the map of homes was not read yet';
    return `partition ${partition} has no home: ${why}${this.#trouble === undefined ? '' : `; ${this.#trouble.message}`}`;
  }

  onChange(listener: (partitions: readonly number[]) => void): () => void {
    return this.#changes.listen(listener);
  }

  #read(): void {
    if (this.#isEnded) return;
    this.#isReading = true;
    const isWanted = this.#isSoon;
    this.#isSoon = false;
    void this.#readNow(isWanted);
  }

  /** @param isWanted calls wait for what it may bring */
  async #readNow(isWanted: boolean): Promise<void> {
    let trouble: Error | undefined;
    try {
      if (isWanted) trouble = await this.#catchUp();
      const homes = await this.#options.registry.homes();
      if (this.#isEnded) return;
      this.#isKnown = true;
      this.#take(homes);
      this.#troubled(trouble);
    } catch (error) {
      this.#troubled(error instanceof Error ? error : new Error(String(error)));
    }
    this.#isReading = false;
    if (this.#isEnded) return;
    this.#disarm = this.#options.clock.after(READ_EVERY, () => this.#read());
  }

  /** Homes are known without it, and may be elsewhere by now. @returns what went wrong */
  async #catchUp(): Promise<Error | undefined> {
    try {
      await this.#options.catchUp?.();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #take(homes: readonly HomeEntry[]): void {
    const byPartition = new Map(homes.map((home) => [home.partition, home]));
    for (let partition = 0; partition < this.partitions; partition++) {
      if (this.#remote.set(partition, byPartition.get(partition))) this.#changes.add(partition);
    }
  }

  #troubled(error: Error | undefined): void {
    if (error?.message === this.#trouble?.message) return;
    this.#trouble = error;
    this.#options.trouble?.(error);
  }
}
