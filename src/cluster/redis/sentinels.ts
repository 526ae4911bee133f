import type { Clock } from '../../local/clock.js';
import { JournalError } from '../../local/journal/journal.js';
import { type EngineAddress, type EngineHost, engineAddress, hostName } from '../address/engine-address.js';
import { SENTINEL } from '../address/forms.js';
import { storeError } from '../store/partition/failures.js';
import type { RedisAddress } from './address.js';
import { RedisConnection } from './connection.js';
import { KeptConnections } from './kept-connections.js';
import type { RedisSource } from './source.js';

/** How often all sentinels are asked, ms: a master that is cut off from them answers on, and has been replaced. */
const ASK_EVERY = 1_000;

/** When most sentinels have answered the others are waited for so long, ms. */
const GRACE = 250;

const REFUSED = /has no password, and one is given|refuses user or password/;

/** What a sentinel says. */
interface Told extends EngineHost {
  /** Grows with every failover: of two that say otherwise the one with the larger one knows more. */
  readonly epoch: number;
}

/**
 * The master of a name, as sentinels see it. All of them are asked at once, and the one whose failover is the latest is believed: one
 * that is cut off from the others knows an old one.
 */
export class Sentinels implements RedisSource {
  readonly name: string;
  readonly isNode = false;
  onMoved: (() => void) | undefined;
  readonly #address: EngineAddress;
  readonly #master: string;
  readonly #database: number;
  readonly #tls: boolean;
  readonly #connections = new KeptConnections((host, deadline) => this.#open(host, deadline));
  /** Where the last one was that was found. */
  #found: string | undefined;
  /** The largest that a sentinel has told. */
  #epoch = 0;
  #callOff: (() => void) | undefined;
  #isClosed = false;

  /** @throws JournalError `unfit` */
  constructor(
    url: string,
    private readonly clock: Clock,
  ) {
    const address = engineAddress(url, [SENTINEL]);
    if (typeof address === 'string') throw storeError('unfit', `the address of the sentinels is one ${address}`);
    this.#address = address;
    const [master = '', database = '0'] = address.path.split('/');
    this.#master = master;
    this.#database = Number(database);
    this.#tls = address.scheme.startsWith('rediss');
    this.name = address.name;
  }

  async find(deadline: number): Promise<RedisAddress> {
    const told = await this.#ask(deadline);
    this.#take(told);
    this.#watch();
    return this.#redisAt(told);
  }

  /** One less than there are: the death of one server stops nothing. */
  replicasOf(connected: number): number {
    return Math.max(0, connected - 1);
  }

  close(): void {
    this.#isClosed = true;
    this.#callOff?.();
    this.#connections.close();
  }

