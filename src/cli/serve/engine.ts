/** What decides about turns in this process, with all that it stands on. */
import type { Config } from '../../config/config.js';
import type { Cluster, ClusterNumbers, Coordinator } from '../../coordinator.js';
import { LocalCoordinator, type LocalOptions } from '../../local/coordinator.js';
import type { StoreState } from '../../local/durable/state.js';
import { failData, openDataDirectory } from './data-directory.js';

export interface Engine {
  readonly coordinator: Coordinator;
  /** There is nothing to wait for: calls can be let in before anything listens. */
  readonly isNew: boolean;
  /**
   * Resolves when all calls are let in, or when it was ended before; a second call changes nothing.
   * @throws CommandFailure: then it is only to be closed
   */
  begin(): Promise<void>;
  /** For metrics. Unset: it stands alone. */
  readonly numbers?: (() => ClusterNumbers) | undefined;
  /** For people who ask about it. Unset: it stands alone. */
  readonly cluster?: Cluster | undefined;
  /** Told where gRPC listens, with the real port. */
  readonly listens?: ((grpc: string) => void) | undefined;
  /** What people who ask whether it is ready should know besides. */
  readonly remark: string | undefined;
  /** Ends everything; resolves when nothing is held any more. */
  close(): Promise<void>;
}

/** One process that decides alone; what is durable is kept in its directory. @throws CommandFailure */
export async function openAlone(
  config: Config,
  onStore: (state: StoreState) => void,
  told: Pick<LocalOptions, 'onSlow' | 'onUnusedKey'>,
): Promise<Engine> {
  const journal = await openDataDirectory(config);
  const coordinator = new LocalCoordinator(config.coordinator, { onStore, ...told, ...(journal && { journal }) });
  return {
    coordinator,
    isNew: journal?.before.lastWrite === undefined,
    begin: () => coordinator.recover().catch(failData),
    remark: undefined,
    close: () => coordinator.close(),
  };
}
