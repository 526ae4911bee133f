import type { EngineHost } from '../../address/engine-address.js';
import type { NodeView, SeenNode } from './node-view.js';

/** What a node said counts for so long after what others said last, ms: one that is gone says nothing new. */
const COUNTS_FOR = 10_000;

/**
 * Which master has a slot, by what all nodes that answer say.
 *
 * The claim with the largest epoch counts, as among the nodes themselves: one that is cut off claims what it had, with an older
 * one. Of a node that answers its own word alone counts for what it has: others may not have heard that it gave a slot away.
 */
export class SlotMap {
  readonly #views = new Map<string, { readonly view: NodeView; at: number }>();
  readonly #owners = new Map<number, SeenNode | undefined>();

  /** @param now monotonic, ms. @returns whether it says something new */
  learn(view: NodeView, now: number): boolean {
    const known = this.#views.get(view.by);
    this.#views.set(view.by, { view, at: now });
    const isNews = known?.view.text !== view.text;
    if (this.#forget(now) || isNews) {
      for (const slot of this.#owners.keys()) this.#owners.set(slot, this.#find(slot) ?? this.#owners.get(slot));
      return true;
    }
    return false;
  }

  /** Who has it, as far as is known; who had it, if nobody claims it any more. */
  ownerOf(slot: number): SeenNode | undefined {
    if (!this.#owners.has(slot)) this.#owners.set(slot, this.#find(slot));
    return this.#owners.get(slot);
  }

  /** Masters that have slots. */
  masters(): readonly SeenNode[] {
    const all = new Map<string, SeenNode>();
    for (const node of this.#claimers())
      if (node.slots.length > 0 && node.epoch >= (all.get(node.id)?.epoch ?? 0)) all.set(node.id, node);
    return [...all.values()];
  }

  /** All nodes of which somebody told, masters first: each of them can be asked. */
  nodes(): readonly EngineHost[] {
    const all = new Map<string, SeenNode>();
    for (const { view } of this.#views.values()) for (const node of view.nodes) all.set(node.id, node);
    return [...all.values()].sort((a, b) => Number(b.isMaster) - Number(a.isMaster));
  }

  /** How many slots have a master. */
  get covered(): number {
    const had = new Set<number>();
    for (const { slots } of this.masters())
      for (const [from, to] of slots) for (let slot = from; slot <= to; slot += 1) had.add(slot);
    return had.size;
  }

  #forget(now: number): boolean {
    let isLess = false;
    for (const [id, { at }] of this.#views) if (now - at > COUNTS_FOR) isLess = this.#views.delete(id) || isLess;
    return isLess;
  }

  #find(slot: number): SeenNode | undefined {
    let best: SeenNode | undefined;
    for (const node of this.#claimers()) {
      if (!node.slots.some(([from, to]) => slot >= from && slot <= to)) continue;
      if (best === undefined || node.epoch > best.epoch) best = node;
    }
    return best;
  }

  /** Masters as they, or others, say; of one that answers what it says itself. */
  #claimers(): readonly SeenNode[] {
    const claims: SeenNode[] = [];
    for (const { view } of this.#views.values())
      for (const node of view.nodes)
        if (node.isMaster && (node.id === view.by || !this.#views.has(node.id))) claims.push(node);
    return claims;
  }
}
