/**
 * Finds items that wait for each other in a cycle: none of them could ever start (S65).
 *
 * The nodes are the items of the batch and the open items that they reach. An edge leads to what a node waits for: the
 * items that its `after` names, and, within the batch, the item before it in the line of its key. The order of lines
 * beyond the batch is no edge: a cycle through the lines of several keys and several calls is not searched for.
 */

import type { AfterRef, ItemRef, Refusal } from '../contract/model.js';
import { badRequest, RETRY_SOON } from '../contract/refusals.js';
import { openOf } from '../state/dependencies.js';
import { nameOf, told } from '../state/item-names.js';
import { Item } from '../state/records.js';

/**
 * Items beyond the batch that one search looks at: for a cycle, or among those that wait for an item of the batch. One
 * call must not hold up all others.
 */
export const MOST_SEARCHED = 10_000;
/** Items of a cycle that a refusal names. */
const MOST_TOLD = 6;

/** An item of a batch. */
export interface Planned {
  /** Where it stands in the request. */
  readonly field: string;
  /** Empty id: it will be made here, and nobody can wait for it yet. */
  readonly ref: ItemRef;
  readonly key: string;
  readonly after: readonly AfterRef[];
  readonly waitsForUnknown: boolean;
  /** The item of the batch that comes before it in the line of its key. */
  readonly before: Planned | undefined;
  /** It stands behind all that wait in the line of its key, and takes the place of none. */
  readonly behindAll: boolean;
}

type Node = Planned | Item;

/** Something that a node waits for. */
interface Way {
  readonly to: Node;
  /** Its place in `after`; unset: it only stands before it in the line. */
  readonly index: number | undefined;
}

/** A node on the path of the search, the ways from it that were not tried yet, and the one that is being tried. */
interface Step {
  readonly node: Node;
  readonly ways: Way[];
  way: Way | undefined;
}

/**
 * Searches depth first, each node once, from the items of the batch: a cycle that was not there before leads through
 * one of them.
 *
 * @param findOpen of items beyond the batch; unset: none of them waits for an item of the batch, so no cycle leads
 * there
 * @returns why the batch has to be refused
 */
export function circleIn(
  batch: readonly Planned[],
  byName: ReadonlyMap<string, Planned>,
  findOpen: ((ref: ItemRef) => Item | undefined) | undefined,
): Refusal | undefined {
  // Depth first, with a path of its own and not by recursion: a path may have more than 10,000 items.
  const done = new Set<Node>();
  const find = (ref: ItemRef) => byName.get(nameOf(ref)) ?? findOpen?.(ref);
  let left = MOST_SEARCHED;
  for (const first of batch) {
    if (done.has(first)) continue;
    const path: Step[] = [{ node: first, ways: waysFrom(first, find), way: undefined }];
    const onPath = new Set<Node>([first]);
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      step.way = step.ways.pop();
      if (step.way === undefined) {
        done.add(step.node);
        onPath.delete(step.node);
        path.pop();
        continue;
      }
      const { to } = step.way;
      if (onPath.has(to)) return refusalOf(path.slice(path.findIndex(({ node }) => node === to)));
      if (done.has(to)) continue;
      if (to instanceof Item) left -= 1;
      if (left < 0) return TOO_MANY;
      path.push({ node: to, ways: waysFrom(to, find), way: undefined });
      onPath.add(to);
    }
  }
  return undefined;
}

/**
 * An item for which others wait already, because they came before it, must not wait for one of another group, by whatever way: that
 * one may wait for those others, and nobody would see the whole circle. An item that is waited for only since it is known closes none.
 *
 * @param awaited items of the batch for which others wait
 */
export function farBehind(
  awaited: readonly Planned[],
  byName: ReadonlyMap<string, Planned>,
  findOpen: (ref: ItemRef) => Item | undefined,
): Refusal | undefined {
  const find = (ref: ItemRef) => byName.get(nameOf(ref)) ?? findOpen(ref);
  let left = MOST_SEARCHED;
  for (const first of awaited) {
    const seen = new Set<Node>([first]);
    for (const node of seen) {
      const far = afterOf(node).find(({ isFar }) => isFar === true);
      if (far !== undefined) return badRequest(`${first.field}.after`, `${told(first.ref)} ${AWAITED} ${told(far)}`);
      for (const { to } of waysFrom(node, find)) seen.add(to);
      left -= 1;
      if (left < 0) return TOO_MANY;
    }
  }
  return undefined;
}

const AWAITED =
  'is waited for already, by an item that came before it: neither it nor what it waits for may wait for an item of another group, and that is';

/** The edges from a node. What is not found is not open, and closes no cycle. */
function waysFrom(node: Node, find: (ref: ItemRef) => Node | undefined): Way[] {
  const ways: Way[] = [];
  for (const [index, ref] of afterOf(node).entries()) {
    if (ref.isFar === true) continue;
    const to = find(ref);
    if (to !== undefined) ways.push({ to, index });
  }
  if (!(node instanceof Item) && node.before !== undefined) ways.push({ to: node.before, index: undefined });
  return ways;
}

/** Of an open item only what has not ended, or of which the item has not learnt yet. */
function afterOf(node: Node): readonly AfterRef[] {
  if (!(node instanceof Item)) return node.after;
  return node.waits === undefined ? [] : openOf(node.waits);
}

/**
 * BAD_REQUEST with the cycle in words. It names an `after` of the batch where the cycle has one: that is what the
 * caller can change.
 */
function refusalOf(circle: readonly Step[]): Refusal {
  const named = circle.find(({ node, way }) => !(node instanceof Item) && way?.index !== undefined);
  const field = named === undefined || named.node instanceof Item ? 'items' : named.node.field;
  const names = [...circle, ...circle.slice(0, 1)].map(({ node }) => told(refOf(node)));
  const more = names.length - MOST_TOLD;
  const shown = more > 0 ? [...names.slice(0, MOST_TOLD - 1), `${more} others`, ...names.slice(-1)] : names;
  const inLine = circle.some(({ way }) => way?.index === undefined)
    ? ' (an item waits for those of its key before it)'
    : '';
  const description = `${shown.join(' waits for ')}: in a circle, none of them could ever start${inLine}`;
  return badRequest(`${field}.after[${named?.way?.index ?? 0}]`, description);
}

function refOf(node: Node): ItemRef {
  return node instanceof Item ? { queue: node.lane.queue.name, itemId: node.id } : node.ref;
}

/** The search has not ended, so it is not known whether there is a cycle: refused as a limit, not as an error (S65). */
export const TOO_MANY: Refusal = Object.freeze({
  kind: 'limit',
  subject: 'dependencies',
  limit: MOST_SEARCHED,
  description: `more than ${MOST_SEARCHED} items would have to be looked at to see that none waits for another in a circle`,
  retryAfter: RETRY_SOON,
});
