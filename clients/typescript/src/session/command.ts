/** A call on its way: what is sent, its caller, and what its answer means for the turns of the session. */

import type * as wire from '../gen/keyturn/v1/coordinator.js';
import { commandError } from '../wire/status.js';
import { KeyturnError } from '../words/errors.js';
import type { Token, Turn } from '../words/worker-words.js';

type WireCall = NonNullable<wire.Command['call']>;
export type Outcome = NonNullable<wire.Reply['outcome']>;

/** A turn by what finds it. */
export interface Settled {
  readonly queue: string;
  readonly token: Token;
}

/** What a session does with what an answer tells of turns. */
export interface Books {
  /** The turn was given. `tied`: asked for without a lease of its own. */
  given(turn: Turn, tied: boolean, ticket: string | undefined): void;
  /** No caller will learn that this turn was given. `ticket`: with this the same turn may still be asked for. */
  undelivered(turn: Turn, ticket: string | undefined): void;
  settled(queue: string, key: string, token: Token | undefined, ticket: string | undefined): void;
  lost(turn: Settled, error: KeyturnError): void;
}

const NEVER = Number.NEGATIVE_INFINITY;
/** One for all: a function for each call that never runs would be garbage. */
const NOBODY = (): void => {};

/** It is what travels, too: one object from the call to its answer. */
export abstract class Command implements wire.Command {
  id = 0;
  /** In the order of all commands of the client. */
  place = 0;
  /** When it was written to the stream that there is, by the clock. */
  sentAt = NEVER;

  /** @param bytes about how large it is on the wire, rather too many than too few */
  constructor(
    readonly call: WireCall,
    readonly bytes: number,
  ) {}

  get isSent(): boolean {
    return this.sentAt !== NEVER;
  }

  abstract answered(outcome: Outcome | undefined, books: Books): void;
}

/** What the session asks for itself. Of a stream that breaks it is dropped: the next one begins anew. */
export class OwnCommand extends Command {
  constructor(
    call: WireCall,
    private readonly onAnswer: (outcome: Outcome | undefined) => void = NOBODY,
  ) {
    super(call, 64);
  }

  answered(outcome: Outcome | undefined): void {
    this.onAnswer(outcome);
  }
}

/** A call of the application. */
export abstract class WorkerCommand extends Command {
  /** By the clock; set when it is asked. */
  deadline = Number.POSITIVE_INFINITY;
  /** Its deadline does not depend on whether there is a sidecar. */
  waitIsKnown = true;
  /** Ends the following of the signal that may end it. */
  unfollow: (() => void) | undefined = undefined;
  /** Its caller waits for it no more; the sidecar may still answer. */
  abandoned = false;
  /** When it is abandoned the place of its ticket is given up too. */
  leave = false;
  /** It was on a stream that is gone: whether the sidecar got it is not known. */
  wasSent = false;

  /** How long it may wait before it is answered, ms. Unset: the sidecar knows. */
  abstract readonly wait: number | undefined;
  /** It ends or keeps what the application has. Room for it is found when there is none for new work. */
  abstract readonly keepsOrEnds: boolean;

  /** Its caller waits no more, for this reason. */
  abstract abandon(error: KeyturnError): void;

  /** Which places it may still claim with its ticket; unset: it has no ticket. */
  claim(): Claim | undefined {
    return undefined;
  }

  /** The turn that it settles, by its token. */
  settles(): Settled | undefined {
    return undefined;
  }

  /** Copies its bytes: the caller may change them from now on, and the command may still be sent. */
  detach(): void {}

  /** The stream is gone, and it is to be sent again. */
  unsent(): void {
    if (this.isSent) this.wasSent = true;
    this.sentAt = NEVER;
  }
}

/** With the promise of its answer. */
export abstract class CallCommand<A> extends WorkerCommand {
  readonly answer: Promise<A>;
  #resolve: (answer: A) => void = NOBODY;
  #reject: (error: unknown) => void = NOBODY;

  constructor(call: WireCall, bytes: number) {
    super(call, bytes);
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** @throws when the outcome is not that of this call, or says what this client has no word for */
  protected abstract read(outcome: Outcome): A;
  /** What the answer means for the turns of the session. */
  protected abstract book(answer: A, books: Books): void;

  answered(outcome: Outcome | undefined, books: Books): void {
    try {
      if (outcome === undefined) throw new KeyturnError('the sidecar answered with nothing', 'INTERNAL');
      if (outcome.$case === 'error') return this.#refused(commandError(outcome.value), books);
      const answer = this.read(outcome);
      this.book(answer, books);
      this.#resolve(answer);
    } catch (error) {
      this.#reject(error);
    }
  }

  abandon(error: KeyturnError): void {
    this.abandoned = true;
    this.#reject(error);
  }

  #refused(error: KeyturnError, books: Books): void {
    const settles = this.settles();
    if (settles !== undefined && error.reason === 'TURN_LOST') books.lost(settles, error);
    this.#reject(error);
  }
}

/** A ticket that may still lead to turns: of one key, or (unset) of any key of these queues. */
export interface Claim {
  readonly queues: readonly string[];
  readonly key: string | undefined;
}

export function mismatch(outcome: Outcome): KeyturnError {
  return new KeyturnError(`the sidecar answered another call: ${outcome.$case}`, 'INTERNAL');
}
