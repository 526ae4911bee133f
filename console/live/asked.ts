/** Something that is asked for again and again while it is looked at. What was told last stays when asking fails. */
import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { messageOf } from '../wire/client.js';
import { answered, failed, isSeen, openQuestions, returns } from './tab.js';

export interface Asked<A> {
  /** Undefined: not yet. */
  readonly data: ReadonlySignal<A | undefined>;
  /** Why it was not told the last time; undefined: it was. */
  readonly error: ReadonlySignal<unknown>;
  /** Asks soon, whatever the clock says; many wishes within a moment are one question. */
  refresh(): void;
}

const SOON_MS = 250;
const LONGEST_WAIT_MS = 10_000;

class Asking<A> implements Asked<A> {
  readonly data = signal<A | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly #asks: (signal: AbortSignal) => Promise<A>;
  readonly #every: number;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | undefined;
  #wanted = false;
  #isOn = false;
  /** What was told while a question was open. */
  #late: { readonly data: A } | undefined;

  constructor(asks: (signal: AbortSignal) => Promise<A>, every: number) {
    this.#asks = asks;
    this.#every = every;
  }

  /** @returns what ends it */
  start(): () => void {
    const stop = effect(() => {
      // It came back: whatever the back-off says, what is on the page is old.
      void returns.value;
      if (!isSeen.value) return undefined;
      this.#isOn = true;
      this.#ask();
      return () => this.#pause();
    });
    const stopLate = effect(() => {
      if (openQuestions.value === 0 && this.#late !== undefined) this.#show(this.#late.data);
    });
    return () => {
      stop();
      stopLate();
    };
  }

  refresh(): void {
    if (!this.#isOn) return;
    if (this.#running !== undefined) this.#wanted = true;
    else this.#in(SOON_MS);
  }

  #show(data: A): void {
    this.#late = undefined;
    this.data.value = data;
  }

  #pause(): void {
    this.#isOn = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running?.abort();
    this.#running = undefined;
    this.#wanted = false;
  }

  #in(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), ms);
  }

  async #ask(): Promise<void> {
    clearTimeout(this.#timer);
    const running = new AbortController();
    this.#running?.abort();
    this.#running = running;
    try {
      const data = await this.#asks(running.signal);
      if (running.signal.aborted) return;
      this.#failures = 0;
      this.#running = undefined;
      answered();
      // The first answer moves nothing: there was nothing.
      if (openQuestions.peek() === 0 || this.data.peek() === undefined) this.#show(data);
      else this.#late = { data };
      this.error.value = undefined;
    } catch (error) {
      if (running.signal.aborted) return;
      this.#failures += 1;
      this.#running = undefined;
      this.error.value = error;
      failed(error);
    }
    this.#in(this.#wanted ? SOON_MS : this.#pauseMs());
    this.#wanted = false;
  }

  #pauseMs(): number {
    return this.#failures === 0 ? this.#every : Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.#failures);
  }
}

/** @param words what the question depends on: another one begins anew @param every ms between an answer and the next question */
export function useAsked<A>(
  words: readonly unknown[],
  every: number,
  asks: (signal: AbortSignal) => Promise<A>,
): Asked<A> {
  const asking = useMemo(() => new Asking(asks, every), words);
  useEffect(() => asking.start(), [asking]);
  return asking;
}

/** For people: undefined, or why there is no answer. */
export function errorOf(asked: Asked<unknown>): string | undefined {
  return asked.error.value === undefined ? undefined : messageOf(asked.error.value);
}
