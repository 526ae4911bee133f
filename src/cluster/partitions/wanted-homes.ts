/**
 * Which member is wanted as the home of each partition, and in which order members may take one that has none. Everybody
 * computes both from the same listing. Two who see different listings may want different homes: then the guard decides.
 *
 * Rendezvous hashing with a cap: every pair of member and partition has a score, and pairs are taken from the largest on,
 * while the member has room. So little moves when a member comes or goes, and nobody has more than its share.
 */
import type { Member } from '../registry/registry.js';

/** The k-th best member waits k times so long before it takes a partition that nobody took, ms. */
export const EACH_RANK = 250;

export type Candidate = Pick<Member, 'id' | 'weight' | 'isLeaving' | 'format'>;

interface Share {
  readonly member: Candidate;
  /** Everybody who may own has at least so many, where formats allow it. */
  readonly least: number;
  readonly most: number;
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

  /**
   * @param members in any order
   * @param formats of the rows of each partition: who cannot read them is no home for it. Unset ones: any member
   */
  constructor(partitions: number, members: readonly Candidate[], formats: readonly number[] = []) {
    const shares = sharesOf(partitions, members);
    const pairs = pairsOf(partitions, shares, formats);
    const wanted = assign(partitions, pairs);
    this.#orders = ordersOf(wanted, pairs);
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

function sharesOf(partitions: number, members: readonly Candidate[]): readonly Share[] {
  const owners = members.filter(({ weight, isLeaving }) => weight > 0 && !isLeaving);
  const all = owners.reduce((sum, { weight }) => sum + weight, 0);
  return owners.map((member) => {
    const exact = (partitions * member.weight) / all;
    return { member, least: Math.floor(exact), most: Math.ceil(exact), has: 0 };
  });
}

/** From the largest score on. */
function pairsOf(partitions: number, shares: readonly Share[], formats: readonly number[]): readonly Pair[] {
  const pairs: Pair[] = [];
  for (const share of shares) {
    const seed = hash(share.member.id);
    for (let partition = 0; partition < partitions; partition++) {
      if ((formats[partition] ?? 0) > share.member.format) continue;
      pairs.push({ partition, share, score: score(seed, partition, share.member.weight) });
    }
  }
  return pairs.sort((a, b) => b.score - a.score || compare(a.share.member.id, b.share.member.id));
}

/** @returns of each partition the member that is wanted */
function assign(partitions: number, pairs: readonly Pair[]): readonly (string | undefined)[] {
  const wanted = new Array<string | undefined>(partitions).fill(undefined);
  const shares = new Set(pairs.map(({ share }) => share));
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
