/** Turns the commands of a scenario into calls, on one side. Tokens differ between sides, so each finds its own. */
import type { Calls, HelloAnswer, TurnRef } from '../../src/coordinator.js';
import { AskingCall } from '../support/asking-call.js';
import { acquireRequest, bytes, enQueueRequest, newItem } from '../support/builders.js';
import { Call } from '../support/call.js';
import type { FakeClock } from '../support/fake-clock.js';
import type { AcquirePart, CallCommand, Command, ItemPart, SessionName, Slot } from './commands.js';
import type { People } from './people.js';
import type { Tokens } from './same.js';
import type { Streams } from './streams.js';

/** A call that was made on one side, and how to make it again. */
export interface Made {
  readonly call: Call<unknown>;
  readonly on: Slot | undefined;
  readonly send: (calls: Calls, call: Call<unknown>) => void;
  /** The queues of a dispatch. */
  readonly asksFor: readonly string[];
  compared: boolean;
}

export interface Side {
  readonly name: string;
  readonly clock: FakeClock;
  readonly streams: Streams;
  readonly people: People;
  /** Looks at the inside: whatever is kept twice is the same twice. */
  readonly recount: () => void;
  /** Called by the one who is answered, from within its answer. */
  answered?: (call: Call<unknown>) => void;
  readonly made: Made[];
  readonly turns: TurnRef[];
  readonly settled: Set<number>;
  readonly tokens: Tokens;
}

/** What waits for nothing: a call of a worker, also one from within an answer. */
export function applyCall(one: Side, command: CallCommand & Pick<Made, 'on'>): void {
  make(one, command);
}

/** What it told the person who gave it; calls are compared apart. */
export async function apply(one: Side, command: Command): Promise<unknown> {
  const { people } = one;
  switch (command.type) {
    case 'advance':
      return one.clock.advance(command.ms);
    case 'evict':
      return people.evict(command.queue, command.key, command.discard);
    case 'resumeKey':
      return people.resumeKey(command.queue, command.key);
    case 'pause':
    case 'resume':
      return people.setPaused(command.queue, command.type === 'pause');
    case 'maxInFlight':
      return people.setMaxInFlight(command.queue, command.most);
    case 'rate':
      return people.setRate(command.queue, command.rate);
    case 'redrive':
      return people.redrive(command.queue, command.key, command.ids);
    case 'discard':
      return people.discard(command.queue, command.key, command.ids, command.waiting);
    case 'cancel':
      return cancel(one, command.call, command.leave);
    case 'again':
      return again(one, command.call);
    case 'open':
      return one.streams.open(command.slot);
    case 'hello':
      return sendHello(one, command.slot, command.session);
    case 'break':
      return one.streams.break(command.slot, command.unsent);
    default:
      return make(one, command);
  }
}

function cancel(one: Side, back: number, leave: boolean): void {
  const open = one.made.filter(({ call }) => call.open);
  open.at(-1 - (back % Math.max(1, open.length)))?.call.cancel(leave);
}

function again(one: Side, back: number): void {
  const before = one.made.at(-1 - back);
  if (before !== undefined) sendCall(one, before, true);
}

function sendCall(one: Side, { on, send, asksFor }: Pick<Made, 'on' | 'send' | 'asksFor'>, deliverable: boolean): void {
  const { answered } = one;
  const call = answered === undefined ? new Call<unknown>(deliverable) : new AskingCall<unknown>(deliverable, answered);
  one.made.push({ call, on, send, asksFor, compared: false });
  const { calls, made } = one.streams.on(on);
  made.push(call);
  send(calls, call);
}

function sendHello(one: Side, slot: Slot, session: SessionName): unknown {
  const call = new Call<HelloAnswer>();
  one.streams.hello(slot, session, call);
  return call.outcome;
}

