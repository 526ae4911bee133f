/**
 * How many turns and how many bytes each principal holds, for `auth.per_client.turns` and `auth.per_client.memory_bytes`
 * (S657, S659). Items, turns, waiting calls and follow-ups that are sent to other partitions point at the account that
 * they are charged to. Without `auth` nothing has an account, and nothing is counted.
 *
 * An account is forgotten at the end of the step in which it became empty, not at once: what leaves an account and comes
 * back to it in the same step finds the same object.
 */

/** What a principal holds. */
interface Holdings {
  readonly turns: number;
  readonly bytes: number;
}

/** The holdings of one principal over all cores of a process. */
class Total {
  turns = 0;
  bytes = 0;
  /** Cores that have an account of the principal. */
  cores = 0;
}

/** Of all cores of a process, by the names of principals. */
export type Totals = Map<string, Total>;

/** What one core holds for one principal. */
export class Account implements Holdings {
  turns = 0;
  bytes = 0;
  /** Undefined: the core is alone in its process. Only {@link Accounts} writes it. */
  total: Total | undefined = undefined;

  constructor(
    readonly principal: string,
    private readonly accounts: Accounts,
  ) {}

  /** In all cores of the process. */
  get held(): Holdings {
    return this.total ?? this;
  }

  get isEmpty(): boolean {
    return this.turns === 0 && this.bytes === 0;
  }

  /** @param bytes below 0: the principal holds less */
  change(bytes: number, turns = 0): void {
    this.bytes += bytes;
    this.turns += turns;
    const { total } = this;
    if (total !== undefined) {
      total.bytes += bytes;
      total.turns += turns;
    }
    if (this.isEmpty) this.accounts.becameEmpty(this);
  }
}

/** The accounts of one core. */
export class Accounts {
  readonly #byName = new Map<string, Account>();
  /** May be empty: they are looked at when the step ends. */
  readonly #empty: Account[] = [];
  #totals: Totals | undefined;

  /** The account of a principal, opened if needed. `undefined` without `auth`. */
  of(principal: string | undefined): Account | undefined {
    if (principal === undefined) return undefined;
    const known = this.#byName.get(principal);
    if (known !== undefined) return known;
    const account = new Account(principal, this);
    this.#byName.set(principal, account);
    this.#attach(account);
    // A call that is refused leaves it empty.
    this.#empty.push(account);
    return account;
  }

  /** For {@link Account} alone. */
  becameEmpty(account: Account): void {
    this.#empty.push(account);
  }

  get hasEmpty(): boolean {
    return this.#empty.length > 0;
  }

  /** The step ends. */
  forgetEmpty(): void {
    for (const account of this.#empty) {
      if (!account.isEmpty || this.#byName.get(account.principal) !== account) continue;
      this.#byName.delete(account.principal);
      this.#detach(account);
    }
    this.#empty.length = 0;
  }

  /** From now on the bounds count the accounts of all cores that share these totals. */
  join(totals: Totals): void {
    this.#totals = totals;
    for (const account of this.#byName.values()) this.#attach(account);
  }

  /** The core is dropped: others may hold what it held. */
  leave(): void {
    for (const account of this.#byName.values()) this.#detach(account);
    this.#totals = undefined;
  }

  all(): Iterable<Account> {
    return this.#byName.values();
  }

  #attach(account: Account): void {
    const totals = this.#totals;
    if (totals === undefined) return;
    const total = totals.get(account.principal) ?? new Total();
    if (total.cores === 0) totals.set(account.principal, total);
    total.cores += 1;
    total.bytes += account.bytes;
    total.turns += account.turns;
    account.total = total;
  }

  #detach(account: Account): void {
    const { total, principal } = account;
    if (total === undefined) return;
    account.total = undefined;
    total.cores -= 1;
    total.bytes -= account.bytes;
    total.turns -= account.turns;
    if (total.cores === 0) this.#totals?.delete(principal);
  }
}
