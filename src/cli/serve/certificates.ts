/** The certificates of a running sidecar: read at the start, and again when their files change. */
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import {
  examineTls,
  readTlsFiles,
  type TlsContents,
  type TlsMaterial,
  type TlsProblem,
} from '../../config/tls-files.js';
import { TLS_NAMES, type TlsSettings } from '../../config/tls-settings.js';
import type { Log } from '../../grpc/call/handler.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';

type Validity = Pick<TlsMaterial, 'begins' | 'ends'>;

export interface WatchTimes {
  /** ms without a further change until the files are read: a certificate and its key are written one after the other. */
  readonly quiet: number;
  /** ms between two looks that nothing has asked for: some file systems tell of no change, others not of every one. */
  readonly poll: number;
}

const TIMES: WatchTimes = { quiet: 250, poll: 10_000 };

/**
 * Looks at the folders, not at the files: what is renamed into place, and a link that is set to another target (as
 * Kubernetes does with its volumes), is another file under the same name.
 */
export class Certificates {
  readonly #watchers: FSWatcher[] = [];
  #quiet: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  #reading = false;
  #again = false;
  #refused: string | undefined;
  #valid: Validity;

  private constructor(
    readonly first: TlsMaterial,
    private readonly settings: TlsSettings,
    private readonly log: Log,
    private readonly times: WatchTimes,
    /** What was read last, good or bad. */
    private seen: TlsContents,
  ) {
    this.#valid = first;
  }

  /** Of the certificate that new connections get. */
  get valid(): Validity {
    return this.#valid;
  }

  /**
   * Unset: no TLS is wanted.
   *
   * @throws CommandFailure when the files are not, or no longer, what the settings were checked for
   */
  static async open(settings: TlsSettings, log: Log, times: WatchTimes = TIMES): Promise<Certificates | undefined> {
    if (settings.cert === undefined) return undefined;
    const contents = await readTlsFiles(settings);
    const examined = examineTls(settings, contents);
    if (!examined.ok)
      throw new CommandFailure(
        examined.problems.map(({ file, what }) => `tls ${file}: ${what}`).join('\n'),
        EXIT.usage,
      );
    warnIfEnded(examined.material, log);
    return new Certificates(examined.material, settings, log, times, contents);
  }

  /** Tells every good change from now on; resolves after a first look. Keeps no process alive. */
  watch(use: (material: TlsMaterial) => void): Promise<void> {
    const { cert, key, clientCa } = this.settings;
    const paths = [cert, key, clientCa].filter((path) => path !== undefined);
    for (const folder of new Set(paths.map((path) => dirname(path)))) this.#watchFolder(folder, use);
    this.#poll = setInterval(() => void this.#read(use), this.times.poll).unref();
    // Between the first reading and this they may have changed.
    return this.#read(use);
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
    clearTimeout(this.#quiet);
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  #watchFolder(folder: string, use: (material: TlsMaterial) => void): void {
    const unwatched = (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.log.warn({ folder, reason }, 'changes of certificates are found only by looking every few seconds');
    };
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#soon(use));
      watcher.on('error', (error) => {
        watcher.close();
        unwatched(error);
      });
      this.#watchers.push(watcher);
    } catch (error) {
      unwatched(error);
    }
  }

  #soon(use: (material: TlsMaterial) => void): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => void this.#read(use), this.times.quiet).unref();
  }

  /** One reading at a time; a change during it asks for another one. */
  async #read(use: (material: TlsMaterial) => void): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (this.#again) {
        this.#again = false;
        this.#take(await readTlsFiles(this.settings), use);
      }
    } catch (error) {
      this.log.error({ reason: String(error) }, 'the certificates were not replaced');
    } finally {
      this.#reading = false;
    }
  }

  #take(contents: TlsContents, use: (material: TlsMaterial) => void): void {
    const isClosed = this.#poll === undefined;
    if (isClosed || isSame(contents, this.seen)) return;
    this.seen = contents;
    const examined = examineTls(this.settings, contents);
    if (!examined.ok) {
      this.#refuse(describe(examined.problems));
      return;
    }
    this.#refused = undefined;
    use(examined.material);
    this.#valid = examined.material;
    this.log.info({ ends: examined.material.ends.toISOString() }, 'new connections get the new certificate');
    warnIfEnded(examined.material, this.log);
  }

  /** Told once, though files that are being written may be read more than once on the way. */
  #refuse(reason: string): void {
    if (reason === this.#refused) return;
    this.#refused = reason;
    this.log.error({ reason }, 'the certificates have changed and cannot be used; the last good ones are kept');
  }
}

/** Not refused: it may be the clock that is wrong, and clients are told what they need to know. */
function warnIfEnded({ ends }: TlsMaterial, log: Log): void {
  if (ends.getTime() <= Date.now())
    log.warn({ ends: ends.toISOString() }, 'the certificate has ended: no client that checks it will connect');
}

function isSame(one: TlsContents, other: TlsContents): boolean {
  return (['cert', 'key', 'clientCa'] as const).every((file) => {
    const [a, b] = [one[file], other[file]];
    if (Buffer.isBuffer(a) && Buffer.isBuffer(b)) return a.equals(b);
    return a instanceof Error && b instanceof Error ? a.message === b.message : a === b;
  });
}

function describe(problems: readonly TlsProblem[]): string {
  return problems.map(({ file, what }) => `${TLS_NAMES[file]}: ${what}`).join('\n');
}
