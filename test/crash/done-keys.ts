/** Idempotency keys as clients see them: once done they stay done, with one result. */
import type { Account } from './account.js';

/** Where an idempotency key is unique. */
export interface KeyOwner {
  readonly queue: string;
  readonly key: string;
  readonly idempotencyKey?: string | undefined;
}

interface Done {
  readonly token: number;
  /** The event at which a client was told so. */
  readonly at: number;
  readonly result: string | undefined;
}

export class DoneKeys {
  readonly #done = new Map<string, Done>();
  readonly #possible = new Map<string, Set<string | undefined>>();

  constructor(private readonly account: Account) {}

  /** Somebody asks for what would make it done. */
  mayBecomeDone(owner: KeyOwner, result: string | undefined): void {
    const name = nameOf(owner);
    if (name === undefined) return;
    const possible = this.#possible.get(name) ?? new Set();
    this.#possible.set(name, possible.add(result));
  }

  /** The one who had the turn was told so. */
  done(owner: KeyOwner, token: number, result: string | undefined): void {
    const name = nameOf(owner);
    if (name === undefined) return;
    const before = this.#done.get(name);
    if (before !== undefined && before.token !== token)
      this.account.broken(`${name} is done in turn ${token}, and was done in ${before.token}`);
    this.#done.set(name, before ?? { token, at: this.account.now, result });
  }

  /** Whether it was known to be done before this event. */
  wasDone(owner: KeyOwner, at: number): boolean {
    const done = this.#find(owner);
    return done !== undefined && done.at < at;
  }

  /** Whether it was done in an earlier turn of the same key. */
  wasDoneBy(owner: KeyOwner, token: number): boolean {
    const done = this.#find(owner);
    return done !== undefined && done.token < token;
  }

  mayBeDone(owner: KeyOwner): boolean {
    return this.#possible.has(nameOf(owner) ?? '');
  }

  /** Whether this can be what is remembered of it. */
  mayHave(owner: KeyOwner, result: string | undefined): boolean {
    const done = this.#find(owner);
    if (done !== undefined) return done.result === result;
    return this.#possible.get(nameOf(owner) ?? '')?.has(result) === true;
  }

  #find(owner: KeyOwner): Done | undefined {
    return this.#done.get(nameOf(owner) ?? '');
  }
}

function nameOf({ queue, key, idempotencyKey }: KeyOwner): string | undefined {
  return idempotencyKey === undefined ? undefined : `${queue}/${key}#${idempotencyKey}`;
}
