/** The core on a table: commands at moments that the test chooses, and what comes of them as short words. */
import assert from 'node:assert/strict';
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  Changed,
  CoordinatorEvent,
  DeadLetterPage,
  DeQueueAnswer,
  Durability,
  EnQueueAnswer,
  HelloAnswer,
  KeyExplanation,
  NackAnswer,
  NewItem,
  QueueView,
  Refusal,
  RenewAnswer,
  Reply,
  Result,
  SessionStamp,
  SlowTurn,
  SubmitAnswer,
} from '../../src/coordinator.js';
import { Core, type Effect, type Start, type Stream, type WaitingCall, type Walk } from '../../src/core/core.js';
import * as build from '../support/builders.js';
import { Call } from '../support/call.js';
import { FIRST_WALL } from '../support/fake-clock.js';

/** Timers in one go: more than any test here has. */
const ALL = 1_000_000;

type Change<F extends (...args: never[]) => unknown> = Parameters<F>[0];

class SeenCore extends Core {
  get isWatched(): boolean {
    return this.state.watching;
  }
}

export class Stage {
  readonly core: SeenCore;
  /** Every answer so far, in order: who was told what. */
  readonly told: string[] = [];
  /** What those who watch were told. */
  readonly events: CoordinatorEvent[] = [];
  /** What the log was told of turns that were held for long. */
  readonly slow: SlowTurn[] = [];
  /** The stream that calls come on from now on, if on one. */
  on: Stream | undefined;
  readonly #wallOffset: number;
  readonly #names = new Map<Reply<never>, string>();

  constructor(
    change: build.SettingsChange = {},
    public now = 5_000,
    start: Partial<Start> = {},
  ) {
    const wall = start.wall ?? FIRST_WALL;
    this.core = new SeenCore(build.settings(change), { now, seed: 1, ...start, wall });
    this.#wallOffset = wall - now;
  }

  /** What the clocks of people show. */
  get wall(): number {
    return this.now + this.#wallOffset;
  }

  enQueue(name: string, change: Change<typeof build.enQueueRequest> = {}): Call<EnQueueAnswer> {
    const request = build.enQueueRequest({ consumerId: name, ...change });
    return this.#call(name, (reply) => this.core.enQueue(request, reply, this.now, this.on));
  }

  deQueue(name: string, change: Change<typeof build.deQueueRequest>): Call<DeQueueAnswer> {
    return this.#ask(name, (reply) => this.core.deQueue(build.deQueueRequest(change), reply, this.now, this.on));
  }

  submit(
    name: string,
    items: readonly Partial<NewItem>[],
    queue = build.QUEUE,
    waitForRoom = 0,
    durability?: Durability,
  ): Call<SubmitAnswer> {
    const request = { queue, items: items.map(build.newItem), waitForRoom, durability };
    return this.#call(name, (reply) => this.core.submit(request, reply, this.now));
  }

  acquire(name: string, change: Change<typeof build.acquireRequest> = {}): Call<AcquireAnswer> {
    const request = build.acquireRequest({ consumerId: name, ...change });
    return this.#call(name, (reply) => this.core.acquire(request, reply, this.now, this.on));
  }

  ack(name: string, change: Change<typeof build.ackRequest>): Call<AckAnswer> {
    return this.#call(name, (reply) => this.core.ack(build.ackRequest(change), reply, this.now, this.on));
  }

  nack(name: string, change: Change<typeof build.nackRequest>): Call<NackAnswer> {
    return this.#ask(name, (reply) => this.core.nack(build.nackRequest(change), reply, this.now, this.on));
  }

  renew(name: string, token: number, queue = build.QUEUE, key = build.KEY): Call<RenewAnswer> {
    const request = { turns: [{ queue, key, token }], lease: undefined };
    return this.#ask(name, (reply) => this.core.renew(request, reply, this.now, this.on));
  }

  awaitItem(name: string, itemId: string, wait: number, queue = build.QUEUE): Call<AwaitAnswer> {
    const request = { queue, itemId, wait };
    return this.#call(name, (reply) => this.core.awaitItem(request, reply, this.now));
  }

