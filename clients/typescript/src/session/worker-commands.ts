/** The eight calls of a worker as commands. */

import type * as wire from '../gen/keyturn/v1/coordinator.js';
import { turnLost } from '../turns/held-turn.js';
import * as answers from '../wire/answers.js';
import * as requests from '../wire/requests.js';
import * as sizes from '../wire/sizes.js';
import { copied } from '../words/copied.js';
import type {
  AckAnswer,
  AckCall,
  AcquireAnswer,
  AcquireCall,
  AwaitAnswer,
  AwaitCall,
  DeQueueAnswer,
  DeQueueCall,
  EnQueueAnswer,
  EnQueueCall,
  NackAnswer,
  NackCall,
  RenewAnswer,
  RenewCall,
  SubmitAnswer,
  SubmitCall,
} from '../words/worker-words.js';
import {
  type Books,
  CallCommand,
  type Claim,
  mismatch,
  type Outcome,
  type Settled,
  type WorkerCommand,
} from './command.js';

export class EnQueueCommand extends CallCommand<EnQueueAnswer> {
  readonly keepsOrEnds = false;
  constructor(private readonly asked: EnQueueCall) {
    super({ $case: 'enqueue', value: requests.wireEnQueue(asked) }, sizes.enQueueBytes(asked));
  }

  get wait(): number | undefined {
    return this.asked.wait;
  }

  override claim(): Claim | undefined {
    const { queue, key, ticket } = this.asked;
    return ticket === undefined || ticket === '' ? undefined : { queues: [queue], key };
  }

  protected read(outcome: Outcome): EnQueueAnswer {
    if (outcome.$case !== 'enqueue') throw mismatch(outcome);
    return answers.enQueueAnswer(outcome.value, this.asked);
  }

  protected book(answer: EnQueueAnswer, books: Books): void {
    if (answer.decision !== 'accept') return;
    const { lease, ticket } = this.asked;
    if (this.abandoned) books.undelivered(answer.turn, this.leave ? undefined : ticket);
    else books.given(answer.turn, lease === undefined, ticket);
  }
}

export class DeQueueCommand extends CallCommand<DeQueueAnswer> {
  readonly wait = 0;
  readonly keepsOrEnds = true;
  readonly #request: wire.DeQueueRequest;

  constructor(private readonly asked: DeQueueCall) {
    const request = requests.wireDeQueue(asked);
    super({ $case: 'dequeue', value: request }, sizes.deQueueBytes(asked));
    this.#request = request;
  }

  override detach(): void {
    this.#request.result = copied(this.#request.result);
  }

  override settles(): Settled | undefined {
    const { queue, token } = this.asked;
    return token === undefined ? undefined : { queue, token };
  }

  protected read(outcome: Outcome): DeQueueAnswer {
    if (outcome.$case !== 'dequeue') throw mismatch(outcome);
    return outcome.value;
  }

  protected book(_answer: DeQueueAnswer, books: Books): void {
    const { queue, key, token, ticket } = this.asked;
    books.settled(queue, key, token, ticket);
  }
}

export class SubmitCommand extends CallCommand<SubmitAnswer> {
  readonly keepsOrEnds = false;
  constructor(
    private readonly asked: SubmitCall,
    newId: () => string,
  ) {
    super({ $case: 'submit', value: requests.wireSubmit(asked, newId) }, sizes.submitBytes(asked));
  }

  get wait(): number {
    return this.asked.waitForRoom ?? 0;
  }

  protected read(outcome: Outcome): SubmitAnswer {
    if (outcome.$case !== 'submit') throw mismatch(outcome);
    return answers.submitAnswer(outcome.value);
  }

  protected book(): void {}
}

export class AcquireCommand extends CallCommand<AcquireAnswer> {
  readonly keepsOrEnds = false;
  constructor(private readonly asked: AcquireCall) {
    super({ $case: 'acquire', value: requests.wireAcquire(asked) }, sizes.acquireBytes(asked));
  }

  get wait(): number {
    return this.asked.wait ?? 0;
  }

  override claim(): Claim | undefined {
    return claimOf(this.asked);
  }

