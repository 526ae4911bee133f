/** One call of an operator, asked of several partitions. */
import type { AdminAnswer, AdminKind, AdminRequest, Result } from '../../coordinator.js';
import { ADMIN_CALLS, isChange } from '../../coordinator.js';
import { type Asked, askHome, CHANGE_WITHIN, READ_WITHIN } from './asking.js';
import type { Router } from './router.js';

export class AskedParts<K extends AdminKind> {
  readonly #within: number;

  constructor(
    readonly router: Router,
    private readonly kind: K,
    readonly request: AdminRequest<K>,
    private readonly by: string | undefined,
  ) {
    this.#within = isChange(kind, request) ? CHANGE_WITHIN : READ_WITHIN;
  }

  /** All partitions that have a part of the answer. */
  get partitions(): readonly number[] {
    const { homes, map } = this.router;
    const place = ADMIN_CALLS[this.kind].place(this.request);
    if (place !== undefined) return map.all(place.queue);
    return Array.from({ length: homes.partitions }, (_, partition) => partition);
  }

  ask(partition: number, request = this.request): Promise<Result<AdminAnswer<K>>> {
    const { router, kind, by } = this;
    return askHome(router, partition, this.#within, (admin) => admin.ask(kind, request, by));
  }

  /** All at once. @param own the request for one partition */
  askAll(own: (partition: number) => AdminRequest<K> = () => this.request): Promise<readonly Asked<AdminAnswer<K>>[]> {
    return Promise.all(
      this.partitions.map(async (partition) => ({ partition, result: await this.ask(partition, own(partition)) })),
    );
  }
}
