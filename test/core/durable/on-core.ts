/** A coordinator that is a core and little else: what its loop does is done here in the plainest way. */

import type {
  AcquireAnswer,
  AdminFunctions,
  Administration,
  Changed,
  Coordinator,
  CoordinatorSettings,
  DeliveredItem,
  Delivery,
  DiscardRequest,
  HelloAnswer,
  Leaders,
  Reply,
  Result,
  Session,
  SessionListener,
  TurnRef,
  Waiting,
} from '../../../src/coordinator.js';
import { reportOf } from '../../../src/core/calls/admin/get-item.js';
import { Core, type Effect, type Start, type Stream, type WaitingCall } from '../../../src/core/core.js';
import type { Clock } from '../../../src/local/clock.js';
import { carry, changedAtOnce, lettersOf, runThrough, type Told } from '../stage.js';

/** Timers in one go: more than any test here has. */
const ALL = 1_000_000;

export abstract class OnCore implements Coordinator {
  protected core: Core;
  /** Turns as they were told first, over all lives of the core. */
  readonly #told = new Map<number, number>();
  /** Whoever was told something by an earlier life has nobody to talk to any more. */
  #life = 0;
  #disarm: (() => void) | undefined;
  #carrying = false;

  constructor(
    protected readonly settings: CoordinatorSettings,
    protected readonly clock: Clock,
    private readonly kind: Pick<Start, 'durable' | 'keepsContents'>,
  ) {
    this.core = this.begin(undefined);
  }

  /** What an item carries that is on disk alone. */
  protected abstract content(seq: number): Pick<DeliveredItem, 'payload' | 'headers'>;

  protected begin(tokenFloor: number | undefined): Core {
    this.#life += 1;
    return new Core(this.settings, { now: this.now, wall: this.clock.wall(), seed: 1, ...this.kind, tokenFloor });
  }

  protected get now(): number {
    return this.clock.now();
  }

  enQueue: Coordinator['enQueue'] = (request, reply) =>
    this.#call(reply, (core, now, on) => core.enQueue(request, reply, now, on));
  deQueue: Coordinator['deQueue'] = (request, reply) =>
    this.#do((core, now, on) => core.deQueue(request, reply, now, on));
  submit: Coordinator['submit'] = (request, reply) =>
    this.#call(reply, (core, now) => core.submit(request, reply, now));
  acquire: Coordinator['acquire'] = (request, reply) =>
    this.#call(reply, (core, now, on) => core.acquire(request, reply, now, on));
  ack: Coordinator['ack'] = (request, reply) => this.#call(reply, (core, now, on) => core.ack(request, reply, now, on));
  nack: Coordinator['nack'] = (request, reply) => this.#do((core, now, on) => core.nack(request, reply, now, on));
  renew: Coordinator['renew'] = (request, reply) => this.#do((core, now, on) => core.renew(request, reply, now, on));
  awaitItem: Coordinator['awaitItem'] = (request, reply) =>
    this.#call(reply, (core, now) => core.awaitItem(request, reply, now));

  get leaders(): Leaders {
    throw new TypeError('nobody leads here');
  }

