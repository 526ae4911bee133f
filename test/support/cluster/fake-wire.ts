/** What can happen to a request of a member on its way to a store or registry, and to the answer on its way back. */
import { JournalError, type JournalProblem } from '../../../src/local/journal/journal.js';
import type { FakeClock } from '../fake-clock.js';

export interface Fault {
  /** ms until it reaches the other side. */
  readonly there?: number;
  /** ms until the answer is back. */
  readonly back?: number;
  /** It never reaches the other side; or it is done there, and the answer never comes. */
  readonly lost?: 'request' | 'answer';
  /** Nothing is done, and the other side says so. */
  readonly refused?: JournalProblem;
  /** It reaches the other side a second time, so many ms later. */
  readonly again?: number;
}

export interface WireCall {
  /** Counted over all requests of this connection, from 1. */
  readonly n: number;
  readonly does: string;
  /** Of a store. */
  readonly partition: number | undefined;
}

/** What reaches the other side: unset is everything. */
export type Cut = 'requests' | 'answers' | 'both' | undefined;

type Ticking = Pick<FakeClock, 'after'>;

/** As long as a request waits for its answer, ms. Then it is not known whether it was done, and it may still be. */
export const DEADLINE = 1_000;

/** The connection of one member. */
export class FakeWire {
  fault: (call: WireCall) => Fault = () => ({});
  cut: Cut = undefined;
  /** How an answer reaches the member: a frozen one gets it later. */
  deliver: (task: () => void) => void = (task) => task();
  /** Requests that were begun. */
  calls = 0;
  #isDead = false;
  /** Counts connections: what is on its way on one that broke never arrives. */
  #connection = 0;

  /**
   * @param world on which messages travel
   * @param own of the member: its deadlines
   */
  constructor(
    private readonly name: string,
    private readonly world: Ticking,
    private readonly own: Ticking = world,
  ) {}

  /** As `kill -9` of the member: no promise of it settles any more. What it has sent may still arrive. */
  crash(): void {
    this.#isDead = true;
  }

  /** The connection breaks, and there is another one at once: what is on its way is lost, either way. */
  breaks(): void {
    this.#connection += 1;
  }

  request<T>(does: string, partition: number | undefined, task: () => T): Promise<T> {
    this.calls += 1;
    const connection = this.#connection;
    const isBroken = () => connection !== this.#connection;
    const fault = this.fault({ n: this.calls, does, partition });
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = (settle: () => void) => {
        if (isOver || this.#isDead) return;
        isOver = true;
        callOff();
        this.deliver(settle);
      };
      const callOff = this.own.after(DEADLINE, () => {
        end(() => reject(this.#error('io', `${does}: no answer in ${DEADLINE} ms`)));
      });
      this.#pass(fault.there, () => {
        if (fault.lost === 'request' || this.#cuts('requests') || isBroken()) return;
        if (fault.again !== undefined) this.#pass(fault.again, () => void (isBroken() || attempt(task)));
        if (fault.refused !== undefined) {
          const { refused } = fault;
          return this.#pass(fault.back, () => end(() => reject(this.#error(refused, `${does} was refused`))));
        }
        const answer = attempt(task);
        this.#pass(fault.back, () => {
          if (fault.lost === 'answer' || this.#cuts('answers') || isBroken()) return;
          end(() => ('error' in answer ? reject(answer.error) : resolve(answer.value)));
        });
      });
    });
  }

  #cuts(what: 'requests' | 'answers'): boolean {
    return this.cut === what || this.cut === 'both';
  }

  /** Never in the turn in which it was asked for. */
  #pass(ms: number | undefined, task: () => void): void {
    if (ms === undefined || ms === 0) void Promise.resolve().then(task);
    else this.world.after(ms, task);
  }

  #error(problem: JournalProblem, what: string): JournalError {
    return new JournalError(problem, `${this.name}: ${what}`);
  }
}

function attempt<T>(task: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: task() };
  } catch (error) {
    return { error };
  }
}
