import { type Consumer, ConsumerStoppedError, consume } from './consume/consumer.js';
import type { ConsumeOptions, WorkHandler } from './consume/options.js';
import { LeadLink } from './lead/lead-link.js';
import { Leadership } from './lead/leadership.js';
import { type LeaderCareer, type LeadOptions, leadSettings } from './lead/options.js';
import type { ProducerOptions } from './produce/options.js';
import { Producer } from './produce/producer.js';
import type { Base } from './words/base.js';
import { clientClosed } from './words/errors.js';
import { Insiders } from './words/insiders.js';
import type { OpenLeadStream } from './words/leader-words.js';

/** What a leader has for its hand-over when the client is closed, ms, unless somebody says. */
const LEADERS_MS = 20_000;

/** The consumers, producers and leaders of an application: known, so that closing the client ends all of them. */
export class Application {
  readonly #base: Base;
  /** With their handlers. */
  readonly #consumers = new Map<Consumer, Insiders>();
  readonly #producers = new Set<Producer>();
  readonly #leaderships = new Set<Leadership>();
  #leadLink: LeadLink | undefined;
  #isClosed = false;

  constructor(
    base: Base,
    /** Who stands without an id. */
    private readonly ownName = 'worker',
    /** Unset: nobody can lead. */
    private readonly openLeadStream?: OpenLeadStream,
  ) {
    this.#base = base;
  }

  lead(group: string, career: LeaderCareer, options: LeadOptions = {}): Leadership {
    this.#refuseWhenClosed();
    if (this.openLeadStream === undefined) throw new TypeError('this client has no stream for leaders');
    const { random, newId, log, transport } = this.#base;
    const settings = leadSettings(group, career, options, () => `${this.ownName}/${newId()}`);
    this.#leadLink ??= new LeadLink(transport.clock, random, this.openLeadStream);
    const leadership = new Leadership(group, career, settings, this.#leadLink, random, log);
    this.#leaderships.add(leadership);
    const forget = (): void => void this.#leaderships.delete(leadership);
    leadership.ended.then(forget, forget);
    return leadership;
  }

  consume(queues: string | readonly string[], handler: WorkHandler, options?: ConsumeOptions): Consumer {
    this.#refuseWhenClosed();
    const insiders = new Insiders();
    const consumer = consume(this.#base, queues, handler, options, insiders);
    this.#consumers.set(consumer, insiders);
    const forget = (): void => void this.#consumers.delete(consumer);
    // Only watched: whether anybody listens to a rejection of `done` is the application's own business.
    void consumer.ended.then(forget);
    return consumer;
  }

  producer(queue: string, options?: ProducerOptions): Producer {
    this.#refuseWhenClosed();
    const producer = new Producer(this.#base, queue, options);
    this.#producers.add(producer);
    void producer.ended.then(() => this.#producers.delete(producer));
    return producer;
  }

  /** Whether the caller is a handler or a phase that {@link close} would wait for. */
  get isCalledInside(): boolean {
    const isInside = [...this.#consumers.values()].some(({ caller }) => caller !== undefined);
    return isInside || [...this.#leaderships].some((leadership) => leadership.isCalledInside);
  }

  /** A consumer that began now would never be stopped, and none of its calls would come through. */
  #refuseWhenClosed(): void {
    if (this.#isClosed) throw clientClosed();
  }

  /** @param timeout ms that handlers and items that wait have; unset: each its own */
  async close(timeout: number | undefined): Promise<void> {
    this.#isClosed = true;
    // Consumers report handlers that were cut off: the client is closed all the same.
    const consumers = [...this.#consumers.keys()].map((consumer) => consumer.stop({ timeout }).catch(unlessCutOff));
    const producers = [...this.#producers].map((producer) => producer.close({ timeout }));
    const leaderships = [...this.#leaderships].map((leadership) => leadership.end({ timeout: timeout ?? LEADERS_MS }));
    // All of them, though one fails: the others still have what they need.
    const ended = await Promise.allSettled([...consumers, ...producers, ...leaderships]);
    const failed = ended.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

function unlessCutOff(error: unknown): void {
  if (!(error instanceof ConsumerStoppedError)) throw error;
}
