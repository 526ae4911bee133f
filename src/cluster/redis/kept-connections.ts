import { type EngineHost, hostName } from '../address/engine-address.js';
import type { RedisConnection } from './connection.js';

/** A connection with each of several servers: opened when it is asked for, kept until it ends. */
export class KeptConnections {
  readonly #connections = new Map<string, Promise<RedisConnection>>();
  #isClosed = false;

  /** @param open another one. @throws JournalError */
  constructor(private readonly open: (host: EngineHost, deadline: number) => Promise<RedisConnection>) {}

  /** @throws JournalError */
  to(host: EngineHost, deadline: number): Promise<RedisConnection> {
    const name = hostName(host);
    const there = this.#connections.get(name);
    if (there !== undefined) return there;
    const opened = this.open(host, deadline);
    this.#connections.set(name, opened);
    opened.then(
      (connection) => {
        connection.onEnd = () => this.#forget(name, opened);
        if (this.#isClosed || !connection.isOpen) this.#leave(name, opened);
      },
      () => this.#forget(name, opened),
    );
    return opened;
  }

  leave(host: EngineHost): void {
    const name = hostName(host);
    this.#leave(name, this.#connections.get(name));
  }

  /** Those with others end. */
  keepOnly(hosts: readonly EngineHost[]): void {
    const kept = new Set(hosts.map(hostName));
    for (const [name, opened] of [...this.#connections]) if (!kept.has(name)) this.#leave(name, opened);
  }

  close(): void {
    this.#isClosed = true;
    this.keepOnly([]);
  }

  /** Not one that was opened in its place. */
  #forget(name: string, opened: Promise<RedisConnection>): void {
    if (this.#connections.get(name) === opened) this.#connections.delete(name);
  }

  #leave(name: string, opened: Promise<RedisConnection> | undefined): void {
    if (opened === undefined) return;
    this.#forget(name, opened);
    opened.then(
      (one) => one.destroy(),
      () => undefined,
    );
  }
}
