/** The dumb reference: what there is room for (S30, S33, S66, S100 to S102, I9). Everything is counted anew each time. */
import type { NewItem, Refusal } from '../../src/coordinator.js';
import { standingOf, type Wanted } from './reference-dependencies.js';
import { type ItemRecord, isFinished, type Lane, type ModelQueue, stateOf } from './reference-state.js';
import type { World } from './reference-world.js';

const SOON = 1_000;
const OVERHEAD = 256;

export function limit(subject: string, most: number): Refusal {
  return { kind: 'limit', subject, limit: most, description: '', retryAfter: SOON };
}

export function memoryFull(most: number): Refusal {
  return { kind: 'memory_full', subject: 'payload_memory_bytes', limit: most, description: '', retryAfter: SOON };
}

/** S33, S66. */
export function weightOf({ payload, headers, itemId = '', idempotencyKey = '', after = [] }: NewItem): number {
  const texts = [itemId, idempotencyKey, ...[...(headers ?? [])].flat()];
  const own = OVERHEAD + payload.length + texts.join('').length;
  return after.reduce((sum, ref) => sum + OVERHEAD + ref.queue.length + ref.itemId.length, own);
}

function itemsOf(world: World): ItemRecord[] {
  return world.queues.flatMap(({ items }) => items);
}

function payloadBytes(world: World): number {
  const kept = itemsOf(world).filter((item) => !isFinished(item));
  return kept.reduce((sum, item) => sum + weightOfRecord(item), 0);
}

/** S591. */
export function weightOfRecord({ content, lastError = '' }: ItemRecord): number {
  return weightOf(content) + lastError.length;
}

/** S591: as much of it as fits. */
export function noteError(world: World, item: ItemRecord, error: string): void {
  const used = payloadBytes(world) - (item.lastError?.length ?? 0);
  item.lastError = error.slice(0, Math.max(0, world.settings.limits.payloadMemoryBytes - used));
}

function isBusy(world: World, lane: Lane): boolean {
  return stateOf(lane, world.now) !== 'INIT';
}

export function busyLanes(world: World): number {
  return world.queues.flatMap(({ lanes }) => lanes).filter((lane) => isBusy(world, lane)).length;
}

/** Whether the key is not busy, and would be one too many. */
export function isOneTooMany(world: World, lane: Lane): boolean {
  return !isBusy(world, lane) && busyLanes(world) >= world.settings.limits.busyLanes;
}

export function waitingCallers(world: World): number {
  const lines = world.queues.flatMap(({ lanes }) => lanes.flatMap(({ line }) => line));
  return lines.filter(({ kind }) => kind === 'caller').length;
}

function dependencies(world: World): number {
  return itemsOf(world).reduce((sum, { state, after }) => sum + (state === 'waiting' ? after.length : 0), 0);
}

interface Need {
  readonly places: ReadonlyMap<ModelQueue, number>;
  readonly bytes: number;
  readonly lanes: number;
  readonly dependencies: number;
}

/** What an Ack makes room for by its own end. */
export interface Freed {
  readonly bytes: number;
  readonly lane: Lane | undefined;
}

const NOTHING: Freed = { bytes: 0, lane: undefined };

export function needOf(world: World, wanted: readonly Wanted[], { bytes, lane: freed }: Freed = NOTHING): Need {
  const places = new Map<ModelQueue, number>();
  const keys = new Set<Lane | Wanted>();
  for (const one of wanted) {
    if (one.place !== 'taken') continue;
    const queue = world.queue(one.queue);
    places.set(queue, (places.get(queue) ?? 0) + 1);
    const lane = one.item.key === '' ? undefined : world.lane(queue, one.item.key);
    if (lane === undefined) keys.add(one);
    else if (!isBusy(world, lane) || lane === freed) keys.add(lane);
  }
  const kept = wanted.filter(({ place }) => place === 'taken' || place === 'replaced');
  return {
    places,
    bytes: kept.reduce((sum, { item }) => sum + weightOf(item), -bytes),
    lanes: keys.size - (freed === undefined ? 0 : 1),
    dependencies: kept.reduce((sum, one) => sum + awaitedBy(world, one, wanted), 0),
  };
}

function awaitedBy(world: World, { item }: Wanted, wanted: readonly Wanted[]): number {
  const comes = (queue: string, id: string) =>
    wanted.some((one) => one.place !== 'known' && one.queue === queue && one.item.itemId === id);
  const open = (item.after ?? []).filter((ref) => {
    const standing = standingOf(world, ref);
    return comes(ref.queue, ref.itemId) || standing === 'open' || standing === 'unknown';
  });
  return open.length;
}

/** Why there is no room: no promise says which of several lacks is told. */
export type NoRoom = Refusal & { readonly oneOf: readonly Refusal[] };

/** S100: what needs none of one of these lacks none of it. */
export function lackOf(world: World, need: Need): NoRoom | undefined {
  const { payloadMemoryBytes, busyLanes: lanes, dependencies: most } = world.settings.limits;
  const full = [...need.places].filter(([queue, places]) => world.waiting(queue) + places > queue.policy.maxWaiting);
  const oneOf: Refusal[] = full.map(([queue]) => world.queueFull(queue));
  if (need.bytes > 0 && payloadBytes(world) + need.bytes > payloadMemoryBytes)
    oneOf.push(memoryFull(payloadMemoryBytes));
  if (need.lanes > 0 && busyLanes(world) + need.lanes > lanes) oneOf.push(limit('busy_lanes', lanes));
  if (need.dependencies > 0 && dependencies(world) + need.dependencies > most) oneOf.push(limit('dependencies', most));
  const [first] = oneOf;
  return first && { ...first, oneOf };
}

/** Not even where there is nothing else. */
export function neverFits(world: World, need: Need): boolean {
  const { payloadMemoryBytes, busyLanes: lanes, dependencies: most } = world.settings.limits;
  const isLarge = [...need.places].some(([queue, places]) => places > queue.policy.maxWaiting);
  return isLarge || need.bytes > payloadMemoryBytes || need.lanes > lanes || need.dependencies > most;
}

/** S101. */
export function mayNotWait(world: World, items: readonly NewItem[]): Refusal | undefined {
  const { waitingSubmits, payloadMemoryBytes } = world.settings.limits;
  if (world.submits.length >= waitingSubmits) return limit('waiting_submits', waitingSubmits);
  const held = (those: readonly NewItem[]) => those.reduce((sum, item) => sum + weightOf(item), 0);
  const together = world.submits.reduce((sum, one) => sum + held(one.items), held(items));
  return world.submits.length === 0 || together <= payloadMemoryBytes / 4 ? undefined : memoryFull(payloadMemoryBytes);
}
