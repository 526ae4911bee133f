/** A cluster's place in a real engine, with a proxy before each member, and deadlines that pass when the test says so. */
import { randomUUID } from 'node:crypto';
import type { Cut } from '../support/cluster/fake-wire.js';
import { HeldClock } from '../support/cluster/held-clock.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import type { Cleanup } from '../support/redis.js';

export class ProxiedScene<T extends object> {
  readonly clock = new HeldClock();
  readonly cluster = `test-${randomUUID()}`;
  readonly #proxies = new Map<T, readonly LossyProxy[]>();

  /**
   * @param ports of the engine
   * @param urlAt how it is addressed at the ports of proxies
   */
  constructor(
    private readonly cleanup: Cleanup,
    private readonly ports: readonly number[],
    private readonly urlAt: (...ports: readonly number[]) => string,
  ) {}

  /** Opens something behind a proxy of its own. */
  async behindProxy(open: (url: string) => Promise<T>): Promise<T> {
    const proxies = await Promise.all(this.ports.map((port) => LossyProxy.start(this.cleanup, port)));
    this.prepare(proxies);
    const opened = await open(this.urlAt(...proxies.map(({ port }) => port)));
    this.#proxies.set(opened, proxies);
    return opened;
  }

  /** Before anything passes. */
  protected prepare(_proxies: readonly LossyProxy[]): void {}

  /** From now on this is lost, or nothing any more. */
  lose(opened: T, what: Cut): void {
    const proxies = this.#proxies.get(opened);
    if (proxies === undefined) throw new TypeError('it was not opened here');
    for (const proxy of proxies) proxy.cut = what;
    // A connection that was opened again in between waits for an answer that was lost.
    if (what === undefined) this.clock.expire();
  }

  async outwait<V>(promise: Promise<V>): Promise<V> {
    let seen = 0;
    // What was lost will not come any more.
    const pump = setInterval(() => {
      const lost = [...this.#proxies.values()].flat().reduce((sum, proxy) => sum + proxy.lost, 0);
      if (lost === seen) return;
      seen = lost;
      this.clock.expire();
    }, 2);
    return promise.finally(() => clearInterval(pump));
  }
}
