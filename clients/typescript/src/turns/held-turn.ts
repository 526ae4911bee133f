import type { HeldTurn } from '../words/calls.js';
import { type TurnLoss, TurnLostError } from '../words/errors.js';
import type { Turn } from '../words/worker-words.js';

const BECAUSE: Readonly<Record<TurnLoss, string>> = {
  lease_expired: 'its lease or max_hold ended',
  evicted: 'its holder was evicted',
  taken_over: 'a waiting caller took it over',
  settled: 'somebody else settled it',
  unknown: 'the sidecar knows nothing of it',
  unreachable: 'nothing was heard from the sidecar for so long that it may have ended',
  replaced: 'another client has the session',
  closed: 'the client was closed',
};

export function turnLost({ queue, key }: Pick<Turn, 'queue' | 'key'>, cause: TurnLoss): TurnLostError {
  return new TurnLostError(
    `the turn of key ${JSON.stringify(key)} of queue ${queue} is lost: ${BECAUSE[cause]}`,
    cause,
  );
}

/** One turn that is held. Its controller is made when its signal is read: most never are, and a controller is not cheap. */
export class Held implements HeldTurn {
  #controller: AbortController | undefined;
  #loss: TurnLostError | undefined;

  constructor(
    readonly turn: Turn,
    private readonly onRelease: (held: Held) => void,
  ) {}

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#loss !== undefined) this.#controller.abort(this.#loss);
    }
    return this.#controller.signal;
  }

  get lost(): boolean {
    return this.#loss !== undefined;
  }

  /** Only the first cause counts. */
  lose(cause: TurnLoss): void {
    if (this.#loss !== undefined) return;
    this.#loss = turnLost(this.turn, cause);
    this.#controller?.abort(this.#loss);
  }

  release(): void {
    this.onRelease(this);
  }
}
