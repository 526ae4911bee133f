import type { Clock } from './time/clock.js';
import type { CallSettings, Calls, HeldTurn, Transport } from './words/calls.js';
import { KeyturnError, TurnLostError } from './words/errors.js';
import type { Metrics } from './words/metrics.js';
import type * as words from './words/worker-words.js';

/** A transport whose calls are counted. Only made for those who want it: it costs a promise for each call. */
export class MeteredTransport implements Transport {
  readonly clock: Clock;

  constructor(
    private readonly inner: Transport,
    private readonly metrics: Metrics,
  ) {
    this.clock = inner.clock;
  }

  async enQueue(call: words.EnQueueCall, settings?: CallSettings): Promise<words.EnQueueAnswer> {
    const answer = await this.#counted('enQueue', () => this.inner.enQueue(call, settings));
    if (answer.decision === 'accept') this.metrics.turnGranted(answer.turn.queue);
    return answer;
  }

  deQueue(call: words.DeQueueCall, settings?: CallSettings): Promise<words.DeQueueAnswer> {
    return this.#counted('deQueue', () => this.inner.deQueue(call, settings));
  }

  submit(call: words.SubmitCall, settings?: CallSettings): Promise<words.SubmitAnswer> {
    return this.#counted('submit', () => this.inner.submit(call, settings));
  }

  async acquire(call: words.AcquireCall, settings?: CallSettings): Promise<words.AcquireAnswer> {
    const answer = await this.#counted('acquire', () => this.inner.acquire(call, settings));
    this.#granted(answer);
    return answer;
  }

  async ack(call: words.AckCall, settings?: CallSettings): Promise<words.AckAnswer> {
    const answer = await this.#counted('ack', () => this.inner.ack(call, settings));
    if (answer.next !== undefined) this.#granted(answer.next);
    return answer;
  }

  nack(call: words.NackCall, settings?: CallSettings): Promise<words.NackAnswer> {
    return this.#counted('nack', () => this.inner.nack(call, settings));
  }

  renew(call: words.RenewCall, settings?: CallSettings): Promise<words.RenewAnswer> {
    return this.#counted('renew', () => this.inner.renew(call, settings));
  }

  awaitItem(call: words.AwaitCall, settings?: CallSettings): Promise<words.AwaitAnswer> {
    return this.#counted('awaitItem', () => this.inner.awaitItem(call, settings));
  }

  hold(turn: words.Turn, askedAt: number): HeldTurn {
    const held = this.inner.hold(turn, askedAt);
    const { signal } = held;
    const tell = (): void =>
      this.metrics.turnLost(turn.queue, signal.reason instanceof TurnLostError ? signal.reason.loss : 'unknown');
    if (signal.aborted) tell();
    else signal.addEventListener('abort', tell, { once: true });
    return held;
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  #granted({ deliveries }: words.AcquireAnswer): void {
    for (const { turn } of deliveries) this.metrics.turnGranted(turn.queue);
  }

  async #counted<A>(method: keyof Calls, ask: () => Promise<A>): Promise<A> {
    const began = this.clock.now();
    let code = 'OK';
    try {
      return await ask();
    } catch (error) {
      code = error instanceof KeyturnError ? error.code : 'UNKNOWN';
      throw error;
    } finally {
      this.metrics.callDone(method, code, this.clock.now() - began);
    }
  }
}
