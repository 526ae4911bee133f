/**
 * The last moments of a session. A call that was cancelled may have been answered already, and a handler may end in time, so
 * the stream stays until the outcome of every call is known: a turn that crossed the cancelling is given back, and does not
 * block its key for the `ttl`. Should the stream break meanwhile, the answer of the next hello names the turns that were given.
 */
import type { Clock } from '../time/clock.js';
import { type Command, WorkerCommand } from './command.js';
import type { SessionStream } from './network.js';
import type { OpenCommands } from './open-commands.js';
import type { TurnKeeping } from './turn-keeping.js';

/** How long outcomes are waited for, ms. */
const OUTCOMES_MS = 1_000;
/** How long the sidecar may take to end the stream of a client that was closed, ms. */
const FAREWELL_MS = 1_000;

export class Farewell {
  readonly over: Promise<void>;
  /** The stream broke, and the hello that names the turns of the session is not answered yet. */
  isReturning = false;
  #callOff: () => void;
  #stream: SessionStream | undefined;
  #resolve: () => void = () => undefined;

  /** @param late outcomes are waited for no more */
  constructor(
    private readonly clock: Clock,
    private readonly open: OpenCommands,
    private readonly turns: TurnKeeping,
    late: () => void,
  ) {
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#callOff = clock.after(OUTCOMES_MS, late);
  }

  /** Something is open whose outcome matters: it may bring a turn, or it ends one. */
  get awaitsOutcomes(): boolean {
    return this.isReturning || this.turns.isWorkLeft || this.open.some(matters);
  }

  /** The session may have turns that only a new stream would tell of, or take back. */
  get needsReturn(): boolean {
    return this.isReturning || this.turns.isWorkLeft || this.open.some(mayLeaveTurns);
  }

  /** Every outcome is known, or the time for it is over: asks the sidecar to end the stream, if there is one. */
  end(stream: SessionStream | undefined): void {
    this.#callOff();
    this.#stream = stream;
    if (stream === undefined) return this.gone();
    this.#callOff = this.clock.after(FAREWELL_MS, () => this.gone());
    stream.end();
  }

  /** There is no stream any more. */
  gone(): void {
    this.#callOff();
    this.#stream?.destroy();
    this.#resolve();
  }
}

function matters(command: Command): boolean {
  return command instanceof WorkerCommand || command.call.$case === 'nack';
}

/** It was sent, and its answer may have been a turn; or it gives one back. */
function mayLeaveTurns(command: Command): boolean {
  const { call } = command;
  if (!(command instanceof WorkerCommand)) return call.$case === 'nack';
  if (!command.isSent && !command.wasSent) return false;
  return call.$case === 'enqueue' || call.$case === 'acquire' || command.keepsOrEnds;
}
