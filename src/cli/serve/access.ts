/** Who may ask a running sidecar what: its files are read at the start, and again when they change. */
import { statSync } from 'node:fs';
import { Authenticator, type Secrets } from '../../access/authenticator.js';
import type { AccessSettings } from '../../access/settings.js';
import { readSecrets, rereadSecrets } from '../../config/access-files.js';
import { ConfigError } from '../../config/problem.js';
import type { Log } from '../../grpc/call/handler.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import { WATCH_TIMES, WatchedFiles, type WatchTimes } from './watched-files.js';

/** How late a stream may end whose token was given an end. */
const LOOK_EVERY_MS = 1_000;

export class AccessControl {
  #files: WatchedFiles | undefined;
  #ends: NodeJS.Timeout | undefined;
  #refused: ReadonlySet<string> = new Set();

  readonly authenticator: Authenticator;
  #secrets: Secrets;

  private constructor(
    secrets: Secrets,
    private readonly settings: AccessSettings,
    private readonly log: Log,
    private readonly times: WatchTimes,
  ) {
    this.#secrets = secrets;
    this.authenticator = new Authenticator(settings, secrets);
  }

  /**
   * Unset: whoever reaches the sidecar may ask everything.
   *
   * @throws CommandFailure when the files are not, or no longer, what the settings were checked for
   */
  static open(
    settings: AccessSettings | undefined,
    log: Log,
    times: WatchTimes = WATCH_TIMES,
  ): AccessControl | undefined {
    if (settings === undefined) return undefined;
    try {
      return new AccessControl(readSecrets(settings), settings, log, times);
    } catch (error) {
      throw error instanceof ConfigError ? new CommandFailure(error.message, EXIT.usage) : error;
    }
  }

  /** @param endRevoked ends the streams of those whose credentials do not hold any more */
  watch(endRevoked: () => void): void {
    const { tokens, jwt } = this.settings;
    const paths = [tokens, jwt?.keys].filter((path) => path !== undefined);
    if (paths.length === 0) return;
    this.#ends = setInterval(endRevoked, LOOK_EVERY_MS).unref();
    const again = async () => {
      this.#read();
      endRevoked();
    };
    this.#files = new WatchedFiles(paths, 'tokens', again, this.log, this.times);
    // Between the first reading and this they may have changed.
    void this.#files.read();
  }

  close(): void {
    this.#files?.close();
    clearInterval(this.#ends);
  }

  /** What cannot be used replaces nothing: a file that is being written must not lock everybody out. */
  #read(): void {
    const { secrets, wrong } = rereadSecrets(this.settings, this.#secrets);
    this.#secrets = secrets;
    this.authenticator.use(secrets);
    // Each write of a bad file is one line in the log: what the write was to take away still counts.
    const logged = this.#refused;
    this.#refused = new Set(wrong.map(({ path, reason }) => `${writtenAt(path)} ${reason}`));
    for (const { path, reason } of wrong)
      if (!logged.has(`${writtenAt(path)} ${reason}`))
        this.log.error({ reason }, 'the tokens have changed and cannot be used; the last good ones are kept');
  }
}

function writtenAt(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    // The logged reason says what is wrong with the file.
    return 0;
  }
}
