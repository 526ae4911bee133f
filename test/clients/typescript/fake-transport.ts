/** A transport whose answers a test gives, in time that stands still until the test moves it. */
import {
  type CallSettings,
  type Calls,
  type HeldTurn,
  KeyturnError,
  type LogDetails,
  type Transport,
  type Turn,
  type TurnLoss,
  TurnLostError,
} from '@keyturn/client';
import type { Base } from '#client/words/base';
import { FakeClock } from '../../support/fake-clock.js';

export type CallName = keyof Calls;
type CallOf<N extends CallName> = Parameters<Calls[N]>[0];
export type Answers = { -readonly [N in CallName]?: Calls[N] };

export interface Sent<N extends CallName = CallName> {
  readonly name: N;
  readonly call: CallOf<N>;
  readonly settings: CallSettings | undefined;
  readonly at: number;
}

export class FakeHeld implements HeldTurn {
  readonly #controller = new AbortController();
  isReleased = false;
  lost = false;

  constructor(
    readonly turn: Turn,
    readonly askedAt: number,
  ) {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  lose(cause: TurnLoss): TurnLostError {
    const error = new TurnLostError(`lost: ${cause}`, cause);
    this.lost = true;
    this.#controller.abort(error);
    return error;
  }

  release(): void {
    this.isReleased = true;
  }
}

/** A call without an answer in {@link answers} stays open until its timeout or its signal ends it. */
export class FakeTransport implements Transport {
  readonly clock = new FakeClock({ now: 0, wall: 0 });
  readonly sent: Sent[] = [];
  readonly held: FakeHeld[] = [];
  readonly answers: Answers = {};
  /** What was written to the log. */
  readonly warnings: { readonly message: string; readonly details: LogDetails }[] = [];
  /** What Base needs besides: jitter that is always the same, ids that can be read. */
  readonly base: Base;
  #ids = 0;

  constructor(random: () => number = () => 0.5) {
    const log = { warn: (message: string, details: LogDetails) => void this.warnings.push({ message, details }) };
    this.base = { transport: this, random, newId: () => `id-${++this.#ids}`, log };
  }

  readonly enQueue: Calls['enQueue'] = (call, settings) => this.#ask('enQueue', call, settings, this.answers.enQueue);
  readonly deQueue: Calls['deQueue'] = (call, settings) => this.#ask('deQueue', call, settings, this.answers.deQueue);
  readonly submit: Calls['submit'] = (call, settings) => this.#ask('submit', call, settings, this.answers.submit);
  readonly acquire: Calls['acquire'] = (call, settings) => this.#ask('acquire', call, settings, this.answers.acquire);
  readonly ack: Calls['ack'] = (call, settings) => this.#ask('ack', call, settings, this.answers.ack);
  readonly nack: Calls['nack'] = (call, settings) => this.#ask('nack', call, settings, this.answers.nack);
  readonly renew: Calls['renew'] = (call, settings) => this.#ask('renew', call, settings, this.answers.renew);
  readonly awaitItem: Calls['awaitItem'] = (call, settings) =>
    this.#ask('awaitItem', call, settings, this.answers.awaitItem);

  hold(turn: Turn, askedAt: number): HeldTurn {
    const held = new FakeHeld(turn, askedAt);
    this.held.push(held);
    return held;
  }

  async close(): Promise<void> {}

  /** What was sent of one kind, in order. */
  callsOf<N extends CallName>(name: N): readonly CallOf<N>[] {
    // The name says which call it is.
    return this.sent.filter((sent) => sent.name === name).map(({ call }) => call as CallOf<N>);
  }

  get names(): readonly CallName[] {
    return this.sent.map(({ name }) => name);
  }

  /** Lets `ms` pass in small steps, each with everything that follows from it. */
  async pass(ms: number, steps = 20): Promise<void> {
    await settled();
    for (let step = 0; step < steps; step++) {
      this.clock.advance(ms / steps);
      await settled();
    }
  }

  #ask<N extends CallName, A>(
    name: N,
    call: CallOf<N>,
    settings: CallSettings | undefined,
    answer: ((call: CallOf<N>, settings?: CallSettings) => Promise<A>) | undefined,
  ): Promise<A> {
    this.sent.push({ name, call, settings, at: this.clock.now() });
    return answer === undefined ? silence(this.clock, settings) : answer(call, settings);
  }
}

/** What follows from what has happened has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** No answer: the call ends as a transport ends it. */
export function silence(clock: FakeClock, settings: CallSettings | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const { timeout, signal } = settings ?? {};
    clock.after(timeout ?? 10_000, () => reject(new KeyturnError('no answer', 'DEADLINE_EXCEEDED')));
    const cancel = (): void => reject(new KeyturnError('cancelled', 'CANCELLED'));
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
  });
}

export function away(): KeyturnError {
  return new KeyturnError('no connection', 'UNAVAILABLE');
}

export function turnOf(key: string, token: number, attempt = 0): Turn {
  return { queue: 'q', key, token, lease: 20_000, leaseExpiresAt: 0, attempt };
}

/** Answers one after another; an Error is thrown; after the last there is silence. */
export function inTurn<A>(
  transport: FakeTransport,
  ...answers: readonly (NoInfer<A> | Error)[]
): (call: unknown, settings?: CallSettings) => Promise<A> {
  const left = [...answers];
  return async (_call, settings) => {
    const next = left.shift();
    if (next === undefined) return silence(transport.clock, settings);
    if (next instanceof Error) throw next;
    return next;
  };
}

/** A promise with its outcome to look at. */
export function watched<T>(promise: Promise<T>): {
  readonly promise: Promise<T>;
  state: 'open' | 'resolved' | 'rejected';
} {
  const watch: { readonly promise: Promise<T>; state: 'open' | 'resolved' | 'rejected' } = { promise, state: 'open' };
  promise.then(
    () => {
      watch.state = 'resolved';
    },
    () => {
      watch.state = 'rejected';
    },
  );
  return watch;
}
