/** The dumb reference model as a coordinator, so that what drives the real one can drive it too. */
import type {
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  Calls,
  Coordinator,
  CoordinatorSettings,
  ItemChoice,
  KeyExplanation,
  Reply,
  Result,
  Session,
  SessionListener,
  Waiting,
} from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { deQueue, enQueue } from './reference-callers.js';
import { awaitedAgain } from './reference-dependencies.js';
import { acquire } from './reference-dispatch.js';
import { awaitItem, stateOfItem, submit } from './reference-items.js';
import { streamCalls } from './reference-sessions.js';
import { ack, nack, renew } from './reference-settling.js';
import {
  type Entry,
  type ItemRecord,
  type Lane,
  type ModelQueue,
  type ModelStream,
  nameOf,
  stateOf,
} from './reference-state.js';
import { World } from './reference-world.js';

interface Evicted {
  readonly evicted: boolean;
  readonly token: number;
  readonly itemsReturned: number;
  readonly itemsDiscarded: number;
}

export class Reference implements Calls, Pick<Coordinator, 'openSession'> {
  readonly #world: World;

  constructor(settings: CoordinatorSettings, clock: Clock) {
    this.#world = new World(settings, clock);
  }

  enQueue: Calls['enQueue'] = (request, reply) => enQueue(this.#world, request, reply, undefined);
  deQueue: Calls['deQueue'] = (request, reply) => deQueue(this.#world, request, reply, undefined);
  submit: Calls['submit'] = (request, reply) => submit(this.#world, request, reply);
  acquire: Calls['acquire'] = (request, reply) => this.#acquire(request, reply, undefined);
  ack: Calls['ack'] = (request, reply) => ack(this.#world, request, reply, undefined);
  nack: Calls['nack'] = (request, reply) => nack(this.#world, request, reply, undefined);
  renew: Calls['renew'] = (request, reply) => renew(this.#world, request, reply);
  awaitItem: Calls['awaitItem'] = (request, reply) => awaitItem(this.#world, request, reply);

  openSession(listener: SessionListener): Result<Session> {
    const stream: ModelStream = { listener, open: true, session: undefined };
    const { submit, renew, awaitItem } = this;
    const value: Session = {
      enQueue: (request, reply) => enQueue(this.#world, request, reply, stream),
      deQueue: (request, reply) => deQueue(this.#world, request, reply, stream),
      submit,
      acquire: (request, reply) => this.#acquire(request, reply, stream),
      ack: (request, reply) => ack(this.#world, request, reply, stream),
      nack: (request, reply) => nack(this.#world, request, reply, stream),
      renew,
      awaitItem,
      ...streamCalls(this.#world, stream),
    };
    return { ok: true, value };
  }

  #acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>, stream: ModelStream | undefined): Waiting {
    return this.#world.step(() => acquire(this.#world, request, reply, stream));
  }

  // ---- what people do

  evictHolder(queue: string, key: string, discard: boolean): Evicted {
    return this.#world.step(() => {
      const lane = this.#lane(queue, key);
      const { turn } = lane;
      if (turn === undefined) return { evicted: false, token: 0, itemsReturned: 0, itemsDiscarded: 0 };
      const items = this.#world.takeAway(lane, { cause: 'evicted' }, discard);
      const done = { evicted: true, token: turn.token };
      return { ...done, itemsReturned: discard ? 0 : items, itemsDiscarded: discard ? items : 0 };
    });
  }

  resumeKey(queue: string, key: string): boolean {
    return this.#world.step(() => {
      const parked = this.#world.queue(queue).lanes.filter((lane) => lane.key === key && lane.parked !== undefined);
      parked.sort((one, other) => (one.parked ?? 0) - (other.parked ?? 0));
      for (const lane of parked) {
        lane.parked = undefined;
        this.#world.changed(lane);
      }
      return parked.length > 0;
    });
  }

  setPaused(queue: string, paused: boolean): void {
    this.#world.step(() => {
      this.#world.queue(queue).paused = paused;
    });
  }

  setMaxInFlight(queue: string, most: number | undefined): void {
    this.#world.step(() => {
      this.#world.queue(queue).maxInFlight = most;
    });
  }

  /** S27: a bucket that is set is full. */
  setRate(name: string, rate: ModelQueue['rate']): void {
    this.#world.step(() => {
      const queue = this.#world.queue(name);
      queue.rate = rate;
      queue.bucketFullAt = this.#world.now;
    });
  }

  redrive(choice: ItemChoice): number {
    return this.#world.step(() => {
      const chosen = this.#takeDeadLetters(choice);
      this.#putFirst(choice.queue, chosen);
      return chosen.length;
    });
  }

  discard(choice: ItemChoice, waiting: boolean): number {
    return this.#world.step(() => {
      const queue = this.#world.queue(choice.queue);
      const chosen = this.#takeDeadLetters(choice);
      for (const { lane, item } of waiting ? this.#waitingItems(queue, choice) : []) {
        this.#world.remove(lane, item);
        chosen.push(item);
      }
      for (const item of chosen) this.#world.finish(queue, item, 'discarded', undefined);
      return chosen.length;
    });
  }

  /** In the order of their submission. */
  #waitingItems(queue: ModelQueue, choice: ItemChoice): { lane: Lane; item: ItemRecord }[] {
    const found = queue.lanes.flatMap((lane) =>
      lane.line.flatMap((item) => (item.kind === 'item' && fits(item, choice) ? [{ lane, item }] : [])),
    );
    return found.sort((one, other) => one.item.serial - other.item.serial);
  }

  #takeDeadLetters(choice: ItemChoice): ItemRecord[] {
    const queue = this.#world.queue(choice.queue);
    const chosen = queue.dead.filter((item) => fits(item, choice)).sort((one, other) => one.serial - other.serial);
    queue.dead = queue.dead.filter((item) => !chosen.includes(item));
    return chosen;
  }

  /** Before what came later, in their order; keys become ready in that order too, but for {@link withAwaited}. */
  #putFirst(name: string, items: readonly ItemRecord[]): void {
    const queue = this.#world.queue(name);
    for (const item of items)
      Object.assign(item, { attempts: 0, crashes: 0, notBefore: 0, after: awaitedAgain(this.#world, item, items) });
    for (const group of withAwaited(inLanes(items))) {
      const key = group[0]?.content.key ?? '';
      const lane = key === '' ? this.#world.newLane(queue, '') : this.#world.lane(queue, key);
      this.#world.putBack(lane, group);
    }
  }

  // ---- what people see

  #lane(queue: string, key: string): Lane {
    return this.#world.lane(this.#world.queue(queue), key);
  }

  /** The part of ExplainKey that is compared. */
  explainKey(queue: string, key: string): Explained {
    const lane = this.#world.step(() => this.#lane(queue, key));
    const { turn } = lane;
    return {
      state: stateOf(lane, this.#world.now),
      holder: turn && {
        consumerId: turn.consumerId,
        token: turn.token,
        leaseLeft: turn.until - this.#world.now,
        renewals: turn.renewals,
        items: turn.items.length,
        heldForTicket: turn.heldForTicket,
        session: turn.session && {
          id: turn.session.id,
          brokenSince: turn.session.brokenAt === undefined ? undefined : this.#world.wall(turn.session.brokenAt),
        },
      },
      line: lane.line.map(lineView),
      deadLetters: lane.queue.dead.filter((item) => item.content.key === key).length,
    };
  }

  /** What Await would say at once. */
  itemState(queue: string, id: string): AwaitAnswer {
    return stateOfItem(this.#world.findItem(this.#world.queue(queue), id));
  }

  listQueue(name: string): {
    waitingCallers: number;
    waitingItems: number;
    liveTurns: number;
    deadLetters: number;
    paused: boolean;
  } {
    const { lanes, dead, paused } = this.#world.queue(name);
    const waiting = lanes.flatMap((lane) => lane.line);
    return {
      waitingCallers: waiting.filter((entry) => entry.kind === 'caller').length,
      waitingItems: waiting.filter((entry) => entry.kind === 'item').length,
      liveTurns: lanes.filter((lane) => lane.turn !== undefined).length,
      deadLetters: dead.length,
      paused,
    };
  }
}

export interface Explained extends Pick<KeyExplanation, 'state' | 'deadLetters'> {
  readonly holder: Omit<NonNullable<KeyExplanation['holder']>, 'since'> | undefined;
  readonly line: readonly {
    readonly kind: 'caller' | 'item';
    readonly id: string;
    readonly attempts: number;
    readonly awaited: number;
  }[];
}

function lineView(entry: Entry): Explained['line'][number] {
  const { attempts, awaited } =
    entry.kind === 'item' ? { attempts: entry.attempts, awaited: entry.after.length } : { attempts: 0, awaited: 0 };
  return { kind: entry.kind, id: nameOf(entry), attempts, awaited };
}

function fits(item: ItemRecord, { key, itemIds }: ItemChoice): boolean {
  return (key === undefined || item.content.key === key) && (itemIds.length === 0 || itemIds.includes(item.id));
}

/** By key, in the order of the first of each; a keyless item is a lane of its own. */
/** S67: a key takes along the keys that its items wait for, and that have not gone before it. */
function withAwaited(lanes: readonly ItemRecord[][]): ItemRecord[][] {
  const order: ItemRecord[][] = [];
  for (let left = lanes; left.length > 0; left = left.filter((lane) => !order.includes(lane))) {
    const together = new Set(left.slice(0, 1));
    for (const lane of together)
      for (const { itemId } of lane.flatMap(({ after }) => after))
        for (const other of left) if (other.some(({ id }) => id === itemId)) together.add(other);
    order.push(...left.filter((lane) => together.has(lane)));
  }
  return order;
}

function inLanes(items: readonly ItemRecord[]): ItemRecord[][] {
  const lanes: ItemRecord[][] = [];
  for (const item of items) {
    const { key } = item.content;
    const lane = key === '' ? undefined : lanes.find((one) => one[0]?.content.key === key);
    if (lane === undefined) lanes.push([item]);
    else lane.push(item);
  }
  return lanes;
}
