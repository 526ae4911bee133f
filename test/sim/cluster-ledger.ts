/**
 * What an outsider can know about a cluster: which answers left, and when. It believes nothing but them. Where the store lost
 * what nobody had any more, a partition is excused: what was answered before may be lost, nothing else may be wrong.
 */
import type { Delivery, Turn, TurnRef } from '../../src/coordinator.js';

interface Grant {
  readonly token: number;
  /** Without a renewal, in time of the world. */
  until: number;
  /** Its end was asked for. */
  isEnding: boolean;
  readonly home: string;
  excuse: number;
}

interface Item {
  readonly key: string;
  readonly serial: number;
  isAccepted: boolean;
  isDone: boolean;
  /** As many excuses had there been when it was accepted, and when its Ack was answered. */
  acceptedAt: number;
  doneAt: number;
}

/** Clocks drift by 1 %. */
const SLOWEST = 0.985;

export class ClusterLedger {
  readonly #grants = new Map<string, Grant>();
  readonly #items = new Map<string, Item>();
  readonly #first = new Map<string, number>();
  /** How often each partition was excused. */
  readonly #excuses = new Map<number, number>();
  grants = 0;
  renewals = 0;
  /** Grants that followed one of another home. */
  takenOver = 0;
  excused = 0;

  constructor(
    private readonly now: () => number,
    private readonly partitionOf: (queue: string) => number,
    private readonly broken: (what: string) => void,
  ) {}

  /** From now on what was answered before may be lost. */
  excuse(partition: number): void {
    this.#excuses.set(partition, this.#excuse(partition) + 1);
    this.excused += 1;
  }

  /**
   * An answer that gives a turn leaves its home.
   * @param asked when it was asked for: its holder counts from then, and so lives no longer than the home believes
   */
  granted({ queue, key, token, lease }: Turn, home: string, asked: number): void {
    const now = this.now();
    const name = `${queue}/${key}`;
    const partition = this.partitionOf(queue);
    const before = this.#grants.get(name);
    const until = asked + lease * SLOWEST;
    if (before?.token === token) {
      before.until = Math.max(before.until, until);
      return;
    }
    if (before !== undefined) {
      if (token < before.token)
        this.broken(`${name}: token ${token} of ${home} leaves after ${before.token} of ${before.home}`);
      const isFree = before.isEnding || now >= before.until || before.excuse < this.#excuse(partition);
      if (!isFree)
        this.broken(
          `${name}: ${token} is given by ${home}, and ${before.token} of ${before.home} lives until ${before.until}`,
        );
      if (before.home !== home) this.takenOver += 1;
    }
    this.grants += 1;
    this.#grants.set(name, { token, until, isEnding: false, home, excuse: this.#excuse(partition) });
  }

  renewed({ queue, key, token }: TurnRef, lease: number, asked: number): void {
    const grant = this.#grants.get(`${queue}/${key}`);
    if (grant?.token !== token) return;
    this.renewals += 1;
    grant.until = Math.max(grant.until, asked + lease * SLOWEST);
  }

  /** How often what was answered there may have been lost. */
  excusesOf(queue: string): number {
    return this.#excuse(this.partitionOf(queue));
  }

  /** Somebody asks for the end of this turn. */
  ending(queue: string, key: string, token: number): void {
    const grant = this.#grants.get(`${queue}/${key}`);
    if (grant?.token === token) grant.isEnding = true;
  }

  offered(queue: string, key: string, id: string, serial: number): void {
    if (this.#items.has(`${queue}/${id}`)) return;
    const excuse = this.#excuse(this.partitionOf(queue));
    this.#items.set(`${queue}/${id}`, {
      key: `${queue}/${key}`,
      serial,
      isAccepted: false,
      isDone: false,
      acceptedAt: excuse,
      doneAt: excuse,
    });
  }

  accepted(queue: string, id: string): void {
    const item = this.#item(queue, id);
    if (item.isAccepted) return;
    item.isAccepted = true;
    item.acceptedAt = this.#excuse(this.partitionOf(queue));
  }

  delivered({ turn, items }: Delivery, home: string, asked: number): void {
    this.granted(turn, home, asked);
    const { queue } = turn;
    for (const { itemId } of items) {
      const item = this.#item(queue, itemId);
      const isExcused = item.doneAt < this.#excuse(this.partitionOf(queue));
      if (item.isDone && !isExcused)
        this.broken(`${queue}/${itemId} is delivered by ${home}, and its Ack was answered`);
      const last = this.#first.get(item.key) ?? 0;
      if (item.serial <= last) continue;
      if (item.serial !== last + 1 && !this.#areExcused(item.key, last, item.serial))
        this.broken(`${item.key}: item ${item.serial} comes after ${last}: one was lost or overtaken`);
      this.#first.set(item.key, item.serial);
    }
  }

  /** The answer to its Ack leaves. */
  done(queue: string, id: string): void {
    const item = this.#item(queue, id);
    item.isDone = true;
    item.doneAt = this.#excuse(this.partitionOf(queue));
  }

  /** Items that were accepted and never came to an end, unless they may be lost. */
  get left(): readonly string[] {
    return [...this.#items]
      .filter(([name, { isAccepted, isDone, acceptedAt }]) => {
        const isExcused = acceptedAt < this.#excuse(this.partitionOf(name.slice(0, name.indexOf('/'))));
        return isAccepted && !isDone && !isExcused;
      })
      .map(([name]) => name);
  }

  get items(): number {
    return this.#items.size;
  }

  get finished(): number {
    return [...this.#items.values()].filter(({ isDone }) => isDone).length;
  }

  #areExcused(key: string, last: number, serial: number): boolean {
    for (const [name, item] of this.#items) {
      if (item.key !== key || item.serial <= last || item.serial >= serial) continue;
      const isExcused = item.acceptedAt < this.#excuse(this.partitionOf(name.slice(0, name.indexOf('/'))));
      // What nobody was told of need not be there.
      if (item.isAccepted && !isExcused) return false;
    }
    return true;
  }

  #excuse(partition: number): number {
    return this.#excuses.get(partition) ?? 0;
  }

  #item(queue: string, id: string): Item {
    const item = this.#items.get(`${queue}/${id}`);
    if (item !== undefined) return item;
    this.broken(`${queue}/${id} was never submitted`);
    return { key: '', serial: 0, isAccepted: false, isDone: false, acceptedAt: 0, doneAt: 0 };
  }
}
