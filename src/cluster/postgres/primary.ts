/** Of the servers of an address the one that takes writes. */
import { JournalError } from '../../local/journal/journal.js';
import { type EngineHost, hostName } from '../address/engine-address.js';
import type { Opened } from '../connections/pool.js';
import { storeError } from '../store/partition/failures.js';
import type { PostgresAddress } from './address.js';
import { type Patience, PostgresConnection } from './connection.js';
import { checkServer } from './server-check.js';

interface PrimaryOptions extends Patience {
  /** So many standbys have to have what is committed. */
  readonly replicas: number | 'auto';
}

/** The one that was the primary last is asked alone for so long, ms. */
const HEAD_START = 250;
/** So long others are waited for that may have taken over from the one that answered, ms. */
const GRACE = 250;

interface Found {
  readonly host: EngineHost;
  readonly connection: PostgresConnection;
  readonly system: string;
  readonly timeline: number;
}

/**
 * A primary that was away while its standby took over takes writes when it comes back, as long as nobody tells it not to: what it
 * would be given is in no other server, and what was answered meanwhile is not in it. Each that takes over begins a time line with a
 * larger number, so of several the largest counts, and one with a smaller number than was seen is not used.
 */
export class Primary {
  /** That was found last. */
  #last: EngineHost | undefined;
  #seen: Pick<Found, 'system' | 'timeline'> | undefined;

  constructor(
    private readonly address: PostgresAddress,
    private readonly options: PrimaryOptions,
  ) {}

  /** @throws JournalError: what is wrong with each */
  async connect(deadline = this.options.deadline): Promise<Opened<PostgresConnection>> {
    const found = await this.#search(deadline);
    const { host, connection, system, timeline } = found;
    this.#last = host;
    this.#seen = { system, timeline };
    return { connection, identity: `${system} ${timeline}` };
  }

  /** The one of last time is asked alone at first: mostly it is that still, and the others need not be asked each time. */
  async #search(deadline: number): Promise<Found> {
    const { hosts } = this.address;
    const found: Found[] = [];
    const failed = new Map<EngineHost, unknown>();
    let isOver = false;
    const asked = new Map<EngineHost, Promise<void>>();
    const ask = (host: EngineHost) => {
      const asking = this.#look(host, deadline).then(
        (one) => void (isOver ? one.connection.destroy() : found.push(one)),
        (error: unknown) => void failed.set(host, error),
      );
      asked.set(host, asking);
      return asking;
    };
    if (this.#last !== undefined && hosts.length > 1) await this.#within(HEAD_START, ask(this.#last));
    if (found.length === 0) {
      for (const host of hosts) if (!asked.has(host)) void ask(host);
      while (found.length === 0 && failed.size < hosts.length) await Promise.race(pending(asked, failed));
      if (found.length > 0 && hosts.length > 1) await this.#within(GRACE, Promise.all(asked.values()));
    }
    isOver = true;
    const best = latest(hosts.flatMap((host) => found.find((one) => one.host === host) ?? []));
    for (const { connection } of found) if (connection !== best?.connection) connection.destroy();
    if (best === undefined) throw this.#failure(hosts.map((host) => failed.get(host)));
    return best;
  }

  #within(ms: number, asking: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const callOff = this.options.clock.after(ms, resolve);
      void asking.then(() => {
        callOff();
        resolve();
      });
    });
  }

  async #look(host: EngineHost, deadline: number): Promise<Found> {
    const name = `PostgreSQL at ${hostName(host)}`;
    const connection = await PostgresConnection.open(this.address, host, this.options, deadline);
    try {
      const { system, timeline, isStandby } = await checkServer(name, connection, this.options.replicas, deadline);
      if (isStandby)
        throw storeError('unfit', `${name} is a standby, which takes no writes (name its primary too, behind a comma)`);
      if (system === this.#seen?.system && timeline < this.#seen.timeline)
        throw storeError(
          'io',
          `${name} takes writes, and another server has taken over from it: stop it, or let it follow that one (its time line is ${timeline}, and ${this.#seen.timeline} was seen)`,
        );
      return { host, connection, system, timeline };
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  #failure(failed: readonly unknown[]): unknown {
    const [first] = failed;
    const other = failed.find((error) => !(error instanceof JournalError));
    if (failed.length === 1 || other !== undefined) return other ?? first;
    // One that will be the primary may not be there yet.
    const why = failed.map((error) => (error instanceof Error ? error.message.split('; ')[0] : '')).join('; ');
    return storeError('io', `none of ${this.address.name} takes writes: ${why}`, first);
  }
}

/** @param found in the order of the address: of servers that have nothing to do with each other the first one counts */
function latest([first, ...others]: readonly Found[]): Found | undefined {
  if (first === undefined) return undefined;
  return others.reduce((best, one) => (one.system === best.system && one.timeline > best.timeline ? one : best), first);
}

/** Those that have not failed; what was found ends the wait for all of them. */
function pending(asked: ReadonlyMap<EngineHost, Promise<void>>, failed: ReadonlyMap<EngineHost, unknown>) {
  return [...asked].flatMap(([host, asking]) => (failed.has(host) ? [] : [asking]));
}
