/** The address that other sidecars get leads to this sidecar, and to no other one. */
import type { AnsweredAt } from '../../../grpc/peer/own-address.js';
import type { Clock } from '../../../local/clock.js';
import type { Logger } from '../../../observability/logger.js';
import { EXIT } from '../../exit-codes.js';
import { CommandFailure } from '../../failure.js';

/** ms */
const AGAIN = 1_000;
/** A load balancer that waits for readiness may take this long, ms. */
const PATIENCE = 60_000;

interface OwnAddressOptions {
  readonly address: string;
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly log: Pick<Logger, 'warn'>;
  /** Of this sidecar; another one after each session that was over. */
  incarnation(): string;
  ask(incarnation: string): Promise<AnsweredAt>;
}

/** A load balancer may take the connection and lead it nowhere until this sidecar is ready: only an answer proves something. */
export class OwnAddress {
  #isProved = false;

  constructor(private readonly options: OwnAddressOptions) {}

  /** Before this sidecar joins. @throws CommandFailure when another sidecar answers */
  async begin(): Promise<void> {
    await this.#ask();
  }

  /** Precondition: this sidecar is ready. @throws CommandFailure when another sidecar answers */
  async prove(isEnded: () => boolean): Promise<void> {
    const { clock, log, address } = this.options;
    const begun = clock.now();
    while (!this.#isProved && !isEnded()) {
      const why = await this.#ask();
      if (why === undefined || isEnded()) return;
      if (clock.now() - begun >= PATIENCE)
        return log.warn({ peer: address, reason: why }, 'the advertised address was not proved');
      await new Promise<void>((resolve) => void clock.after(AGAIN, resolve));
    }
  }

  /** @returns why it is not known; `undefined`: the address is right */
  async #ask(): Promise<string | undefined> {
    const { incarnation, ask, address } = this.options;
    const own = incarnation();
    const answer = await ask(own);
    if (answer.is === 'own') {
      this.#isProved = true;
      return undefined;
    }
    if (answer.is === 'unknown') return answer.why;
    // This sidecar itself may have joined again meanwhile.
    if (incarnation() !== own) return answer.why;
    throw new CommandFailure(
      `cluster.advertise: other sidecars would look for this one at ${address}, where another sidecar answers (${answer.why}). ` +
        'Say the address of this machine: --cluster-advertise, KEYTURN_CLUSTER_ADVERTISE or cluster.advertise in the file.',
      EXIT.failure,
    );
  }
}
