/** What a running sidecar tells of itself. */
import type { Config } from '../../config/config.js';
import type { Coordinator, Desk, Result, ServerView } from '../../coordinator.js';

interface Around {
  readonly version: string;
  readonly coordinator: Coordinator;
  /** Known when it listens. */
  readonly addresses: () => ServerView['addresses'];
}

export class SidecarDesk implements Desk {
  readonly #startedAt = Date.now();
  #settings: Promise<string> | undefined;

  constructor(
    private readonly config: Config,
    private readonly around: Around,
  ) {}

  async view(): Promise<Result<ServerView>> {
    const {
      access,
      cluster,
      server,
      tls,
      coordinator: { limits },
    } = this.config;
    const { version, coordinator, addresses } = this.around;
    const { payloadBytes, payloadLimit, memoryBytes, memoryLimit, sessions, waitingCalls } =
      await coordinator.statsInSlices(() => {});
    const value: ServerView = {
      version,
      runtime: `Node ${process.version}`,
      startedAt: this.#startedAt,
      now: Date.now(),
      auth: access !== undefined,
      tls: tls.cert !== undefined,
      audit: server.audit !== 'off',
      cluster: cluster?.name,
      keeps: server.store !== undefined ? 'store' : server.dataDir !== undefined ? 'directory' : 'memory',
      addresses: addresses(),
      settings: await this.#differing(),
      limits: [
        { limit: 'payload_bytes', used: payloadBytes, most: payloadLimit },
        { limit: 'memory_bytes', used: memoryBytes, most: Number.isFinite(memoryLimit) ? memoryLimit : undefined },
        { limit: 'sessions', used: sessions, most: limits.sessions },
        { limit: 'waiting_calls', used: waitingCalls, most: undefined },
      ],
    };
    return { ok: true, value };
  }

  /** Settings do not change while it runs. Loaded when somebody asks. */
  #differing(): Promise<string> {
    this.#settings ??= import('../../config/differing.js')
      .then(({ differingSettings }) => differingSettings(this.config))
      .catch((error: unknown) => {
        // The next one tries again: too many files may have been open.
        this.#settings = undefined;
        throw error;
      });
    return this.#settings;
  }
}
