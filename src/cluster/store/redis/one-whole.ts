import type { RedisLink } from '../../redis/connection.js';
import type { ClusterRecord, ClusterSight, Guard } from '../cluster-store.js';
import { recordOf } from '../stored-record.js';
import { tagOf } from './keys.js';
import { ordersOf } from './record-keys.js';
import type { RedisRecords } from './records.js';
import { RESTORE_RECORD, WITHDRAW_RECORD } from './scripts.js';
import { guardIn, guardRequests, theirPartitions, type Whole, type WholeSettings } from './whole.js';

/** At one Redis: one script, or one pipeline, sees and changes all. */
export class OneWhole implements Whole {
  constructor(
    private readonly records: RedisRecords,
    private readonly settings: WholeSettings,
  ) {}

  guards(partitions: number): Promise<readonly Guard[]> {
    return this.records.place.use((link) => this.#guardsOn(link, partitions));
  }

  look(partitions: number): Promise<ClusterSight> {
    const { keys, place } = this.records;
    return place.use(async (link) => {
      // Of one connection: the record is read behind the guards.
      const [guards, text, orders] = await Promise.all([
        this.#guardsOn(link, partitions),
        link.ask(['GET', keys.record]),
        link.ask(['HGETALL', keys.orders]),
      ]);
      return { guards, record: this.records.read(text), orders: ordersOf(orders) };
    });
  }

  async restoreRecord(record: ClusterRecord, seen: string, waiting: readonly number[]): Promise<boolean> {
    const { keys, place } = this.records;
    return place.use(async (link) => {
      const theirs = theirPartitions(recordOf(await link.ask(['GET', keys.record])), seen);
      const args = [seen, JSON.stringify(record), keys.orders, this.#tags, theirs, ...waiting].map(String);
      const [answer] = await RESTORE_RECORD.run(link, keys.record, args);
      await this.records.replicasOn(link);
      return answer === 1;
    });
  }

  async withdrawRecord({ id, partitions }: ClusterRecord): Promise<boolean> {
    const { keys, place } = this.records;
    return place.use(async (link) => {
      const [answer] = await WITHDRAW_RECORD.run(link, keys.record, [id, keys.orders, this.#tags, String(partitions)]);
      await this.records.replicasOn(link);
      return answer === 1;
    });
  }

  /** What the keys of all partitions begin with. */
  get #tags(): string {
    return tagOf(this.settings.cluster, 0).slice(0, -'0}:'.length);
  }

  #guardsOn(link: RedisLink, partitions: number): Promise<readonly Guard[]> {
    const all = guardRequests(this.settings.cluster, partitions);
    return Promise.all(all.map(async ({ partition, args }) => guardIn(partition, await link.ask(args))));
  }
}
