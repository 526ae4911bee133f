/** A transport with somebody beside it who writes into the ledger what is asked and what is answered. */
import {
  type AckAnswer,
  type AckCall,
  type AcquireAnswer,
  type AcquireCall,
  type CallSettings,
  type Clock,
  type DeQueueAnswer,
  type DeQueueCall,
  type EnQueueAnswer,
  type EnQueueCall,
  type HeldTurn,
  type NackAnswer,
  type NackCall,
  type SubmitAnswer,
  type SubmitCall,
  type SubmitResult,
  type Transport,
  type Turn,
  TurnLostError,
} from '@keyturn/client';
import type { Ledger } from './ledger.js';
import { tagOf, textOf } from './payload.js';
import type { Asked, TurnName } from './turn-book.js';

interface Caller {
  readonly queue: string;
  readonly key: string;
  readonly idempotencyKey: string | undefined;
}

export class ObservedTransport implements Transport {
  /** Callers that have a turn, by queue and token. */
  readonly #callers = new Map<string, Caller>();

  constructor(
    private readonly inner: Transport,
    private readonly ledger: Ledger,
  ) {}

  get clock(): Clock {
    return this.inner.clock;
  }

  async enQueue(call: EnQueueCall, settings?: CallSettings): Promise<EnQueueAnswer> {
    const { queue, key, ticket, idempotencyKey } = call;
    const { turns, items, account } = this.ledger;
    const asked = turns.asks([queue], ticket);
    const askedAt = account.now;
    const answer = await this.inner.enQueue(call, settings);
    const owner = { queue, key, idempotencyKey };
    if (answer.decision === 'accept') {
      if (items.doneKeys.wasDone(owner, askedAt))
        account.broken(`a caller of ${queue}/${key} gets a turn, and ${idempotencyKey} was done before`);
      turns.given(answer.turn, [], asked);
      this.#callers.set(nameOf(answer.turn), owner);
    } else if (answer.decision === 'decline' && answer.reason === 'already_done') {
      const result = textOf(answer.result);
      account.note(`already done ${queue}/${key} ${idempotencyKey}`);
      if (!items.doneKeys.mayHave(owner, result))
        account.broken(`${idempotencyKey} of ${queue}/${key} is done with ${result}, for which nobody asked`);
    }
    return answer;
  }

  async deQueue(call: DeQueueCall, settings?: CallSettings): Promise<DeQueueAnswer> {
    const { turns, items, account } = this.ledger;
    const turn = turnOf(call);
    const caller = this.#callers.get(nameOf(turn));
    const isDone = call.abandoned !== true && caller !== undefined;
    turns.settles(turn);
    if (isDone) items.doneKeys.mayBecomeDone(caller, textOf(call.result));
    const answer = await this.#settled(turn, this.inner.deQueue(call, settings));
    account.note(`dequeued ${turn.token}`);
    if (isDone) items.doneKeys.done(caller, turn.token, textOf(call.result));
    return answer;
  }

  /** Who asks has told the ledger what it offers. */
  async submit(call: SubmitCall, settings?: CallSettings): Promise<SubmitAnswer> {
    const answer = await this.inner.submit(call, settings);
    // What is answered before it is on the disk may be taken back: then nothing was said.
    if (call.durability === undefined) this.#submitted(call.items.map(tagOf), answer.results);
    else this.ledger.items.acceptances += answer.results.length;
    return answer;
  }

  async acquire(call: AcquireCall, settings?: CallSettings): Promise<AcquireAnswer> {
    const asked = this.ledger.turns.asks(call.queues, call.ticket);
    const answer = await this.inner.acquire(call, settings);
    this.#acquired(answer, asked);
    return answer;
  }

  async ack(call: AckCall, settings?: CallSettings): Promise<AckAnswer> {
    const { turns, items } = this.ledger;
    const { followUps = [], next } = call;
    const turn = turnOf(call);
    const tags = followUps.map(({ item }) => tagOf(item));
    const asked = next && turns.asks(next.queues, next.ticket);
    turns.settles(turn);
    items.acking(turn, textOf(call.result), tags);
    const answer = await this.#settled(turn, this.inner.ack(call, settings));
    items.acked(turn);
    this.#submitted(tags, answer.followUps);
    if (answer.next !== undefined && asked !== undefined) this.#acquired(answer.next, asked);
    return answer;
  }

  async nack(call: NackCall, settings?: CallSettings): Promise<NackAnswer> {
    const { turns, items } = this.ledger;
    const turn = turnOf(call);
    const { done = 0, kind } = call;
    turns.settles(turn);
    items.nacking(turn, done);
    const answer = await this.#settled(turn, this.inner.nack(call, settings));
    if (kind === 'retry') items.retried(turn, done);
    return answer;
  }

  renew(...asked: Parameters<Transport['renew']>): ReturnType<Transport['renew']> {
    return this.inner.renew(...asked);
  }

  awaitItem(...asked: Parameters<Transport['awaitItem']>): ReturnType<Transport['awaitItem']> {
    return this.inner.awaitItem(...asked);
  }

  hold(turn: Turn, askedAt: number): HeldTurn {
    const held = this.inner.hold(turn, askedAt);
    const { signal } = held;
    const tell = () => {
      const reason: unknown = signal.reason;
      if (reason instanceof TurnLostError) this.ledger.turns.lost(turn, reason.loss);
    };
    if (signal.aborted) tell();
    else signal.addEventListener('abort', tell, { once: true });
    return held;
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  #submitted(tags: readonly string[], results: readonly SubmitResult[]): void {
    const { items, account } = this.ledger;
    if (results.length !== tags.length) account.broken(`${results.length} results for ${tags.join()}`);
    for (const [at, result] of results.entries()) {
      const tag = tags[at] ?? '';
      if (result.decision === 'accept') items.accepted(tag, result.itemId);
      else items.declined(tag, result.reason);
    }
  }

  #acquired({ deliveries }: AcquireAnswer, asked: Asked): void {
    for (const { turn, items } of deliveries) {
      const seen = items.map((item) => ({ tag: tagOf(item), itemId: item.itemId, attempt: item.attempt }));
      const tags = seen.map(({ tag }) => tag);
      this.ledger.turns.given(turn, tags, asked);
      this.ledger.items.delivered(turn, seen);
      if (seen.length > 0 && turn.attempt !== seen[0]?.attempt)
        this.ledger.account.broken(
          `turn ${turn.token} has attempt ${turn.attempt}, its first item ${seen[0]?.attempt}`,
        );
    }
  }

  async #settled<A>(turn: TurnName, answer: Promise<A>): Promise<A> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof TurnLostError) this.ledger.turns.refused(turn, error.loss);
      throw error;
    }
  }
}

function turnOf({ queue, key, token }: Pick<DeQueueCall, 'queue' | 'key' | 'token'>): TurnName {
  return { queue, key, token: Number(token ?? 0) };
}

function nameOf({ queue, token }: TurnName): string {
  return `${queue} ${token}`;
}