  openSession(listener: SessionListener): Result<Session> {
    const opened = this.core.openStream(listener);
    return opened.ok ? { ok: true, value: this.#session(opened.value) } : opened;
  }

  undeliverable(turns: readonly TurnRef[]): void {
    this.#do((core, now) => core.undeliverable(turns, now));
  }

  readonly #admin: AdminFunctions = {
    listQueues: async (request) => ({ ok: true, value: this.core.listQueues(request, this.now) }),
    retryNow: async (request) => this.core.retryNow(request, this.now),
    listKeys: async (request) => {
      const scan = this.core.listKeys(request, ALL);
      if (!scan.ok) return scan;
      return { ok: true, value: scan.value === undefined ? { keys: [], nextPageToken: '' } : runThrough(scan.value) };
    },
    explainKey: async ({ queue, key }) => this.#do((core, now) => core.explainKey(queue, key, now)),
    listSessions: async (request) => ({ ok: true, value: this.core.listSessions(request) }),
    getItem: async ({ queue, itemId, withPayload }) => {
      const found = this.#do((core, now) => core.getItem(queue, itemId, now));
      if (!found.ok) return found;
      const { item } = found.value;
      return { ok: true, value: reportOf({ ...found.value, item: item && this.#filled(item) }, withPayload) };
    },
    evictHolder: async ({ queue, key }) => this.#do((core, now) => core.evictHolder(queue, key, now)),
    resumeKey: async ({ queue, key }) => this.#do((core, now) => core.resumeKey(queue, key, now)),
    pauseQueue: async ({ queue }) => this.#do((core, now) => core.pauseQueue(queue, now)),
    resumeQueue: async ({ queue }) => this.#do((core, now) => core.resumeQueue(queue, now)),
    setLimits: async ({ queue, change }) => this.#do((core, now) => core.setLimits(queue, change, now)),
    listDeadLetters: async (request) => {
      const page = lettersOf(this.core.listDeadLetters(request, 1_000));
      if (!page.ok) return page;
      const deadLetters = page.value.deadLetters.map((letter) => ({ ...letter, item: this.#filled(letter.item) }));
      return { ok: true, value: { ...page.value, deadLetters } };
    },
    redrive: async (choice) => this.#do((core, now) => changedAtOnce(core.redrive(choice, 1_000, () => now))),
    discard: async (request) => this.#discard(request),
  };

  readonly admin: Administration = {
    ask: (kind, request) => this.#admin[kind](request),
    watch: () => {
      throw new Error('nobody watches here');
    },
  };

  stats: Coordinator['stats'] = () => this.core.stats(this.now);
  statsInSlices: Coordinator['statsInSlices'] = async () => this.stats();

  async drain(): Promise<never> {
    throw new Error('it is not drained here');
  }

  async close(): Promise<void> {
    this.#disarm?.();
  }

  /** To be called after every step: carries out what it wants done, whatever is on disk, and sees to the next moment. */
  protected settle(): void {
    if (!this.#carrying) {
      this.#carrying = true;
      for (let next = this.#next(); next !== undefined; next = this.#next()) this.#carry(next);
      this.#carrying = false;
    }
    this.#arm();
  }

  #next(): Effect | undefined {
    return this.core.takeEffect() ?? this.core.takeHeld();
  }

  #carry(effect: Effect): void {
    switch (effect.kind) {
      case 'notice':
        return effect.to.notice(effect.notice);
      case 'replaced':
        return effect.to.replaced();
      case 'event':
      case 'slow':
      case 'unused_key':
      case 'parcels':
      case 'awaits_far':
        return;
      default: {
        const arranged = this.#arranged(effect);
        if (!carry(arranged)) this.core.undeliverable(turnsOf(arranged), this.now);
      }
    }
  }

  #arm(): void {
    this.#disarm?.();
    this.#disarm = undefined;
    const { wakeAt } = this.core;
    if (wakeAt === Number.POSITIVE_INFINITY) return;
    this.#disarm = this.clock.after(Math.max(0, wakeAt - this.now), () => {
      this.core.tick(this.now, ALL);
      this.settle();
    });
  }

  /** In an order that does not depend on which key was ready first, and with what its items carry. */
  #arranged(effect: Told): Told {
    switch (effect.kind) {
      case 'acquire':
        return { ...effect, answer: this.#deliveries(effect.answer) };
      case 'ack': {
        const { next } = effect.answer;
        return next === undefined ? effect : { ...effect, answer: { ...effect.answer, next: this.#deliveries(next) } };
      }
      case 'hello':
        return { ...effect, answer: this.#hello(effect.answer) };
      default:
        return effect;
    }
  }

  #deliveries({ deliveries }: AcquireAnswer): AcquireAnswer {
    const filled = deliveries.map(({ turn, items }) => ({ turn, items: items.map((item) => this.#filled(item)) }));
    const sorted = filled.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
    for (const { turn } of sorted) if (!this.#told.has(turn.token)) this.#told.set(turn.token, this.#told.size);
    return { deliveries: sorted };
  }

  #filled(item: DeliveredItem): DeliveredItem {
    const { stored, ...rest } = item;
    return stored === undefined ? rest : { ...rest, ...this.content(stored) };
  }

  #hello(answer: HelloAnswer): HelloAnswer {
    const place = ({ queue, key, token }: TurnRef) => `${queue} ${key} ${String(this.#told.get(token) ?? '')}`;
    const turns = [...answer.turns].sort((a, b) => (place(a) < place(b) ? -1 : 1));
    return { ...answer, turns };
  }

  #discard(choice: DiscardRequest): Result<Changed> {
    const dead = this.#do((core, now) => changedAtOnce(core.discardDead(choice, 1_000, () => now)));
    if (!dead.ok || !choice.waiting) return dead;
    return this.#do((core) => {
      const { done, chosen, asOf } = dead.value;
      const left = (choice.most ?? Number.POSITIVE_INFINITY) - done;
      const gone = changedAtOnce(
        core.discardWaiting(
          choice,
          ALL,
          () => this.now,
          () => left,
        ),
      );
      if (!gone.ok) return gone;
      return { ok: true, value: { done: done + gone.value.done, chosen: chosen + gone.value.chosen, asOf } };
    });
  }

  #do<T>(run: (core: Core, now: number, on: Stream | undefined) => T, on?: Stream): T {
    const outcome = run(this.core, this.now, on);
    this.settle();
    return outcome;
  }

  #call(
    reply: Reply<never>,
    run: (core: Core, now: number, on: Stream | undefined) => WaitingCall | undefined,
    on?: Stream,
  ): Waiting {
    const life = this.#life;
    const call = this.#do(run, on);
    if (call === undefined) return undefined;
    return {
      cancel: (leave = false) => {
        if (life === this.#life) this.#do((core, now) => core.cancel(call, reply, leave, now));
      },
    };
  }

  #session(stream: Stream): Session {
    const life = this.#life;
    const alive = <T>(run: () => T): T => {
      if (life !== this.#life) throw new Error('the stream ended with the process');
      return run();
    };
    return {
      enQueue: (request, reply) =>
        alive(() => this.#call(reply, (core, now, on) => core.enQueue(request, reply, now, on), stream)),
      deQueue: (request, reply) =>
        alive(() => this.#do((core, now, on) => core.deQueue(request, reply, now, on), stream)),
      submit: (request, reply) => alive(() => this.submit(request, reply)),
      acquire: (request, reply) =>
        alive(() => this.#call(reply, (core, now, on) => core.acquire(request, reply, now, on), stream)),
      ack: (request, reply) =>
        alive(() => this.#call(reply, (core, now, on) => core.ack(request, reply, now, on), stream)),
      nack: (request, reply) => alive(() => this.#do((core, now, on) => core.nack(request, reply, now, on), stream)),
      renew: (request, reply) => alive(() => this.#do((core, now, on) => core.renew(request, reply, now, on), stream)),
      awaitItem: (request, reply) => alive(() => this.awaitItem(request, reply)),
      hello: (request, reply) => alive(() => this.#do((core, now) => core.hello(stream, request, reply, now))),
      undeliverable: (turns) => {
        if (life === this.#life) this.#do((core, now) => core.undeliverable(turns, now));
      },
      close: () => {
        if (life === this.#life) this.#do((core, now) => core.closeStream(stream, now));
      },
    };
  }
}

function placeOf({ turn, items }: Delivery): string {
  return `${turn.queue} ${turn.key} ${items[0]?.itemId ?? ''}`;
}

function turnsOf(effect: Told): readonly TurnRef[] {
  switch (effect.kind) {
    case 'enqueue':
      return effect.answer.decision === 'accept' ? [effect.answer.turn] : [];
    case 'acquire':
      return effect.answer.deliveries.map(({ turn }) => turn);
    case 'ack':
      return effect.answer.next?.deliveries.map(({ turn }) => turn) ?? [];
    default:
      return [];
  }
}
