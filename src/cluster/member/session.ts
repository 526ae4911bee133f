import type { Clock } from '../../local/clock.js';
import type { Member, Registry } from '../registry/registry.js';
import type { LocalDeadline, Sent } from './deadline.js';

/** ms; and at least four times in a session. */
const RENEW_EVERY = 750;
const RENEWALS = 4;
/** Who is later than that with its own timer serves nobody well, and is not renewed, ms. */
const MOST_LAG = 1_000;
/** After a session that is over, or when there is news, ms. */
const AGAIN = 10;
/** Incarnations that are remembered as one's own. */
const MOST_REMEMBERED = 64;

/**
 * The session of this member in the registry, renewed by the loop that serves: one that answers pings and serves nothing would be
 * a member for ever. A session that was over is followed by that of another incarnation.
 */
export class MemberSession {
  #member: Member;
  #isJoined = false;
  #isEnded = false;
  #isAsking = false;
  #disarm: (() => void) | undefined;
  readonly #own = new Set<string>();
  readonly #renewEvery: number;

  constructor(
    private readonly registry: Registry,
    private readonly clock: Clock,
    private readonly ttl: number,
    private readonly deadline: LocalDeadline,
    private readonly incarnation: () => Member,
    /** What went wrong, for a log; unset: nothing does any more. */
    private readonly trouble: (error: Error | undefined) => void,
  ) {
    this.#renewEvery = Math.min(RENEW_EVERY, ttl / RENEWALS);
    this.#member = this.#next(incarnation());
  }

  /** The incarnation that is there now. */
  get member(): Member {
    return this.#member;
  }

  get isJoined(): boolean {
    return this.#isJoined;
  }

  /** Whether that is, or was, an incarnation of this process. */
  isOwn(id: string): boolean {
    return this.#own.has(id);
  }

  start(): void {
    this.#arm(0);
  }

  /** Everybody is told with the next renewal. */
  listens(grpc: string): void {
    this.#member = { ...this.#member, grpc };
  }

  /** Everybody is told with the next renewal, at once. Unset: no guard is missed. */
  keeps(kept: Member['keeps']): void {
    const { keeps, ...rest } = this.#member;
    if (JSON.stringify(keeps) === JSON.stringify(kept)) return;
    this.#member = kept === undefined ? rest : { ...rest, keeps: kept };
    this.#arm(0);
  }

  /** Everybody is told with the next renewal, at once: the record that it goes by, and the version of its routes. */
  follows(routes: number, revision: number): void {
    this.#member = { ...this.#member, routes, revision };
    this.#arm(0);
  }

  /** Everybody is told with the next renewal, at once. */
  leaving(): void {
    this.#member = { ...this.#member, isLeaving: true };
    this.#arm(0);
  }

  /** @throws Error of the registry; then the session ends by itself */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#disarm?.();
    this.deadline.end();
    if (this.#isJoined) await this.registry.leave(this.#member.id);
  }

  #next(member: Member): Member {
    const [oldest] = this.#own;
    if (this.#own.size >= MOST_REMEMBERED && oldest !== undefined) this.#own.delete(oldest);
    this.#own.add(member.id);
    return member;
  }

  #arm(ms: number): void {
    if (this.#isEnded) return;
    this.#disarm?.();
    const due = this.clock.now() + ms;
    this.#disarm = this.clock.after(ms, () => {
      this.#disarm = undefined;
      // One at a time: what follows is armed when that has ended.
      if (this.#isAsking) return;
      const isLate = this.clock.now() - due >= MOST_LAG;
      if (isLate) this.#arm(this.#renewEvery);
      else void this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const sent = this.deadline.now;
    const said = this.#member;
    this.#isAsking = true;
    try {
      if (this.#isJoined) await this.#renewOnce(sent);
      else await this.#join(sent);
      this.trouble(undefined);
    } catch (error) {
      this.trouble(error instanceof Error ? error : new Error(String(error)));
    }
    this.#isAsking = false;
    const isNews = !this.#isJoined || this.#member !== said;
    this.#arm(isNews ? AGAIN : Math.max(0, sent.at + this.#renewEvery - this.clock.now()));
  }

  async #join(sent: Sent): Promise<void> {
    await this.registry.join(this.#member, this.ttl);
    this.#isJoined = true;
    this.deadline.renewed(sent);
  }

  async #renewOnce(sent: Sent): Promise<void> {
    if (await this.registry.renew(this.#member, this.ttl)) {
      this.deadline.renewed(sent);
      return;
    }
    this.#isJoined = false;
    this.deadline.end();
    if (this.#isEnded) return;
    const { isLeaving, keeps } = this.#member;
    this.#member = this.#next({ ...this.incarnation(), isLeaving, ...(keeps && { keeps }) });
  }
}