  /** A stream whose worker looks at nothing that it is told unasked. */
  open(): Result<Stream> {
    return this.core.openStream({ notice: () => undefined, replaced: () => undefined });
  }

  hello(name: string, stream: Stream, sessionId: string, ttl: number, stamp?: SessionStamp): Call<HelloAnswer> {
    const request = { consumerId: name, sessionId, ttl, stamp };
    return this.#ask(name, (reply) => this.core.hello(stream, request, reply, this.now));
  }

  /** What a person did, written into the log in the words of `describe`. */
  person<T>(act: (now: number) => Result<T>, describe: (value: T) => string): void {
    const outcome = act(this.now);
    this.told.push(`person ${outcome.ok ? describe(outcome.value) : describeRefusal(outcome.refusal)}`);
    this.carry();
  }

  /** Lets time pass; the wheel is on time. */
  pass(ms: number): void {
    const end = this.now + ms;
    while (this.core.wakeAt <= end) {
      this.now = Math.max(this.now, this.core.wakeAt);
      this.core.tick(this.now, ALL);
      this.carry();
    }
    this.now = end;
  }

  explain(queue = build.QUEUE, key = build.KEY): KeyExplanation {
    const explanation = okay(this.core.explainKey(queue, key, this.now));
    this.carry();
    return explanation;
  }

  queue(name = build.QUEUE): QueueView | undefined {
    return this.core.listQueues(build.ALL_QUEUES, this.now).queues.find((view) => view.name === name);
  }

  #call<T>(name: string, run: (reply: Reply<T>) => WaitingCall | undefined): Call<T> {
    const call = new Call<T>();
    this.#names.set(call, name);
    const waits = run(call);
    if (waits !== undefined) {
      call.waits({
        cancel: (leave = false) => {
          this.core.cancel(waits, call, leave, this.now);
          this.carry();
        },
      });
    }
    this.carry();
    return call;
  }

  /** A call that never waits. */
  #ask<T>(name: string, run: (reply: Reply<T>) => void): Call<T> {
    return this.#call(name, (reply) => {
      run(reply);
      return undefined;
    });
  }

  /** Whatever waits for the disk is carried out too: here it always is there. */
  carry(): void {
    for (let effect = this.#next(); effect !== undefined; effect = this.#next()) {
      if (effect.kind === 'event') {
        assert.ok(this.core.isWatched, 'nobody watches, and nothing is paid for it');
        this.events.push(effect.event);
      }
      if (effect.kind === 'slow') this.slow.push(effect.turn);
      if (!isAnswer(effect)) continue;
      this.told.push(`${this.#names.get(effect.to) ?? '?'} ${describe(effect)}`);
      carry(effect);
    }
  }

  #next(): Effect | undefined {
    return this.core.takeEffect() ?? this.core.takeHeld();
  }
}

export function okay<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(`refused: ${describeRefusal(result.refusal)}`);
  return result.value;
}

/** Runs a scan that stops after every slice to its end. */
export function runThrough<T>(scan: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = scan.next();
    if (done === true) return value;
  }
}

/** A walk in one step: how many it changed. */
export function atOnce(walk: Walk): Result<number> {
  const changed = changedAtOnce(walk);
  return changed.ok ? { ok: true, value: changed.value.done } : changed;
}

/** The same, with how many were chosen. */
export function changedAtOnce(walk: Walk): Result<Changed> {
  if (!walk.ok) return walk;
  return { ok: true, value: walk.value === undefined ? { done: 0, chosen: 0 } : runThrough(walk.value) };
}

/** The same of a list. */
export function lettersOf(walk: Result<Generator<undefined, DeadLetterPage> | undefined>): Result<DeadLetterPage> {
  if (!walk.ok) return walk;
  return {
    ok: true,
    value: walk.value === undefined ? { deadLetters: [], nextPageToken: '' } : runThrough(walk.value),
  };
}

