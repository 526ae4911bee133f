/** The calls of operators in a cluster: a key is asked of its home, a spread queue of the homes of all its parts. */
import type {
  AdminAnswer,
  Administration,
  AdminKind,
  AdminRequest,
  Refusal,
  Result,
  Watch,
  Watcher,
} from '../../coordinator.js';
import { ADMIN_CALLS, placesFor } from '../../coordinator.js';
import { DRAINING } from '../../core/contract/refusals.js';
import { ACROSS_PARTS } from './across-parts.js';
import { AskedParts } from './asked-parts.js';
import { MergedWatch } from './merged-watch.js';
import type { Router } from './router.js';

export class RoutedAdministration implements Administration {
  readonly #watches = new Set<MergedWatch>();

  constructor(private readonly router: Router) {}

  ask<K extends AdminKind>(kind: K, request: AdminRequest<K>, by?: string): Promise<Result<AdminAnswer<K>>> {
    const parts = new AskedParts(this.router, kind, request, by);
    const only = this.#only(kind, request);
    return only === undefined ? ACROSS_PARTS[kind](parts) : parts.ask(only);
  }

  watch(queue: string | undefined, key: string | undefined, watcher: Watcher, by?: string): Result<Watch> {
    const { router } = this;
    if (router.isClosed) return { ok: false, refusal: DRAINING };
    const { watchers } = router.settings.limits;
    const places = placesFor(watcher, watchers);
    if (this.#watches.size >= places) return { ok: false, refusal: tooMany(places) };
    const onEnd = (ended: MergedWatch) => this.#watches.delete(ended);
    const watch = new MergedWatch(router, { queue, key, principal: by }, this.#watched(queue, key), watcher, onEnd);
    const refusal = watch.begin();
    if (refusal !== undefined) return { ok: false, refusal };
    this.#watches.add(watch);
    return { ok: true, value: watch };
  }

  changed(partitions: readonly number[]): void {
    for (const watch of [...this.#watches]) watch.changed(partitions);
  }

  /** Queues may be elsewhere by now. */
  rerouted(): void {
    for (const watch of [...this.#watches]) watch.reroute(this.#watched(watch.wanted.queue, watch.wanted.key));
  }

  /** Whoever watches is told that nothing follows. */
  end(): void {
    for (const watch of [...this.#watches]) watch.end();
  }

  #watched(queue: string | undefined, key: string | undefined): readonly number[] {
    const { map } = this.router;
    if (queue === undefined) return Array.from({ length: map.partitions }, (_, partition) => partition);
    return key === undefined || key === '' ? map.all(queue) : [map.of(queue, key)];
  }

  /** The partition that alone knows the answer; `undefined` if several partitions have a part of it. */
  #only<K extends AdminKind>(kind: K, request: AdminRequest<K>): number | undefined {
    const { map } = this.router;
    const place = ADMIN_CALLS[kind].place(request);
    if (place === undefined) return undefined;
    const { queue, key } = place;
    if (key !== undefined) return map.of(queue, key);
    return map.isSpread(queue) ? undefined : map.of(queue, '');
  }
}

function tooMany(watchers: number): Refusal {
  const description = `no more than ${watchers} watch at once (limits.watchers)`;
  return { kind: 'limit', subject: 'watchers', limit: watchers, description, retryAfter: 1_000 };
}
