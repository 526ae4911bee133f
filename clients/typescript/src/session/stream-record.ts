/** What became of the streams of a session so far: why the last one broke, and when the next one is tried. */
import { BackOff } from '../retry/back-off.js';
import { type KeyturnError, TlsError } from '../words/errors.js';
import { isForGood } from './refusals.js';
import type { SessionSettings, StreamWatch, Surroundings } from './settings.js';

export class StreamRecord {
  readonly #backOff: BackOff;
  readonly #watch: StreamWatch | undefined;
  /** A hello was answered once. */
  #hasStood = false;
  /** And that stream broke, and no other one stands. */
  #hasBroken = false;
  #lastFailure: KeyturnError | undefined;

  constructor({ backOff }: SessionSettings, { random, watch }: Surroundings) {
    this.#backOff = new BackOff(random, backOff);
    this.#watch = watch;
  }

  /** Why there is no stream, if there is none. */
  get lastFailure(): KeyturnError | undefined {
    return this.#lastFailure;
  }

  /** A hello was answered. */
  stands(): void {
    if (this.#hasBroken) this.#watch?.back();
    this.#hasBroken = false;
    this.#hasStood = true;
    this.#lastFailure = undefined;
  }

  /** @param ms how long it stood; unset: its hello was not answered */
  broke(error: KeyturnError, ms: number | undefined): void {
    this.#lastFailure = error;
    if (ms === undefined) return;
    this.#backOff.stood(ms);
    this.#hasBroken = true;
    this.#watch?.broke(error);
  }

  /** ms until the next attempt. */
  nextPause(): number {
    return this.#backOff.next();
  }

  /**
   * Nothing that is asked now would come through. A client that never got through has wrong settings when TLS fails, and is
   * told at once. One that did may be seeing certificates that are being replaced: calls wait for their time-outs, and turns
   * for the end of the session.
   */
  isHopeless(error: KeyturnError): boolean {
    return isForGood(error) || (error instanceof TlsError && !this.#hasStood);
  }
}
