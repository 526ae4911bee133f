import type { Clock } from '../time/clock.js';

/** How long an answer counts, ms. */
const FRESH_MS = 1_000;
/** A port may speak TLS for others while the sidecar behind it starts: ms between two answers that make sure. */
const SURE_AFTER_MS = 4_000;

/** `perhaps`: the port speaks TLS; whether it speaks nothing else, a later probe shows. */
type TlsAnswer = 'no' | 'perhaps' | 'surely';

/** Whether a port that closes plain connections speaks TLS. One probe at a time, however many calls ask. */
export class TlsProbe {
  #answer: Promise<TlsAnswer> | undefined;
  /** Infinity while the probe runs. */
  #staleAt = 0;
  #since: number | undefined;

  /** @param speaksTls never rejects */
  constructor(
    private readonly clock: Clock,
    private readonly speaksTls: () => Promise<boolean>,
  ) {}

  ask(): Promise<TlsAnswer> {
    if (this.#answer === undefined || this.clock.now() >= this.#staleAt) {
      this.#staleAt = Number.POSITIVE_INFINITY;
      this.#answer = this.#probe();
    }
    return this.#answer;
  }

  async #probe(): Promise<TlsAnswer> {
    const begun = this.clock.now();
    const does = await this.speaksTls();
    const now = this.clock.now();
    this.#staleAt = now + FRESH_MS;
    this.#since = does ? (this.#since ?? now) : undefined;
    if (this.#since === undefined) return 'no';
    return begun - this.#since >= SURE_AFTER_MS ? 'surely' : 'perhaps';
  }
}
