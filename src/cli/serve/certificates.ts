/** The certificates of a running sidecar: read at the start, and again when their files change. */
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
import { WATCH_TIMES, WatchedFiles, type WatchTimes } from './watched-files.js';

/** What is wrong with files that fit each other; unset: nothing. */
type Unfit = (material: TlsMaterial) => string | undefined;
type Validity = Pick<TlsMaterial, 'begins' | 'ends'>;

export class Certificates {
  #files: WatchedFiles | undefined;
  #refused: string | undefined;
  #valid: Validity;

  private constructor(
    readonly first: TlsMaterial,
    private readonly settings: TlsSettings,
    private readonly log: Log,
    private readonly times: WatchTimes,
    /** What was read last, good or bad. */
    private seen: TlsContents,
    private readonly unfit: Unfit,
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
   * @param unfit what else is wrong with files that have changed; those of the start were looked at with the settings
   * @throws CommandFailure when the files are not, or no longer, what the settings were checked for
   */
  static async open(
    settings: TlsSettings,
    log: Log,
    times: WatchTimes = WATCH_TIMES,
    unfit: Unfit = () => undefined,
  ): Promise<Certificates | undefined> {
    if (settings.cert === undefined) return undefined;
    const contents = await readTlsFiles(settings);
    const examined = examineTls(settings, contents);
    if (!examined.ok)
      throw new CommandFailure(
        examined.problems.map(({ file, what }) => `tls ${file}: ${what}`).join('\n'),
        EXIT.usage,
      );
    warnIfEnded(examined.material, log);
    return new Certificates(examined.material, settings, log, times, contents, unfit);
  }

  /** Tells every good change from now on; resolves after a first look. Keeps no process alive. */
  watch(use: (material: TlsMaterial) => void): Promise<void> {
    const { cert, key, clientCa } = this.settings;
    const paths = [cert, key, clientCa].filter((path) => path !== undefined);
    const read = async () => this.#take(await readTlsFiles(this.settings), use);
    this.#files = new WatchedFiles(paths, 'certificates', read, this.log, this.times);
    // Between the first reading and this they may have changed.
    return this.#files.read();
  }

  close(): void {
    this.#files?.close();
    this.#files = undefined;
  }

  #take(contents: TlsContents, use: (material: TlsMaterial) => void): void {
    const isClosed = this.#files === undefined;
    if (isClosed || isSame(contents, this.seen)) return;
    this.seen = contents;
    const examined = examineTls(this.settings, contents);
    if (!examined.ok) {
      this.#refuse(describe(examined.problems));
      return;
    }
    const unfit = this.unfit(examined.material);
    if (unfit !== undefined) {
      this.#refuse(unfit);
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