function make(one: Side, command: CallCommand & Pick<Made, 'on'>): void {
  const deliverable = 'deliverable' in command ? command.deliverable : true;
  const send = sender(one, command);
  if (send !== undefined) sendCall(one, { on: command.on, send, asksFor: asksFor(command) }, deliverable);
}

function asksFor(command: CallCommand): readonly string[] {
  const part = command.type === 'acquire' ? command : command.type === 'ack' ? command.next : undefined;
  return part === undefined || part.key !== undefined ? [] : part.queues;
}

function turnAt(one: Side, back: number): TurnRef | undefined {
  return one.turns.at(-1 - (back % Math.max(1, one.turns.length)));
}

function unsettled(one: Side, back: number): TurnRef | undefined {
  const turns = one.turns.filter(({ token }) => !one.settled.has(token));
  return turns.at(-1 - (back % Math.max(1, turns.length)));
}

function sender(one: Side, command: CallCommand): Made['send'] | undefined {
  switch (command.type) {
    case 'enQueue': {
      const { consumer: consumerId, ...rest } = command;
      return (calls, call) => void call.waits(calls.enQueue(enQueueRequest({ ...rest, consumerId }), call));
    }
    case 'leave': {
      const { queue, key, ticket, abandoned } = command;
      const request = { queue, key, holder: { ticket }, abandoned, result: undefined };
      return (calls, call) => calls.deQueue(request, call);
    }
    case 'submit': {
      const { queue, waitForRoom } = command;
      const items = command.items.map(itemOf);
      return (calls, call) => void call.waits(calls.submit({ queue, items, waitForRoom, durability: undefined }, call));
    }
    case 'acquire':
      return (calls, call) => void call.waits(calls.acquire(acquireOf(command), call));
    case 'await':
      return (calls, call) =>
        void call.waits(calls.awaitItem({ queue: command.queue, itemId: command.id, wait: command.wait }, call));
    case 'renew': {
      const turns = command.turns.flatMap((back) => turnAt(one, back) ?? []);
      return turns.length === 0 ? undefined : (calls, call) => calls.renew({ turns, lease: command.lease }, call);
    }
    default:
      return settler(one, command);
  }
}

function settler(
  one: Side,
  command: Extract<CallCommand, { readonly type: 'deQueue' | 'ack' | 'nack' | 'settleOnce' }>,
): Made['send'] | undefined {
  const turn = command.type === 'settleOnce' ? unsettled(one, command.turn) : turnAt(one, command.turn);
  if (turn === undefined) return undefined;
  const { queue, key, token } = turn;
  if (command.type === 'nack') {
    const { kind, delay, done } = command;
    return (calls, call) => calls.nack({ queue, key, token, kind, delay, error: 'failed', done }, call);
  }
  const result = command.result === '' ? undefined : bytes(command.result);
  if (command.type === 'deQueue') {
    const request = { queue, key, holder: { token }, abandoned: command.abandoned, result };
    return (calls, call) => calls.deQueue(request, call);
  }
  if (command.type === 'settleOnce') {
    one.settled.add(token);
    return (calls, call) =>
      void call.waits(calls.ack({ queue, key, token, result, followUps: [], next: undefined }, call));
  }
  const followUps = command.followUps.map((one) => ({ queue: one.queue, item: itemOf(one.item) }));
  const next = command.next && acquireOf(command.next);
  return (calls, call) => void call.waits(calls.ack({ queue, key, token, result, followUps, next }, call));
}

function itemOf({ id, after, ...rest }: ItemPart) {
  const payload = bytes(`of ${id}`);
  return newItem({ ...rest, itemId: id, payload, after: after.length === 0 ? undefined : after });
}

function acquireOf({ queues, key, consumer, ticket, maxTurns, maxItems, wait, lease }: AcquirePart) {
  return acquireRequest({
    queues,
    key,
    consumerId: consumer,
    ticket,
    maxTurns,
    maxItemsPerTurn: maxItems,
    wait,
    lease,
  });
}
