/** A cluster's place in a real engine, with a proxy before each member, and deadlines that pass when the test says so. */
import { randomUUID } from 'node:crypto';
import type { Cut } from '../support/cluster/fake-wire.js';
import { HeldClock } from '../support/cluster/held-clock.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import type { Cleanup } from '../support/redis.js';

export class ProxiedScene<T extends object> {
  readonly clock = new HeldClock();
  readonly cluster = `test-${randomUUID()}`;
  readonly #proxies = new Map<T, LossyProxy>();

  /**
   * @param port of the engine
   * @param urlAt how it is addressed at a port of a proxy
   */
  constructor(
    private readonly cleanup: Cleanup,
    private readonly port: number,
    private readonly urlAt: (port: number) => string,
  ) {}

  /** Opens something behind a proxy of its own. */
  async behindProxy(open: (url: string) => Promise<T>): Promise<T> {
    const proxy = await LossyProxy.start(this.cleanup, this.port);
    const opened = await open(this.urlAt(proxy.port));
    this.#proxies.set(opened, proxy);
    return opened;
  }

  #proxyOf(opened: T): LossyProxy {
    const proxy = this.#proxies.get(opened);
    if (proxy === undefined) throw new TypeError('it was not opened here');
    return proxy;
  }

  /** From now on this is lost, or nothing any more. */
  lose(opened: T, what: Cut): void {
    this.#proxyOf(opened).cut = what;
    // A connection that was opened again in between waits for an answer that was lost.
    if (what === undefined) this.clock.expire();
  }

  async outwait<V>(promise: Promise<V>): Promise<V> {
    let seen = 0;
    // What was lost will not come any more.
    const pump = setInterval(() => {
      const lost = [...this.#proxies.values()].reduce((sum, proxy) => sum + proxy.lost, 0);
      if (lost === seen) return;
      seen = lost;
      this.clock.expire();
    }, 2);
    return promise.finally(() => clearInterval(pump));
  }
}
