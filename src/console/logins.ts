/**
 * Who has logged in. The browser holds a random name of its login, never the token; what the token is worth is asked again with
 * every call. Nothing runs while nobody looks: logins that have ended are dropped when somebody comes.
 */
import { randomBytes } from 'node:crypto';
import type { Principal } from '../access/principal.js';

/** One more takes the place of the one that was used longest ago, of those of the principal that has most. */
const MOST = 1_000;
const IDLE_MS = 60 * 60_000;
const LONGEST_MS = 12 * 60 * 60_000;
const ID_BYTES = 32;

export interface Login {
  readonly principal: Principal;
  readonly since: number;
  usedAt: number;
}

export class Logins {
  /** Those that were used longest ago first; a stream that looks on moves none. */
  readonly #logins = new Map<string, Login>();

  constructor(
    private readonly holds: (principal: Principal) => boolean,
    /** Monotonic, ms. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @returns what the browser holds */
  open(principal: Principal): string {
    this.#drop();
    if (this.#logins.size >= MOST) this.#giveWay();
    const id = randomBytes(ID_BYTES).toString('base64url');
    const now = this.now();
    this.#logins.set(id, { principal, since: now, usedAt: now });
    return id;
  }

  /** It is used: its idle time begins anew. Unset: there is none, or it has ended. */
  use(id: string): Login | undefined {
    const login = this.#logins.get(id);
    if (login === undefined) return undefined;
    if (!this.goesOn(login)) {
      this.close(id);
      return undefined;
    }
    this.#logins.delete(id);
    this.#logins.set(id, login);
    return login;
  }

  /** Somebody looks on by a stream. @returns false: it has ended */
  goesOn(login: Login): boolean {
    if (this.hasEnded(login)) return false;
    login.usedAt = this.now();
    return true;
  }

  close(id: string): void {
    const login = this.#logins.get(id);
    this.#logins.delete(id);
    // Whoever still holds it, as a stream does, sees that it has ended.
    if (login !== undefined) login.usedAt = Number.NEGATIVE_INFINITY;
  }

  hasEnded({ principal, since, usedAt }: Login): boolean {
    const now = this.now();
    return now - usedAt >= IDLE_MS || now - since >= LONGEST_MS || !this.holds(principal);
  }

  get size(): number {
    return this.#logins.size;
  }

  #drop(): void {
    for (const [id, login] of this.#logins) if (this.hasEnded(login)) this.close(id);
  }

  /** Of whoever has most: nobody throws others out by logging in again and again. */
  #giveWay(): void {
    const counts = new Map<string, number>();
    for (const { principal } of this.#logins.values())
      counts.set(principal.name, (counts.get(principal.name) ?? 0) + 1);
    const most = Math.max(...counts.values());
    let oldest: readonly [string, Login] | undefined;
    for (const one of this.#logins) {
      if (counts.get(one[1].principal.name) !== most) continue;
      if (oldest === undefined || one[1].usedAt < oldest[1].usedAt) oldest = one;
    }
    if (oldest !== undefined) this.close(oldest[0]);
  }
}