  protected read(outcome: Outcome): AcquireAnswer {
    if (outcome.$case !== 'acquire') throw mismatch(outcome);
    return answers.acquireAnswer(outcome.value, this.asked);
  }

  protected book(answer: AcquireAnswer, books: Books): void {
    bookDeliveries(answer, this.asked, books, this);
  }
}

export class AckCommand extends CallCommand<AckAnswer> {
  readonly keepsOrEnds = true;
  readonly #request: wire.AckRequest;

  constructor(private readonly asked: AckCall) {
    const request = requests.wireAck(asked);
    super({ $case: 'ack', value: request }, sizes.ackBytes(asked));
    this.#request = request;
  }

  override detach(): void {
    this.#request.result = copied(this.#request.result);
    for (const { item } of this.#request.followUps) if (item !== undefined) item.payload = copied(item.payload);
  }

  get wait(): number {
    return this.asked.next?.wait ?? 0;
  }

  override claim(): Claim | undefined {
    return this.asked.next && claimOf(this.asked.next);
  }

  override settles(): Settled | undefined {
    return this.asked;
  }

  protected read(outcome: Outcome): AckAnswer {
    if (outcome.$case !== 'ack') throw mismatch(outcome);
    return answers.ackAnswer(outcome.value, this.asked.next);
  }

  protected book(answer: AckAnswer, books: Books): void {
    const { queue, key, token, next } = this.asked;
    books.settled(queue, key, token, undefined);
    if (answer.next && next) bookDeliveries(answer.next, next, books, this);
  }
}

export class NackCommand extends CallCommand<NackAnswer> {
  readonly wait = 0;
  readonly keepsOrEnds = true;

  constructor(private readonly asked: NackCall) {
    super({ $case: 'nack', value: requests.wireNack(asked) }, sizes.nackBytes(asked));
  }

  override settles(): Settled | undefined {
    return this.asked;
  }

  protected read(outcome: Outcome): NackAnswer {
    if (outcome.$case !== 'nack') throw mismatch(outcome);
    return answers.nackAnswer(outcome.value);
  }

  protected book(_answer: NackAnswer, books: Books): void {
    const { queue, key, token } = this.asked;
    books.settled(queue, key, token, undefined);
  }
}

export class RenewCommand extends CallCommand<RenewAnswer> {
  readonly wait = 0;
  readonly keepsOrEnds = true;

  constructor(private readonly asked: RenewCall) {
    super({ $case: 'renew', value: requests.wireRenew(asked) }, sizes.renewBytes(asked));
  }

  protected read(outcome: Outcome): RenewAnswer {
    if (outcome.$case !== 'renew') throw mismatch(outcome);
    return answers.renewAnswer(outcome.value);
  }

  protected book(answer: RenewAnswer, books: Books): void {
    for (const [at, turn] of this.asked.turns.entries()) {
      const result = answer.results[at];
      if (result?.alive === false) books.lost(turn, turnLost(turn, result.cause));
    }
  }
}

export class AwaitCommand extends CallCommand<AwaitAnswer> {
  readonly keepsOrEnds = false;
  constructor(private readonly asked: AwaitCall) {
    super({ $case: 'awaitItem', value: requests.wireAwait(asked) }, sizes.awaitBytes(asked));
  }

  get wait(): number {
    return this.asked.wait ?? 0;
  }

  protected read(outcome: Outcome): AwaitAnswer {
    if (outcome.$case !== 'awaitItem') throw mismatch(outcome);
    return answers.awaitAnswer(outcome.value);
  }

  protected book(): void {}
}

function claimOf({ queues, key, ticket }: AcquireCall): Claim | undefined {
  return ticket === undefined || ticket === '' ? undefined : { queues, key: key === '' ? undefined : key };
}

function bookDeliveries(
  { deliveries }: AcquireAnswer,
  { lease, ticket }: AcquireCall,
  books: Books,
  { abandoned, leave }: WorkerCommand,
): void {
  for (const { turn } of deliveries) {
    if (abandoned) books.undelivered(turn, leave ? undefined : ticket);
    else books.given(turn, lease === undefined, ticket);
  }
}
