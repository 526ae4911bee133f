/** What a handler does: as the request says it, told by events. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DeadLetter, type Done, done, Release, RetryLater, TurnLostError } from '@keyturn/client';
import { optionalBytes, shownBytes } from './bytes.js';
import { type Fields, fieldsOf, isFields, optionalNumber, optionalText, WrongRequest } from './fields.js';
import { followUps } from './items.js';
import { Ledger, type Performance } from './ledger.js';

/** Tells an event. */
export type Tell = (event: Fields) => void;

/** What a handler gets of the client, with items or without. */
export interface Held {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly items: readonly { readonly itemId: string; readonly payload: Uint8Array }[];
  /** As the event shows them. */
  readonly shownItems: readonly Fields[];
}

/** Work that waits for `finish`, or for the loss of its turn. */
interface Waiting {
  readonly token: number;
  finish(outcome: Fields): void;
}

/** How one handle works. */
export class Work {
  readonly #waiting = new Set<Waiting>();
  readonly #ledger: Ledger;

  constructor(
    private readonly handle: string,
    private readonly work: Fields,
    private readonly tell: Tell,
  ) {
    this.#ledger = new Ledger(optionalText(work, 'ledger'));
  }

  /** @returns how it ends; @throws the loss of the turn, unless it is to be ignored */
  async perform(held: Held): Promise<Fields> {
    const { queue, key, token, attempt, shownItems } = held;
    const done: Performance = { queue, key, token, itemIds: held.items.map(({ itemId }) => itemId) };
    this.#ledger.note('start', done);
    this.#tell('started', { queue, key, token, attempt, items: shownItems });
    const wasLost = this.#watch(held, done);
    try {
      const outcome = await this.#outcome(held);
      if (!wasLost()) this.#ledger.note('end', done);
      return outcome;
    } finally {
      this.#tell('ended', { key, token });
    }
  }

  /** Lets work that is held end so. */
  finish(token: number | undefined, outcome: Fields): void {
    const chosen = [...this.#waiting].filter((one) => token === undefined || one.token === token);
    if (chosen.length === 0) throw new WrongRequest(`nothing of ${this.handle} is held with token ${String(token)}`);
    for (const one of chosen) one.finish(outcome);
  }

  /** The client is closed: nothing waits any more. */
  close(): void {
    for (const one of this.#waiting) one.finish({ throw: 'the client was closed' });
  }

  #tell(event: string, fields: Fields): void {
    this.tell({ event, handle: this.handle, ...fields });
  }

  #watch({ key, token, signal }: Held, done: Performance): () => boolean {
    let isLost = false;
    const aborted = (): void => {
      const reason: unknown = signal.reason;
      isLost = reason instanceof TurnLostError;
      if (!(reason instanceof TurnLostError)) return this.#tell('told_to_stop', { key, token });
      this.#ledger.note('lost', done);
      this.#tell('lost', { key, token, cause: reason.loss });
    };
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
    return () => isLost;
  }

  async #outcome(held: Held): Promise<Fields> {
    if (this.work['held'] === true) return this.#finished(held);
    const ms = optionalNumber(this.work, 'takes_ms');
    if (ms !== undefined) await this.#takes(ms, held.signal);
    const byPayload = this.work['by_payload'];
    const [first] = held.items;
    if (isFields(byPayload) && first !== undefined) {
      const outcome = byPayload[String(shownBytes(first.payload))];
      if (outcome !== undefined) return fieldsOf(outcome, 'by_payload');
    }
    return fieldsOf(this.work['does'], 'does');
  }

  async #takes(ms: number, signal: AbortSignal): Promise<void> {
    if (this.work['ignores_loss'] === true) await sleep(ms);
    else await sleep(ms, undefined, { signal });
  }

  #finished({ token, signal }: Held): Promise<Fields> {
    return new Promise((resolve, reject) => {
      const lost = (): void => {
        if (signal.reason instanceof TurnLostError) end(() => reject(signal.reason));
      };
      const end = (settle: () => void): void => {
        signal.removeEventListener('abort', lost);
        this.#waiting.delete(waiting);
        settle();
      };
      const waiting = { token, finish: (outcome: Fields) => end(() => resolve(outcome)) };
      this.#waiting.add(waiting);
      if (this.work['ignores_loss'] === true) return;
      if (signal.aborted) lost();
      else signal.addEventListener('abort', lost);
    });
  }
}

/** What a handler of a consumer returns or throws for an outcome. */
export function handled(outcome: Fields): Done {
  const first = { done: optionalNumber(outcome, 'done') };
  if (outcome['retry'] === true) throw new RetryLater(optionalNumber(outcome, 'delay_ms'), 'asked to retry', first);
  const reason = optionalText(outcome, 'dead_letter');
  if (reason !== undefined) throw new DeadLetter(reason, first);
  if (outcome['release'] === true) throw new Release('asked to release', first);
  throwIfAsked(outcome);
  if (outcome['ack'] !== true) throw new WrongRequest(`${JSON.stringify(outcome)} is no outcome of a consumer`);
  return done(optionalBytes(outcome, 'result'), { followUps: followUps(outcome) });
}

/** What a handler of a turn returns or throws. */
export function returned(outcome: Fields): string | undefined {
  throwIfAsked(outcome);
  return optionalText(outcome, 'value');
}

function throwIfAsked(outcome: Fields): void {
  const message = optionalText(outcome, 'throw');
  if (message !== undefined) throw new Error(message);
}
