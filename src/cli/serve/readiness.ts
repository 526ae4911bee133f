/** Whether new work may be sent here, and if not why: for health, for /readyz, and in the log. */
import type { StoreState } from '../../local/durable/state.js';
import type { Logger } from '../../observability/logger.js';

export class Readiness {
  #isListening = false;
  #isDraining = false;
  /** Of a sidecar of a cluster. */
  #notJoined: string | undefined;
  #hasJoined = false;
  #store: Extract<StoreState, { readonly at: 'recovering' | 'failing' | 'ready' }> = { at: 'ready' };
  readonly #begun = performance.now();

  /** @param onChange told whether it is ready, whenever that may have changed */
  constructor(
    private readonly log: Logger,
    private readonly onChange: (isReady: boolean) => void,
  ) {}

  /** Unset: ready. */
  get notReady(): string | undefined {
    if (this.#isDraining) return 'draining';
    if (!this.#isListening) return 'starting';
    if (this.#notJoined !== undefined) return this.#notJoined;
    if (this.#store.at === 'recovering') return `recovering ${percent(this.#store)} %`;
    return this.#store.at === 'failing' ? this.#store.reason : undefined;
  }

  listening(): void {
    this.#isListening = true;
    this.#changed();
  }

  draining(): void {
    this.#isDraining = true;
    this.#changed();
  }

  /** @param why it is no member of its cluster that knows where calls go; unset: it is */
  clusterChanged(why: string | undefined): void {
    if (why === undefined) this.log.info('joined the cluster');
    else if (this.#hasJoined) this.log.warn({ reason: why }, 'not ready');
    else this.log.info({ reason: why }, 'joining the cluster');
    this.#hasJoined ||= why === undefined;
    this.#notJoined = why;
    this.#changed();
  }

  storeChanged(state: StoreState): void {
    this.#write(state);
    if (state.at === 'unreadable' || state.at === 'closed') return;
    this.#store = state;
    this.#changed();
  }

  #changed(): void {
    this.onChange(this.notReady === undefined);
  }

  #write(state: StoreState): void {
    switch (state.at) {
      case 'recovering':
        // The beginning and the end are told otherwise.
        if (state.rows > 0 && state.rows < state.of)
          this.log.info({ rows: state.rows, of: state.of, percent: percent(state) }, 'recovering');
        return;
      case 'ready':
        return this.#writeReady();
      case 'failing':
        this.log.error({ reason: state.reason }, 'the disk cannot be written; durable queues are refused until it can');
        return;
      case 'unreadable':
        this.log.error({ queue: state.queue, key: state.key, reason: state.reason }, 'items became dead letters');
        return;
      case 'closed':
        if (state.unwritten > 0)
          this.log.error({ changes: state.unwritten }, 'stopped without having written the last changes');
        if (state.problem !== undefined) this.log.warn({ reason: state.problem }, 'the data directory was not closed');
    }
  }

  #writeReady(): void {
    if (this.#store.at === 'failing') this.log.info('the disk can be written again');
    if (this.#store.at !== 'recovering') return;
    const seconds = Math.round(performance.now() - this.#begun) / 1_000;
    this.log.info({ rows: this.#store.rows, seconds }, 'recovered');
  }
}

function percent({ rows, of }: { readonly rows: number; readonly of: number }): number {
  return of === 0 ? 0 : Math.floor((100 * rows) / of);
}
