import type { LossCause, Turn } from '../coordinator.js';
import type { KeyturnClient } from '../grpc/client.js';
import { type Clock, systemClock } from '../local/clock.js';

/** Why a turn is not held any more. `unreachable`: no renewal came through before the lease ended. */
export type TurnLoss = LossCause | 'unreachable';

/**
 * Renews one turn, every third of its lease, until it is stopped or the turn is lost.
 *
 * A renewal that fails is tried again until the lease must have ended. That is reckoned from the moment the last good
 * renewal was *sent*, by the local monotonic clock: so the keeper gives a turn up rather too early than too late.
 */
export class TurnKeeper {
  readonly #client: Pick<KeyturnClient, 'renew'>;
  readonly #turn: Turn;
  readonly #clock: Clock;
  readonly #lost = new AbortController();
  #leaseEnd: number;
  #callOff: () => void;

  constructor(client: Pick<KeyturnClient, 'renew'>, turn: Turn, clock: Clock = systemClock) {
    this.#client = client;
    this.#turn = turn;
    this.#clock = clock;
    this.#leaseEnd = clock.now() + turn.lease;
    this.#callOff = clock.after(turn.lease / 3, () => void this.#renew());
  }

  /** Aborted when the turn is lost; the reason is a {@link TurnLoss}. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Why it was lost; unset: it was not. */
  get loss(): TurnLoss | undefined {
    // The only caller of abort() is #lose, which takes a TurnLoss.
    return this.#lost.signal.aborted ? (this.#lost.signal.reason as TurnLoss) : undefined;
  }

  /** No renewal is sent from now on. */
  stop(): void {
    this.#callOff();
    this.#callOff = STOPPED;
  }

  async #renew(): Promise<void> {
    const sent = this.#clock.now();
    const { queue, key, token } = this.#turn;
    try {
      const timeout = Math.max(1, this.#leaseEnd - sent);
      const { results } = await this.#client.renew({ turns: [{ queue, key, token }] }, { timeout });
      const result = results[0];
      if (result?.alive === false) return this.#lose(result.cause);
      this.#leaseEnd = sent + this.#turn.lease;
      this.#again(this.#turn.lease / 3);
    } catch {
      // Whatever went wrong, the turn is ours until its lease ends, and then it is not.
      const left = this.#leaseEnd - this.#clock.now();
      if (left <= 0) this.#lose('unreachable');
      else this.#again(Math.min(this.#turn.lease / 10, left));
    }
  }

  #again(ms: number): void {
    if (this.#callOff !== STOPPED) this.#callOff = this.#clock.after(ms, () => void this.#renew());
  }

  #lose(loss: TurnLoss): void {
    if (this.#callOff === STOPPED) return;
    this.stop();
    this.#lost.abort(loss);
  }
}

const STOPPED = (): void => {};
