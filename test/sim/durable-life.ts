/** One process of a world with restarts, and the calls that are open in it. */
import type {
  Calls,
  CoordinatorSettings,
  Refusal,
  Reply,
  Session,
  SessionListener,
  Waiting,
} from '../../src/coordinator.js';
import type { LocalCoordinator } from '../../src/local/coordinator.js';
import { RecountedCoordinator } from '../support/recounted.js';
import type { Book } from './durable-book.js';
import { SLOWEST } from './durable-disk.js';
import { ProcessClock } from './durable-time.js';
import type { Chance } from './random.js';

/** Recounted after each so many steps; a prime, so that it is not always after the same. */
const RECOUNTED = 47;

/** `lost`: nobody knows what became of the call. */
export type Heard<T> = { readonly answer: T } | { readonly refusal: Refusal } | 'lost';

export interface Asking {
  readonly who: string;
  readonly what: string;
  readonly queues: readonly string[];
  /** How long it may wait for what it asks for, ms. */
  readonly wait: number;
}

/** An answer waits for the write under way, its own, and those that wait in the same turns of the loop. */
const LONGEST_ANSWER = 4 * SLOWEST;

export interface Open {
  /** Nobody waits for the answer any more. */
  cancel(leave: boolean): void;
}

export class Life {
  readonly coordinator: LocalCoordinator;
  readonly clock: ProcessClock;
  alive = true;
  ready = false;
  closing = false;
  /** Somebody is being told something. */
  telling = 0;
  readonly #open = new Set<OpenCall<never>>();

  constructor(
    private readonly book: Book,
    private readonly chance: Chance,
    settings: CoordinatorSettings,
    /** Called at an answer in which the process dies. */
    private readonly onAnswer: () => void,
    tell: (unwritten: number) => void,
    /** What is kept in memory is told at once, since it never changes together with what is not. */
    private readonly isPure: boolean,
  ) {
    this.clock = new ProcessClock(book.time, chance.int(0, 1_000_000) + chance.next());
    this.coordinator = new RecountedCoordinator(
      settings,
      {
        clock: this.clock,
        seed: chance.int(0, 1_000_000),
        journal: book.disk.journal(),
        onStore: (state) => {
          book.note(`store ${state.at}`);
          if (state.at === 'closed') tell(state.unwritten);
        },
      },
      RECOUNTED,
    );
  }

  get open(): number {
    return this.#open.size;
  }

  ask<T>(
    asking: Asking,
    on: Calls,
    send: (calls: Calls, reply: Reply<T>) => Waiting,
    hear: (heard: Heard<T>) => void,
  ): Open {
    const { book, chance } = this;
    const call = new OpenCall<T>(this, book, asking, hear, chance.in100(98), this.onAnswer);
    this.#open.add(call);
    book.note(`${asking.who} asks ${asking.what} of ${asking.queues}`);
    const isMemory = asking.queues.length > 0 && asking.queues.every((queue) => book.queue(queue).kind === 'memory');
    call.isFree = isMemory && (this.isPure || asking.wait === 0);
    call.readyThen = this.ready;
    const waiting = send(on, call);
    call.pending = waiting ?? undefined;
    // Whoever asks while he is told something is answered after that.
    if (isMemory && asking.wait === 0 && this.alive && this.telling === 0)
      book.check(!call.isOpen, () => `${asking.what} of ${asking.queues} waits, and nothing of it is on a disk`);
    const longest = asking.wait + (call.isFree ? 1 : LONGEST_ANSWER);
    book.time.after(longest, () => {
      if (this.alive && call.isOpen)
        book.broken(`${asking.who}: ${asking.what} of ${asking.queues} has no answer after ${longest} ms`);
    });
    return call;
  }

  openSession(listener: SessionListener): Session | Refusal {
    const opened = this.coordinator.openSession(listener);
    return opened.ok ? opened.value : opened.refusal;
  }

  /** For {@link OpenCall} alone. */
  closed(call: OpenCall<never>): void {
    this.#open.delete(call);
  }

  /** Nothing of it runs any more, and nobody hears of it. */
  die(): void {
    this.alive = false;
    this.ready = false;
    this.clock.kill();
    const open = [...this.#open];
    this.#open.clear();
    for (const call of open) this.book.time.after(this.chance.int(0, 50), () => call.lose());
  }
}

class OpenCall<T> implements Reply<T>, Open {
  pending: Waiting;
  /** It must not notice the disk. */
  isFree = false;
  readyThen = false;
  #isDeliverable: boolean;
  #state: 'open' | 'answered' | 'cancelled' = 'open';

  constructor(
    private readonly life: Life,
    private readonly book: Book,
    private readonly asking: Asking,
    private readonly hear: (heard: Heard<T>) => void,
    isDeliverable: boolean,
    private readonly onAnswer: () => void,
  ) {
    this.#isDeliverable = isDeliverable;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  answer(value: T): boolean {
    if (!this.#settle('answer')) return false;
    this.#tell(this.#isDeliverable ? { answer: value } : 'lost');
    return this.#isDeliverable;
  }

  refuse(refusal: Refusal): void {
    if (!this.#settle(refusal.kind)) return;
    if (refusal.kind === 'store_unavailable' && this.isFree && this.readyThen)
      this.book.broken(`${this.asking.what} of ${this.asking.queues} is refused: ${refusal.description}`);
    this.#tell({ refusal });
  }

  #tell(heard: Heard<T>): void {
    this.life.telling += 1;
    this.hear(heard);
    this.life.telling -= 1;
    this.onAnswer();
  }

  cancel(leave: boolean): void {
    if (this.#state !== 'open' || !this.life.alive) return;
    this.book.note(`${this.asking.who} cancels ${this.asking.what}`);
    // What is decided and waits for the disk cannot be cancelled: its answer finds nobody.
    if (this.pending === undefined) {
      this.#isDeliverable = false;
      return;
    }
    this.#state = 'cancelled';
    this.life.closed(this as OpenCall<never>);
    this.pending.cancel(leave);
    this.hear('lost');
  }

  lose(): void {
    if (this.#state !== 'open') return;
    this.#state = 'answered';
    this.hear('lost');
  }

  /** False: its process is dead. */
  #settle(how: string): boolean {
    if (!this.life.alive) return false;
    const { who, what, queues } = this.asking;
    this.book.note(`${who} hears ${what} of ${queues}: ${how}`);
    this.book.check(this.#state === 'open', () => `${who}: ${what} is answered (${how}), and it was ${this.#state}`);
    this.#state = 'answered';
    // A call is one that is asked for by its own type; those that are open are only counted and lost.
    this.life.closed(this as OpenCall<never>);
    return true;
  }
}
