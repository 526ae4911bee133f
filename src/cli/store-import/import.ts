/**
 * Claims every partition of a cluster that nobody is a member of, writes the rows beside what is there, and makes them count at
 * the end, one partition after the other. Until all of them do, a mark in the store keeps sidecars from starting.
 */
import { hostname } from 'node:os';
import type { ClusterStore, NewRows, PartitionStore } from '../../cluster/store/cluster-store.js';
import { formatOf } from '../../cluster/store/format.js';
import type { Row } from '../../core/contract/rows.js';
import { leastToken } from '../../core/structures/tokens.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import type { ImportedRows } from './imported-rows.js';
import type { Presence } from './presence.js';

/** What of one partition is gathered before it is sent. */
const GATHERED = { rows: 500, bytes: 262_144 } as const;
/** Tables of which a cluster that was only started has rows. */
const OF_A_START: readonly Row['table'][] = ['sessions'];
/** What people said of queues stays, and so do the tokens that were given. */
const STAYS: readonly Row['table'][] = ['pauses', 'limits', 'floor'];

interface Target {
  readonly store: PartitionStore;
  readonly fresh: NewRows;
  gathered: Row[];
  bytes: number;
}

export class Import {
  readonly #targets: Target[] = [];
  #written = 0;

  constructor(
    private readonly store: ClusterStore,
    private readonly presence: Pick<Presence, 'id' | 'refuseOthers' | 'confirm'>,
    private readonly cluster: string,
    private readonly partitions: number,
    private readonly floor: number,
    private readonly tell: (rows: number, isLast: boolean) => void,
  ) {}

  async run(file: string, rows: Pick<ImportedRows, 'read'>): Promise<void> {
    const { store } = this;
    const from = `${file} on ${hostname()}`;
    const before = await store.importUnderWay();
    let counts = before?.counts === true;
    if (!counts) await store.markImport({ from, counts: false });
    try {
      // Who started before the mark stood there is a member by now, or finds the guards taken.
      await this.presence.refuseOthers();
      await this.#claim(counts);
      for await (const slice of rows.read()) {
        for (const [row, where] of slice) for (const partition of where) await this.#add(partition, row);
        this.tell(this.#written, false);
      }
      for (const target of this.#targets) await this.#send(target);
      this.tell(this.#written, true);
      await this.presence.confirm();
      await store.markImport({ from, counts: true });
      // From here on nobody starts. Who did before the mark stood there would have what he accepted written over.
      await this.presence.confirm();
      counts = true;
      for (const { fresh } of this.#targets) await fresh.count(Date.now());
    } finally {
      for (const target of this.#targets) await target.store.release().catch(() => undefined);
      if (!counts) await store.markImport(undefined);
    }
    await store.markImport(undefined);
  }

  /** @param isRepeated rows that are there may be those of an import that was cut off */
  async #claim(isRepeated: boolean): Promise<void> {
    const member = this.presence.id;
    const floor = Math.max(this.floor, leastToken(Date.now()));
    // Rows of a single sidecar are in the first one still: a version that knows no other may be their home.
    const format = formatOf({});
    for (const { partition, owner } of await this.store.guards(this.partitions)) {
      const claimed = await this.store.claim({ partition, expected: owner, member, floor, format });
      if (!claimed.claimed)
        throw new CommandFailure(`partition ${partition} was claimed meanwhile; end all sidecars`, EXIT.failure);
      const store = this.store.open(claimed);
      const kept = await this.#kept(store, isRepeated);
      this.#targets.push({ store, fresh: await store.anew(), gathered: kept, bytes: 0 });
    }
  }

  /** @throws CommandFailure when there is more than the start of a sidecar leaves */
  async #kept(store: PartitionStore, isRepeated: boolean): Promise<Row[]> {
    const kept: Row[] = [];
    for await (const rows of store.read()) {
      for (const row of rows) {
        if (STAYS.includes(row.table)) kept.push(row);
        else if (!isRepeated && !OF_A_START.includes(row.table)) throw this.#notEmpty(row);
      }
    }
    return kept;
  }

  #notEmpty(row: Row): CommandFailure {
    const queue = 'queue' in row ? `, of the queue ${row.queue} among others` : '';
    const todo = 'import into a new one: another cluster.name, or another database';
    return new CommandFailure(
      `the cluster ${this.cluster} is not empty: it has ${row.table}${queue}; ${todo}`,
      EXIT.failure,
    );
  }

  async #add(partition: number, row: Row): Promise<void> {
    const target = this.#targets[partition];
    if (target === undefined) throw new TypeError(`partition ${partition} of ${this.partitions}`);
    target.gathered.push(row);
    if ('content' in row) target.bytes += row.contentBytes;
    if ('result' in row) target.bytes += row.result?.length ?? 0;
    if (target.gathered.length >= GATHERED.rows || target.bytes >= GATHERED.bytes) await this.#send(target);
  }

  async #send(target: Target): Promise<void> {
    const { gathered } = target;
    target.gathered = [];
    target.bytes = 0;
    if (gathered.length > 0) await target.fresh.put(gathered);
    this.#written += gathered.length;
  }
}