  #watch(): void {
    if (this.#isClosed || this.#callOff !== undefined) return;
    this.#callOff = this.clock.after(ASK_EVERY, () => {
      this.#callOff = undefined;
      void this.#look().finally(() => this.#watch());
    });
  }

  async #look(): Promise<void> {
    // None that answers: who writes notices by itself.
    const told = await this.#ask(ASK_EVERY).catch(() => undefined);
    if (told !== undefined && !this.#isClosed) this.#take(told);
  }

  /** Whoever finds out that it is another one: connections with the one before may be there, and answer. */
  #take(told: Told): void {
    const before = this.#found;
    this.#found = hostName(told);
    this.#epoch = told.epoch;
    if (before !== undefined && before !== this.#found) this.onMoved?.();
  }

  /** @throws JournalError */
  async #ask(deadline: number): Promise<Told> {
    const asked = await this.#answers(this.#address.hosts.map((host) => this.#askOne(host, deadline)));
    const answers = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    const [latest] = answers.sort((a, b) => b.epoch - a.epoch);
    if (latest !== undefined && this.#isBelieved(latest, answers.length)) return latest;
    if (latest !== undefined)
      throw storeError('io', `the sentinels of ${this.name} that answer do not know of the latest failover`);
    if (asked.some(({ status }) => status === 'fulfilled'))
      throw storeError('unfit', `no sentinel of ${this.name} knows a master called ${JSON.stringify(this.#master)}`);
    const [failed] = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    if (failed instanceof JournalError && failed.problem === 'unfit') throw failed;
    throw storeError('io', `no sentinel of ${this.name} answers: ${textOf(failed)}`, failed);
  }

  /** Of all of them, or of most: one whose machine is gone says nothing until the deadline, whatever that is. */
  #answers(asked: readonly Promise<readonly Told[]>[]): Promise<readonly PromiseSettledResult<readonly Told[]>[]> {
    const settled: PromiseSettledResult<readonly Told[]>[] = [];
    return new Promise((resolve) => {
      let callOff = () => {};
      const took = (one: PromiseSettledResult<readonly Told[]>) => {
        settled.push(one);
        callOff();
        const answered = settled.filter(({ status }) => status === 'fulfilled').length;
        if (settled.length === asked.length) resolve(settled);
        else if (answered * 2 > asked.length) callOff = this.clock.after(GRACE, () => resolve([...settled]));
      };
      for (const one of asked) {
        one.then(
          (value) => took({ status: 'fulfilled', value }),
          (reason: unknown) => took({ status: 'rejected', reason }),
        );
      }
    });
  }

  /** A few that know less than was told already are cut off. Most of them are not: they have been set up anew. */
  #isBelieved({ epoch }: Told, answered: number): boolean {
    return epoch >= this.#epoch || answered * 2 > this.#address.hosts.length;
  }

  /**
   * While a failover is under way the sentinel that leads it describes the master before, with the number of the failover already; where
   * clients have to go is another question. The number is asked first: a place that is newer than its number is believed a second later.
   *
   * @returns empty: it knows no such master
   */
  async #askOne(host: EngineHost, deadline: number): Promise<readonly Told[]> {
    const connection = await this.#connections.to(host, deadline);
    try {
      const described = connection.ask(['SENTINEL', 'MASTER', this.#master], deadline);
      const [facts, place] = await Promise.all([
        described,
        connection.ask(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.#master], deadline),
      ]);
      return toldBy(facts, place);
    } catch (error) {
      if (error instanceof JournalError && /No such master/i.test(error.message)) return [];
      this.#connections.leave(host);
      throw error;
    }
  }

  /** With user and password of the address; one that does not know them is asked without. */
  async #open(host: EngineHost, deadline: number): Promise<RedisConnection> {
    const patience = { deadline, clock: this.clock };
    const address = { ...this.#redisAt(host), database: 0, name: `the sentinel ${hostName(host)}` };
    try {
      return await RedisConnection.open(address, patience, deadline);
    } catch (error) {
      const isRefused = error instanceof JournalError && REFUSED.test(error.message);
      if (!isRefused || address.password === undefined) throw error;
      const nobody = { ...address, username: undefined, password: undefined };
      return RedisConnection.open(nobody, patience, deadline).catch(() => {
        throw error;
      });
    }
  }

  #redisAt({ host, port }: EngineHost): RedisAddress {
    const { username, password } = this.#address;
    const name = `${hostName({ host, port })}, the master of ${this.name},`;
    return { host, port, tls: this.#tls, username, password, database: this.#database, name };
  }
}

/** @param facts fields and values one after another */
function toldBy(facts: unknown, place: unknown): readonly Told[] {
  const fields = new Map<string, string>();
  const flat: readonly unknown[] = Array.isArray(facts) ? facts : [];
  for (let at = 0; at + 1 < flat.length; at += 2) fields.set(String(flat[at]), String(flat[at + 1]));
  const [host, port]: readonly unknown[] = Array.isArray(place) ? place : [];
  if (typeof host !== 'string' || host === '' || !Number.isInteger(Number(port))) return [];
  return [{ host, port: Number(port), epoch: Number(fields.get('config-epoch') ?? 0) }];
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('; ')[0] ?? '') : String(error);
}
