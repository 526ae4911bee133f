/**
 * Who is to be told when a signal aborts. One listener for each signal, however many calls it is given to: hundreds of
 * them share the one of a worker that stops, and Node takes many listeners for a leak.
 */
export class Signals<T> {
  readonly #bySignal = new Map<AbortSignal, { readonly waiting: Set<T>; readonly listener: () => void }>();

  constructor(private readonly onAbort: (one: T) => void) {}

  /** @param signal not aborted yet */
  add(signal: AbortSignal, one: T): void {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) {
      known.waiting.add(one);
      return;
    }
    const waiting = new Set([one]);
    const listener = () => {
      this.#bySignal.delete(signal);
      for (const each of waiting) this.onAbort(each);
    };
    this.#bySignal.set(signal, { waiting, listener });
    signal.addEventListener('abort', listener, { once: true });
  }

  remove(signal: AbortSignal, one: T): void {
    const known = this.#bySignal.get(signal);
    if (known === undefined || !known.waiting.delete(one) || known.waiting.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener('abort', known.listener);
  }
}