export type Told = Exclude<
  Effect,
  { kind: 'event' | 'slow' | 'unused_key' | 'notice' | 'replaced' | 'parcels' | 'awaits_far' }
>;

/** Somebody asked for it. */
export function isAnswer(effect: Effect): effect is Told {
  return 'to' in effect && effect.kind !== 'notice' && effect.kind !== 'replaced';
}

/** @returns whether the one who asked could be told */
export function carry(effect: Told): boolean {
  switch (effect.kind) {
    case 'enqueue':
      return effect.to.answer(effect.answer);
    case 'dequeue':
      return effect.to.answer(effect.answer);
    case 'submit':
      return effect.to.answer(effect.answer);
    case 'acquire':
      return effect.to.answer(effect.answer);
    case 'ack':
      return effect.to.answer(effect.answer);
    case 'nack':
      return effect.to.answer(effect.answer);
    case 'renew':
      return effect.to.answer(effect.answer);
    case 'await':
      return effect.to.answer(effect.answer);
    case 'hello':
      return effect.to.answer(effect.answer);
    case 'candidate':
      return effect.to.answer(effect.answer);
    case 'reported':
      return effect.to.answer(effect.answer);
    case 'leader':
      return effect.to.answer(effect.answer);
    case 'yielded':
      return effect.to.answer(effect.answer);
    case 'withdrawn':
      return effect.to.answer();
    case 'deliver':
      return effect.to.answer(effect.answer);
    case 'refuse':
      effect.to.refuse(effect.refusal);
      return true;
  }
}

/** An answer in the words of the contract. */
function describe(effect: Told): string {
  switch (effect.kind) {
    case 'enqueue':
      return describeEnQueue(effect.answer);
    case 'dequeue':
      return effect.answer.promoted ? 'OK promoted' : 'OK';
    case 'submit':
      return effect.answer.results.map((result) => result.decision.toUpperCase()).join(' ');
    case 'acquire':
      return describeDeliveries(effect.answer);
    case 'ack':
      return 'OK';
    case 'nack':
      return describeNack(effect.answer);
    case 'renew':
      return effect.answer.results.map((one) => (one.alive ? 'ALIVE' : `LOST ${one.cause}`)).join(' ');
    case 'await':
      return effect.answer.state;
    case 'hello':
      return `hello ${effect.answer.sessionId}`;
    case 'candidate':
      return effect.answer.at;
    case 'reported':
      return effect.answer.counted ? 'counted' : 'not counted';
    case 'leader':
      return `leader ${effect.answer.leader?.candidateId ?? 'nobody'}`;
    case 'yielded':
      return `asked ${effect.answer.asked?.candidateId ?? 'nobody'}`;
    case 'deliver':
      return `up to ${effect.answer.upTo}${effect.answer.isElsewhere ? ', then elsewhere' : ''}`;
    case 'withdrawn':
      return 'withdrawn';
    case 'refuse':
      return describeRefusal(effect.refusal);
  }
}

function describeEnQueue(answer: EnQueueAnswer): string {
  switch (answer.decision) {
    case 'accept':
      return 'ACCEPT';
    case 'block':
      return `BLOCK ahead ${answer.ahead}`;
    case 'decline':
      return `DECLINE ${answer.reason}`;
  }
}

function describeDeliveries({ deliveries }: AcquireAnswer): string {
  if (deliveries.length === 0) return 'nothing';
  return deliveries
    .map(({ items }) => `turn with ${items.map((item) => item.itemId).join('+') || 'no items'}`)
    .join(' ');
}

function describeNack({ retryAt, deadLettered }: NackAnswer): string {
  return [
    'OK',
    ...(retryAt === undefined ? [] : ['retry']),
    ...(deadLettered === 0 ? [] : [`dead ${deadLettered}`]),
  ].join(' ');
}

function describeRefusal(refusal: Refusal): string {
  if (refusal.kind === 'turn_lost') return `TURN_LOST ${refusal.cause}`;
  return refusal.kind.toUpperCase();
}
