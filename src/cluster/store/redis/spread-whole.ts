import { randomUUID } from 'node:crypto';
import type { RedisPlaces } from '../../redis/places/places.js';
import type { ClusterRecord, ClusterSight, Guard } from '../cluster-store.js';
import { storeError } from '../partition/failures.js';
import { recordOf } from '../stored-record.js';
import { ownKey } from './keys.js';
import { ordersOf } from './record-keys.js';
import type { RecordBetween, RedisRecords } from './records.js';
import { WAIT_FOR_REPLICAS } from './redis-engine.js';
import { EMPTY, RESTORE_RECORD, SWAP_RECORD, WITHDRAW_RECORD } from './scripts.js';
import { guardIn, guardRequests, theirPartitions, type Whole, type WholeSettings } from './whole.js';

/** How often members of another cluster may claim while their guards are removed. */
const MOST_ROUNDS = 8;

/**
 * Over the masters of a Redis Cluster, where no step touches two partitions, or a partition and the record. A partition whose master
 * is not reached is shown as it was seen last, and named.
 */
export class SpreadWhole implements Whole {
  readonly #seen = new Map<number, Guard>();

  constructor(
    private readonly places: RedisPlaces,
    private readonly records: RedisRecords,
    private readonly settings: WholeSettings,
  ) {}

  async guards(partitions: number): Promise<readonly Guard[]> {
    const read = await this.#read(partitions);
    return read.map((one) => {
      if (one instanceof Error) throw one;
      return one;
    });
  }

  async look(partitions: number): Promise<ClusterSight> {
    const read = await this.#read(partitions);
    const unseen = new Set<number>();
    const guards = read.map((one, partition) => {
      if (!(one instanceof Error)) return one;
      unseen.add(partition);
      const last = this.#seen.get(partition);
      // It cannot be told from one that was never claimed.
      if (last === undefined) throw one;
      return last;
    });
    // Only now: the record is read behind the guards.
    const { keys } = this.records;
    const [text, orders] = await this.places.readEach([
      { key: keys.record, args: ['GET', keys.record] },
      { key: keys.orders, args: ['HGETALL', keys.orders] },
    ]);
    const record = this.records.read(answerOf(text));
    return { guards, record, orders: ordersOf(answerOf(orders)), unseen };
  }

  async restoreRecord(record: ClusterRecord, seen: string, waiting: readonly number[]): Promise<boolean> {
    const { keys } = this.records;
    const stands = recordOf(await this.records.place.use((link) => link.ask(['GET', keys.record])));
    if ((stands?.id ?? '') !== seen) return false;
    // From here on the members of that cluster follow no record that stands, and claim nothing; nor does one that starts.
    const between = stands === undefined ? '' : randomUUID();
    if (stands !== undefined && !(await this.#swap(seen, { ...stands, id: between, isBetween: true }))) return false;
    await this.#empty(between, theirPartitions(stands, seen));
    const args = [between, JSON.stringify(record), keys.orders, '', 0, ...waiting].map(String);
    return this.#change(RESTORE_RECORD, args);
  }

  async withdrawRecord(record: ClusterRecord): Promise<boolean> {
    const { id, partitions } = record;
    if (await this.#isClaimed(partitions)) return false;
    if (!(await this.#change(WITHDRAW_RECORD, [id, this.records.keys.orders, '', '0']))) return false;
    if (!(await this.#isClaimed(partitions))) return true;
    // Somebody claimed in between: it has begun.
    await this.records.record(record);
    return false;
  }

  #swap(seen: string, record: RecordBetween): Promise<boolean> {
    return this.#change(SWAP_RECORD, [seen, JSON.stringify(record)]);
  }

  /**
   * Removes the guards and rows of another cluster, whose record is the one in between: each as it was seen under that record, so not
   * what another one who restores has written back since.
   */
  async #empty(between: string, partitions: number): Promise<void> {
    for (let left = MOST_ROUNDS; ; left -= 1) {
      const found = (await this.guards(partitions)).filter(({ epoch }) => epoch > 0);
      const stands = await this.records.place.use((link) => link.ask(['GET', this.records.keys.record]));
      if (found.length === 0 || recordOf(stands)?.id !== between) return;
      if (left === 0)
        throw storeError('io', `members of another cluster in ${this.places.name} claim partitions again and again`);
      await Promise.all(found.map((guard) => this.#emptyOne(guard)));
    }
  }

  async #emptyOne({ partition, owner, epoch }: Guard): Promise<void> {
    const key = ownKey(this.settings.cluster, partition);
    const { replicas } = this.settings;
    const [, has] = await this.places
      .at(key)
      .use((link) => EMPTY.run(link, key, [owner, String(epoch)], { count: replicas, ms: WAIT_FOR_REPLICAS }));
    if (has < replicas)
      throw storeError(
        'io',
        `${has} of ${replicas} replicas of ${this.places.name} have partition ${partition} emptied`,
      );
  }

  async #isClaimed(partitions: number): Promise<boolean> {
    return (await this.guards(partitions)).some(({ epoch }) => epoch > 0);
  }

  #change(script: typeof RESTORE_RECORD, args: readonly string[]): Promise<boolean> {
    return this.records.place.use(async (link) => {
      const [answer] = await script.run(link, this.records.keys.record, args);
      await this.records.replicasOn(link);
      return answer === 1;
    });
  }

  async #read(partitions: number): Promise<readonly (Guard | Error)[]> {
    const results = await this.places.readEach(guardRequests(this.settings.cluster, partitions));
    return results.map((result, partition) => {
      if (result.status === 'rejected') return asError(result.reason);
      const guard = guardIn(partition, result.value);
      this.#seen.set(partition, guard);
      return guard;
    });
  }
}

/** @throws what it failed with */
function answerOf(result: PromiseSettledResult<unknown> | undefined): unknown {
  if (result === undefined) throw new TypeError('fewer answers than requests');
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
