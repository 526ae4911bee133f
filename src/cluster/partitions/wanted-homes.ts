/**
 * Which member is wanted as the home of each partition, and in which order members may take one that has none. Everybody
 * computes both from the same listing. Two who see different listings may want different homes: then the guard decides.
 *
 * Rendezvous hashing with a cap: every pair of member and partition has a score, and pairs are taken from the largest on,
 * while the member has room. So little moves when a member comes or goes, and nobody has more than its share. A partition that
 * a person moved (a pin) is first of all that member's, counted as of its share.
 */
import type { Member } from '../registry/registry.js';
import { fitsPin, type Pins } from './pins.js';

/** The k-th best member waits k times so long before it takes a partition that nobody took, ms. */
export const EACH_RANK = 250;

export type Candidate = Pick<Member, 'id' | 'name' | 'address' | 'weight' | 'isLeaving' | 'format'>;

interface Share {
  readonly member: Candidate;
  /** Everybody who may own has at least so many, where formats allow it. */
  least: number;
  most: number;
  has: number;
}

interface Pair {
  readonly partition: number;
  readonly share: Share;
  readonly score: number;
}

export class WantedHomes {
  /** Of each partition, from the best on. */
  readonly #orders: readonly (readonly string[])[];
  readonly #pinned: ReadonlySet<number>;

  /**
   * @param members in any order
   * @param formats of the rows of each partition: who cannot read them is no home for it. Unset ones: any member
   * @param pins those whose member is none, or may not own the partition, count for nothing
   */
  constructor(
    partitions: number,
    members: readonly Candidate[],
    formats: readonly number[] = [],
    pins: Pins = new Map(),
  ) {
    const mayOwn = members.filter(({ weight }) => weight > 0);
    const staying = mayOwn.filter(({ isLeaving }) => !isLeaving);
    // When all of them leave, turns that live are settled by those who are still there.
    const owners = staying.length > 0 ? staying : mayOwn;
    const pairs = pairsOf(partitions, owners, formats);
    const pinned = pinnedShares(pairs, pins);
    const wanted = assign(partitions, pairs, pinned);
    this.#pinned = new Set(pinned.keys());
    this.#orders = ordersOf(wanted, pairs);
  }

  /** Whether the wanted home is the one that a person asked for. */
  isPinned(partition: number): boolean {
    return this.#pinned.has(partition);
  }

  /** Unset: nobody may own it. */
  of(partition: number): string | undefined {
    return this.#orders[partition]?.[0];
  }

  /** 0: the wanted home. Unset: it may not own it. */
  rank(partition: number, member: string): number | undefined {
    const at = this.#orders[partition]?.indexOf(member) ?? -1;
    return at < 0 ? undefined : at;
  }
}

/** From the largest score on. */
function pairsOf(partitions: number, owners: readonly Candidate[], formats: readonly number[]): readonly Pair[] {
  const pairs: Pair[] = [];
  for (const member of owners) {
    const share: Share = { member, least: 0, most: 0, has: 0 };
    const seed = hash(share.member.id);
    for (let partition = 0; partition < partitions; partition++) {
      if ((formats[partition] ?? 0) > share.member.format) continue;
      pairs.push({ partition, share, score: score(seed, partition, share.member.weight) });
    }
  }
  return pairs.sort((a, b) => b.score - a.score || compare(a.share.member.id, b.share.member.id));
}

/** Several may fit a pin, the old and the new process of one machine: then the one with the largest score. */
function pinnedShares(pairs: readonly Pair[], pins: Pins): ReadonlyMap<number, Share> {
  const pinned = new Map<number, Share>();
  if (pins.size === 0) return pinned;
  for (const { partition, share } of pairs) {
    const pin = pins.get(partition);
    if (pin === undefined || pinned.has(partition) || !fitsPin(pin, share.member)) continue;
    share.has += 1;
    pinned.set(partition, share);
  }
  return pinned;
}

/** Everybody's share by weight. Who has more by pins alone has those, and what is left is shared out among the others. */
function shareOut(partitions: number, shares: ReadonlySet<Share>): void {
  const open = new Set(shares);
  for (let left = partitions; ; ) {
    const all = [...open].reduce((sum, { member }) => sum + member.weight, 0);
    const exact = ({ member }: Share) => (left * member.weight) / all;
    const over = [...open].filter((share) => share.has > exact(share));
    for (const share of over.length > 0 ? [] : open) {
      share.least = Math.floor(exact(share));
      share.most = Math.ceil(exact(share));
    }
    if (over.length === 0) return;
    for (const share of over) {
      share.least = share.has;
      share.most = share.has;
      open.delete(share);
    }
    left -= over.reduce((sum, { has }) => sum + has, 0);
  }
}

/** @returns of each partition the member that is wanted */
function assign(
  partitions: number,
  pairs: readonly Pair[],
  pinned: ReadonlyMap<number, Share>,
): readonly (string | undefined)[] {
  const wanted = new Array<string | undefined>(partitions).fill(undefined);
  for (const [partition, { member }] of pinned) wanted[partition] = member.id;
  const shares = new Set(pairs.map(({ share }) => share));
  shareOut(partitions, shares);
  // So many may have one more than their least: with all that round up, one would be left with too few.
  let extra = partitions - [...shares].reduce((sum, { least }) => sum + least, 0);
  for (const { partition, share } of pairs) {
    if (wanted[partition] !== undefined || share.has >= share.most) continue;
    if (share.has >= share.least) {
      if (extra === 0) continue;
      extra -= 1;
    }
    share.has += 1;
    wanted[partition] = share.member.id;
  }
  // Some members cannot read some partitions, and those who can are full: better too many than no home.
  for (const { partition, share } of pairs) wanted[partition] ??= share.member.id;
  return wanted;
}

/** The wanted home, then all others by their scores. */
function ordersOf(wanted: readonly (string | undefined)[], pairs: readonly Pair[]): readonly (readonly string[])[] {
  const orders = wanted.map((best) => (best === undefined ? [] : [best]));
  for (const { partition, share } of pairs)
    if (share.member.id !== wanted[partition]) orders[partition]?.push(share.member.id);
  return orders;
}

/** With it a member of weight 2 is best twice as often as one of weight 1. */
function score(seed: number, partition: number, weight: number): number {
  const chance = (mix(seed ^ Math.imul(partition + 1, 0x9e3779b1)) + 0.5) / 2 ** 32;
  return -weight / Math.log(chance);
}

function hash(id: string): number {
  let hashed = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hashed = Math.imul(hashed ^ id.charCodeAt(i), 0x01000193);
  return mix(hashed);
}

/** All bits of the outcome depend on all bits. */
function mix(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
