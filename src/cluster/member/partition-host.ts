import type { Clock } from '../../local/clock.js';
import type { ClusterStore, PartitionAhead } from '../store/cluster-store.js';
import type { LocalDeadline } from './deadline.js';
import type { Happening } from './happenings.js';
import type { LoadOrder } from './load-order.js';
import type { RoutedHomeHost } from './routed-home.js';
import type { MakeHome } from './tenure.js';

/** What a member is to each of its partitions. */
export interface PartitionHost extends RoutedHomeHost {
  readonly clock: Clock;
  readonly deadline: LocalDeadline;
  readonly store: ClusterStore;
  readonly partitions: number;
  readonly makeHome: MakeHome;
  readonly loads: LoadOrder;
  /** What was read of the partition before it was claimed, once. */
  takeAhead(partition: number): PartitionAhead | undefined;
  /** Reads the record of the cluster, and follows it. @throws JournalError */
  catchUp(): Promise<void>;
  /** In which rows of a partition are written by who claims it now. */
  format(partition: number): number;
  /** Whether a person accepted that a partition begins empty. */
  beginsEmpty(partition: number): boolean;
  /** The incarnation that claims now. */
  readonly member: string;
  isOwn(member: string): boolean;
  /** Who is the home has changed, or why there is none. */
  changed(partition: number): void;
  /** The guard is free now, and all is written. `shutFor`: no call was let in for so long, ms. */
  handedOver(partition: number, shutFor: number): void;
  trouble(partition: number, error: Error): void;
  /** For metrics and the log. */
  happened(partition: number, what: Happening): void;
  /** A batch is in the store. */
  wrote(ms: number, rows: number): void;
}
