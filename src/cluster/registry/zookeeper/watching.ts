import type { ZooKeeperConnection } from '../../zookeeper/connection.js';
import { getData } from '../../zookeeper/requests.js';
import { watchedBy } from './nodes.js';

interface Watched {
  /** A watch ends with the connection that it was set by. */
  readonly connection: ZooKeeperConnection;
  readonly path: string;
}

/**
 * The watch on one other member: the one that joined last before one's own. When its session ends, or it says something new, somebody
 * knows at once, and that is one, not all.
 */
export class Watching {
  #watched: Watched | undefined;

  constructor(
    private readonly folder: string,
    private readonly changed: () => void,
  ) {}

  /** @param names of all nodes that are there; `own` unset: this one is no member */
  look(connection: ZooKeeperConnection, own: string | undefined, names: readonly string[]): void {
    const other = own === undefined ? undefined : watchedBy(own, names);
    const path = `${this.folder}/${other}`;
    const isWatched = this.#watched?.connection === connection && this.#watched.path === path;
    if (other === undefined || isWatched) return;
    const watched: Watched = { connection, path };
    this.#watched = watched;
    // It is gone since it was listed, or the connection is: somebody looks again, and sets the next one.
    connection.ask(getData(path, true)).catch(() => this.#fired(watched));
  }

  /** Who is no member any more need not know. */
  end(): void {
    this.#watched = undefined;
  }

  /** Of a node that was to be watched. */
  noticed(path: string): void {
    if (this.#watched?.path === path) this.#fired(this.#watched);
  }

  #fired(watched: Watched): void {
    if (this.#watched !== watched) return;
    this.#watched = undefined;
    this.changed();
  }
}
