/** Says that no turns are given yet, and until when: else the first worker waits and nothing says why. */
import type { Coordinator } from '../../coordinator.js';
import type { Logger } from '../../observability/logger.js';

export class StartupHold {
  #until: number | undefined;

  /** To be called when calls are let in. */
  async note({ admin }: Pick<Coordinator, 'admin'>, log: Logger): Promise<void> {
    const page = await admin.ask('listQueues', { nameContains: '', after: '', most: 0 });
    this.#until = page.ok ? page.value.holdUntil : undefined;
    if (this.#until === undefined) return;
    const until = new Date(this.#until).toISOString();
    log.info({ until }, 'startup_hold: no turns are given until then, so that leases of an earlier run can end');
  }

  /** Unset: it is over, or there is none. */
  get remark(): string | undefined {
    if (this.#until === undefined || this.#until <= Date.now()) return undefined;
    return `startup_hold gives no turns until ${new Date(this.#until).toISOString()}`;
  }
}
