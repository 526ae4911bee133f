/** A registry in memory, which all members share. */
import type { HomeEntry, Member, Registry } from '../../../src/cluster/registry/registry.js';
import type { FakeClock } from '../fake-clock.js';
import { FakeWire } from './fake-wire.js';

interface Session {
  /** As JSON: nothing is shared with who wrote it. */
  readonly member: string;
  readonly endsAt: number;
}

export class FakeRegistryEngine {
  readonly #sessions = new Map<string, Session>();
  readonly #homes = new Map<number, HomeEntry>();
  /** Added to the end of every session that begins or is renewed: it is late, or early if negative, ms. */
  late = 0;

  constructor(private readonly clock: Pick<FakeClock, 'after' | 'now'>) {}

  /** @param own of the member that opens it */
  open(name: string, own: Pick<FakeClock, 'after'> = this.clock): FakeRegistry {
    return new FakeRegistry(name, this, this.clock, own);
  }

  /** The session is over, though its time is not. */
  endSession(id: string): void {
    this.#sessions.delete(id);
  }

  /** All sessions are over at once: the registry was emptied, or its leader could not be reached for long. */
  endAll(): void {
    this.#sessions.clear();
  }

  /** FLUSHALL. */
  empty(): void {
    this.endAll();
    this.#homes.clear();
  }

  join(member: Member, ttl: number): void {
    this.#sessions.set(member.id, { member: JSON.stringify(member), endsAt: this.clock.now() + ttl + this.late });
  }

  renew(member: Member, ttl: number): boolean {
    this.#forgetOld();
    if (!this.#sessions.has(member.id)) return false;
    this.join(member, ttl);
    return true;
  }

  get members(): readonly Member[] {
    this.#forgetOld();
    const all: Member[] = [...this.#sessions.values()].map(({ member }) => JSON.parse(member));
    return all.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, MOST_MEMBERS);
  }

  publish(homes: readonly HomeEntry[]): void {
    for (const home of homes) {
      const known = this.#homes.get(home.partition);
      if (known === undefined || known.epoch <= home.epoch) this.#homes.set(home.partition, { ...home });
    }
  }

  get homes(): readonly HomeEntry[] {
    return [...this.#homes.values()].sort((a, b) => a.partition - b.partition).map((home) => ({ ...home }));
  }

  #forgetOld(): void {
    for (const [id, { endsAt }] of this.#sessions) if (endsAt <= this.clock.now()) this.#sessions.delete(id);
  }
}

const MOST_MEMBERS = 1_000;

/** The registry as one member reaches it. */
export class FakeRegistry implements Registry {
  readonly name: string;
  onChange: (() => void) | undefined;
  /** Faults, cuts, and the death of the member. */
  readonly wire: FakeWire;

  constructor(
    member: string,
    private readonly engine: FakeRegistryEngine,
    world: Pick<FakeClock, 'after'>,
    own: Pick<FakeClock, 'after'>,
  ) {
    this.name = `fake registry of ${member}`;
    this.wire = new FakeWire(this.name, world, own);
  }

  join(member: Member, ttl: number): Promise<void> {
    return this.wire.request('join', undefined, () => this.engine.join(member, ttl));
  }

  renew(member: Member, ttl: number): Promise<boolean> {
    return this.wire.request('renew', undefined, () => this.engine.renew(member, ttl));
  }

  leave(id: string): Promise<void> {
    return this.wire.request('leave', undefined, () => this.engine.endSession(id));
  }

  members(): Promise<readonly Member[]> {
    return this.wire.request('members', undefined, () => this.engine.members);
  }

  publish(homes: readonly HomeEntry[]): Promise<void> {
    return this.wire.request('publish', undefined, () => this.engine.publish(homes));
  }

  homes(): Promise<readonly HomeEntry[]> {
    return this.wire.request('homes', undefined, () => this.engine.homes);
  }

  async close(): Promise<void> {}
}
