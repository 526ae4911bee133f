/** Files that are read again when they change. */
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Log } from '../../grpc/call/handler.js';

export interface WatchTimes {
  /** ms without a further change until the files are read: a certificate and its key are written one after the other. */
  readonly quiet: number;
  /** ms between two looks that nothing has asked for: some file systems tell of no change, others not of every one. */
  readonly poll: number;
}

export const WATCH_TIMES: WatchTimes = { quiet: 250, poll: 10_000 };

/**
 * Looks at the folders, not at the files: what is renamed into place, and a link that is set to another target (as
 * Kubernetes does with its volumes), is another file under the same name. Keeps no process alive.
 */
export class WatchedFiles {
  readonly #watchers: FSWatcher[] = [];
  readonly #poll: NodeJS.Timeout;
  #quiet: NodeJS.Timeout | undefined;
  #reading = false;
  #again = false;

  /** @param what they are, for the log. @param again reads them */
  constructor(
    paths: readonly string[],
    private readonly what: string,
    private readonly again: () => Promise<void>,
    private readonly log: Log,
    private readonly times: WatchTimes,
  ) {
    for (const folder of new Set(paths.map((path) => dirname(path)))) this.#watchFolder(folder);
    this.#poll = setInterval(() => void this.read(), times.poll).unref();
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
    clearTimeout(this.#quiet);
    clearInterval(this.#poll);
  }

  /** One reading at a time; a change during it asks for another one. */
  async read(): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.again();
      }
    } catch (error) {
      this.log.error({ reason: String(error) }, `the ${this.what} were not replaced`);
    } finally {
      this.#reading = false;
    }
  }

  #watchFolder(folder: string): void {
    const unwatched = (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.log.warn({ folder, reason }, `changes of ${this.what} are found only by looking every few seconds`);
    };
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#soon());
      watcher.on('error', (error) => {
        watcher.close();
        unwatched(error);
      });
      this.#watchers.push(watcher);
    } catch (error) {
      unwatched(error);
    }
  }

  #soon(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => void this.read(), this.times.quiet).unref();
  }
}
