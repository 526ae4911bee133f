/**
 * Follow-ups from one group of a simulated cluster to another, and who judges them from outside: each of an answered Ack arrives, once,
 * and none of an Ack that was never carried out. They have no ids of their clients, and their queues remember no results: nothing but
 * stamps keeps one from being submitted twice.
 */
import type { AckAnswer, Delivery, SubmitResult } from '../../src/coordinator.js';
import { bytesOfPayload } from '../../src/core/contract/payload.js';
import { ackRequest, bytes, newItem } from '../support/builders.js';
import { type ClientWorld, Consumer } from './cluster-clients.js';

interface Flow {
  /** The item of which an Ack sent it. */
  readonly from: string;
  readonly queue: string;
  readonly key: string;
  readonly serial: number;
  /** An answer to the Ack left. */
  isPromised: boolean;
  hasArrived: boolean;
  isDone: boolean;
  /** What was excused of its source and its target when it was sent, when it was promised and when it was done. */
  readonly sentAt: number;
  promisedAt: number;
  doneAt: number;
}

export interface FlowSource {
  readonly queue: string;
  readonly key: string;
  readonly itemId: string;
  readonly serial: number;
}

export class FlowLedger {
  /** By the payload: it says the item and the turn. */
  readonly #flows = new Map<string, Flow>();
  /** Of each item, the follow-up that arrived. */
  readonly #arrived = new Map<string, string>();
  /** Of each key, the last that arrived. */
  readonly #last = new Map<string, { readonly serial: number; readonly excuses: number }>();

  constructor(
    private readonly excusesOf: (queue: string) => number,
    private readonly broken: (what: string) => void,
    /** Of these the routes change: what was on its way then may be overtaken. */
    private readonly rerouted: ReadonlySet<string>,
  ) {}

  /** An Ack with it is asked for. */
  sent(name: string, queue: string, { queue: from, key, itemId, serial }: FlowSource): void {
    if (this.#flows.has(name)) return;
    this.#flows.set(name, {
      from: `${from}/${itemId}`,
      queue,
      key: `${from}/${key}`,
      serial,
      isPromised: false,
      hasArrived: false,
      isDone: false,
      sentAt: this.excusesOf(from) + this.excusesOf(queue),
      promisedAt: 0,
      doneAt: 0,
    });
  }

  /** The answer to its Ack leaves. */
  promised(name: string, result: SubmitResult | undefined): void {
    const flow = this.#flow(name);
    if (flow === undefined) return;
    if (result?.decision !== 'accept') this.broken(`${name} is answered ${JSON.stringify(result)}`);
    if (!flow.isPromised) flow.promisedAt = this.#excuses(flow);
    flow.isPromised = true;
  }

  arrived(name: string, home: string): void {
    const flow = this.#flow(name);
    if (flow === undefined) return;
    if (flow.isDone && flow.doneAt === this.#excuses(flow))
      this.broken(`${name} is delivered by ${home}, and its Ack was answered: it was submitted twice`);
    const other = this.#arrived.get(flow.from);
    // The store may have lost an Ack whose follow-ups had left already: its item is done once more then.
    if (other !== undefined && other !== name && this.#flow(other)?.sentAt === this.#excuses(flow))
      this.broken(`${name} arrives, and so did ${other}: one of these Acks was not carried out`);
    this.#arrived.set(flow.from, name);
    if (flow.hasArrived) return;
    flow.hasArrived = true;
    this.#inOrder(name, flow);
  }

  done(name: string): void {
    const flow = this.#flow(name);
    if (flow === undefined) return;
    flow.isDone = true;
    flow.doneAt = this.#excuses(flow);
  }

  get count(): number {
    return [...this.#flows.values()].filter(({ hasArrived }) => hasArrived).length;
  }

  /** Those of answered Acks that never arrived. */
  get left(): readonly string[] {
    return [...this.#flows]
      .filter(([, flow]) => flow.isPromised && !flow.hasArrived && flow.promisedAt === this.#excuses(flow))
      .map(([name]) => name);
  }

  /** What was lost is done again, behind what was not. */
  #inOrder(name: string, flow: Flow): void {
    const { key, queue, serial } = flow;
    const line = `${key} ${queue}`;
    const last = this.#last.get(line);
    const excuses = this.#excuses(flow);
    if (last !== undefined && serial < last.serial && last.excuses === excuses && !this.rerouted.has(queue))
      this.broken(`${name} arrives after ${last.serial} of its key`);
    this.#last.set(line, { serial: Math.max(last?.serial ?? 0, serial), excuses });
  }

  /** Grows when something may have been lost on either side. */
  #excuses({ from, queue }: Flow): number {
    return this.excusesOf(from.slice(0, from.indexOf('/'))) + this.excusesOf(queue);
  }

  #flow(name: string): Flow | undefined {
    const flow = this.#flows.get(name);
    if (flow === undefined) this.broken(`${name} was never sent`);
    return flow;
  }
}

/** Takes items, and sends a follow-up of each to another group with its Ack. */
export class Forwarder extends Consumer {
  constructor(
    world: ClientWorld,
    name: string,
    queue: string,
    private readonly flows: FlowLedger,
    private readonly targets: readonly string[],
  ) {
    super(world, name, queue);
  }

  protected override request({ turn, items }: Delivery) {
    const { queue, key, token } = turn;
    const followUps = items.map(({ itemId }) => {
      const { serial } = sourceOf(queue, key, itemId);
      const target = this.targets[serial % this.targets.length] ?? '';
      const name = `${queue}/${itemId}@${token}`;
      this.flows.sent(name, target, { queue, key, itemId, serial });
      return { queue: target, item: newItem({ key, payload: bytes(name) }) };
    });
    return ackRequest({ queue, key, token, followUps });
  }

  protected override answered({ turn, items }: Delivery, { followUps }: AckAnswer): void {
    for (const [at, { itemId }] of items.entries())
      this.flows.promised(`${turn.queue}/${itemId}@${turn.token}`, followUps[at]);
  }
}

/** Producers number the items of a key. */
function sourceOf(queue: string, key: string, itemId: string): FlowSource {
  return { queue, key, itemId, serial: Number(itemId.slice(key.length)) };
}

/** Takes follow-ups where they arrive. */
export class Receiver extends Consumer {
  constructor(
    world: ClientWorld,
    name: string,
    queue: string,
    private readonly flows: FlowLedger,
  ) {
    super(world, name, queue);
  }

  protected override given({ turn, items }: Delivery, home: string, asked: number): void {
    this.world.ledger.granted(turn, home, asked);
    for (const { payload } of items) this.flows.arrived(Buffer.from(bytesOfPayload(payload)).toString(), home);
  }

  protected override finished({ items }: Delivery): void {
    for (const { payload } of items) this.flows.done(Buffer.from(bytesOfPayload(payload)).toString());
  }
}
