import type { RedisLink } from '../../redis/connection.js';
import type { RedisPlace, RedisPlaces } from '../../redis/places/places.js';
import type { ClusterRecord, ImportMark, RestoreOrder } from '../cluster-store.js';
import { importMark } from '../import-mark.js';
import { storeError } from '../partition/failures.js';
import { orderText } from '../restore-orders.js';
import { recordOf } from '../stored-record.js';
import { type RecordKeys, recordKeys } from './record-keys.js';
import { WAIT_FOR_REPLICAS } from './redis-engine.js';
import { CHANGE_RECORD } from './scripts.js';

/** While a record is put back over that of another cluster: nobody's, and nobody begins under it. */
export type RecordBetween = ClusterRecord & { readonly isBetween: true };

/** The record of the cluster, and what else is of no partition alone. Without the record the store would look new. */
export class RedisRecords {
  readonly keys: RecordKeys;
  /** Id of the record; empty: not read yet. */
  #id = '';
  /** As it was read last: mostly it is the same. */
  #last: { readonly text: unknown; readonly record: ClusterRecord | undefined } = { text: null, record: undefined };

  constructor(
    private readonly places: RedisPlaces,
    cluster: string,
    private readonly replicas: number,
  ) {
    this.keys = recordKeys(cluster, places.isSpread);
  }

  /** Where all of it is. */
  get place(): RedisPlace {
    return this.places.at(this.keys.record);
  }

  async record(wanted: ClusterRecord): Promise<ClusterRecord> {
    const found = await this.place.use(async (link) => {
      const written = link.ask(['SET', this.keys.record, JSON.stringify(wanted), 'NX']);
      const has = this.replicasOn(link);
      const stands = link.ask(['GET', this.keys.record]);
      // The first that fails says more than those behind it.
      for (const one of [has, stands]) one.catch(() => undefined);
      await written;
      await has;
      return stands;
    });
    const record = recordOf(found);
    if (record === undefined) {
      throw storeError('damaged', `${this.keys.record} in ${this.places.name} is no record of a cluster`);
    }
    if ('isBetween' in record) throw this.#isBeingPutBack();
    this.#id = record.id;
    return record;
  }

  /** @param text as it was read */
  read(text: unknown): ClusterRecord | undefined {
    if (text !== this.#last.text) this.#last = { text, record: recordOf(text) };
    return this.#last.record;
  }

  hasRecord(): Promise<boolean> {
    return this.place.use(async (link) => (await link.ask(['EXISTS', this.keys.record])) === 1);
  }

  /** Whether the record that was read first still stands; unset: none was read. */
  async hasSame(): Promise<boolean | undefined> {
    if (this.#id === '') return undefined;
    const found = await this.place.use((link) => link.ask(['GET', this.keys.record]));
    return recordOf(found)?.id === this.#id;
  }

  async changeRecord(revision: number, record: ClusterRecord): Promise<boolean> {
    const args = [String(revision), JSON.stringify(record)];
    return this.place.use(async (link) => {
      const [answer] = await CHANGE_RECORD.run(link, this.keys.record, args);
      await this.replicasOn(link);
      return answer === 1;
    });
  }

  async order(orders: ReadonlyMap<number, RestoreOrder>): Promise<void> {
    if (orders.size === 0) return;
    const texts = [...orders].flatMap(([partition, order]) => [String(partition), orderText(order)]);
    await this.#tell(['HSET', this.keys.orders, ...texts]);
  }

  async ordered(partitions: readonly number[]): Promise<void> {
    if (partitions.length > 0) await this.#tell(['HDEL', this.keys.orders, ...partitions.map(String)]);
  }

  async importUnderWay(): Promise<ImportMark | undefined> {
    const found = await this.place.use((link) => link.ask(['GET', this.keys.import]));
    return typeof found === 'string' ? importMark(found) : undefined;
  }

  async markImport(mark: ImportMark | undefined): Promise<void> {
    const key = this.keys.import;
    await this.#tell(mark === undefined ? ['UNLINK', key] : ['SET', key, JSON.stringify(mark)]);
  }

  /** Who began now would claim what is being emptied, and its claims would be newer than those that are written back. */
  #isBeingPutBack(): Error {
    const what = `the record of the cluster in ${this.places.name} is being put back over that of another one`;
    const then = `start when "keyturn cluster restore" has ended, and if it was cut off say it again, of a sidecar that lives; if none does, delete the key ${this.keys.record}: what was in memory alone is lost`;
    return storeError('io', `${what}; ${then}`);
  }

  /** Waits until the replicas have what was written on this connection. */
  async replicasOn(link: RedisLink): Promise<void> {
    const { replicas } = this;
    if (replicas === 0) return;
    const has = Number(await link.ask(['WAIT', String(replicas), String(WAIT_FOR_REPLICAS)]));
    if (has < replicas)
      throw storeError('io', `${has} of ${replicas} replicas of ${this.places.name} have the cluster's record`);
  }

  async #tell(request: readonly string[]): Promise<void> {
    await this.place.use(async (link) => {
      await link.ask(request);
      await this.replicasOn(link);
    });
  }
}
