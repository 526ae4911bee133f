/** The client of one sidecar. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Application } from './application.js';
import { type Connection, openConnection } from './connection/connection.js';
import type { Consumer } from './consume/consumer.js';
import type { ConsumeOptions, WorkHandler } from './consume/options.js';
import { type TurnHandler, type TurnOutcome, type WithTurnOptions, withTurn } from './consume/with-turn.js';
import type { Leadership } from './lead/leadership.js';
import type { LeaderCareer, LeadOptions } from './lead/options.js';
import { MeteredTransport } from './metered-transport.js';
import { checkOptions, type KeyturnOptions } from './options.js';
import type { ProducerOptions } from './produce/options.js';
import type { Producer } from './produce/producer.js';
import { type ResultOptions, result } from './produce/results.js';
import { type SubmitOptions, submit, submitMany } from './produce/submit.js';
import { grpcStreams } from './session/grpc-stream.js';
import { grpcLeadStreams } from './session/lead-stream.js';
import { DEFAULT_OPEN_LIMITS } from './session/open-commands.js';
import { DEFAULT_BACK_OFF, type Surroundings } from './session/settings.js';
import { SessionTransport } from './session/transport.js';
import { type Clock, systemClock, systemRandom } from './time/clock.js';
import { tracingOf } from './tracing/open-telemetry.js';
import { AdminCalls } from './unary/admin.js';
import { UnaryTransport } from './unary/transport.js';
import type { Base } from './words/base.js';
import type { CallSettings, Calls, HeldTurn, Transport } from './words/calls.js';
import { closedInside, type KeyturnError } from './words/errors.js';
import { idMaker } from './words/ids.js';
import type { OpenLeadStream } from './words/leader-words.js';
import { loggerOf } from './words/logger.js';
import { guardedMetrics } from './words/metrics.js';
import { checkEndOptions } from './words/option-checks.js';
import type {
  AckAnswer,
  AckCall,
  AcquireAnswer,
  AcquireCall,
  AwaitAnswer,
  AwaitCall,
  Bytes,
  DeQueueAnswer,
  DeQueueCall,
  EnQueueAnswer,
  EnQueueCall,
  ItemCall,
  NackAnswer,
  NackCall,
  RenewAnswer,
  RenewCall,
  SubmitAnswer,
  SubmitCall,
  SubmitResult,
  Turn,
} from './words/worker-words.js';

/** Characters, so that the whole is no longer than an id may be, whatever a host is called. */
const LONGEST_HOST = 64;
/** As the sidecar's own. */
const DEFAULT_TTL_MS = 10_000;

/**
 * Reads the files that `tls` names. The connection is made by the first call.
 *
 * @param address `host:port` or `unix:/path`; unset: the environment's `KEYTURN_ADDRESS`, else `127.0.0.1:7420`
 * @throws KeyturnError when an option is wrong
 */
export function connect(address: string = usualAddress(), options: KeyturnOptions = {}): Keyturn {
  checkOptions(address, options);
  const tracing = tracingOf(options.tracing);
  const to = openConnection(address, options);
  const log = loggerOf(options.logger);
  const metrics = options.metrics && guardedMetrics(options.metrics);
  const chance = { random: systemRandom, newId: idMaker(), log };
  const watch = {
    broke: (error: KeyturnError) => log.info?.('keyturn: the stream to the sidecar broke', { error: error.message }),
    back: () => {
      log.info?.('keyturn: the stream to the sidecar stands again', {});
      metrics?.reconnected();
    },
  };
  const plain = options.transport === 'unary' ? unary(to, options) : session(to, options, { ...chance, watch });
  const transport = metrics === undefined ? plain : new MeteredTransport(plain, metrics);
  const admin = new AdminCalls(to);
  const leads = grpcLeadStreams(to);
  return new Keyturn(address, transport, admin, () => to.channel.close(), { ...chance, tracing }, leads);
}

/** An empty variable is one that is not set. */
function usualAddress(): string {
  return process.env['KEYTURN_ADDRESS'] || '127.0.0.1:7420';
}

function unary(to: Connection, { consumerId = ownName(), margin }: KeyturnOptions): Transport {
  return new UnaryTransport({ connection: to, clock: systemClock, consumerId, margin });
}

/**
 * Who asks, where nobody says. The sidecar would take the address of the connection, which is another one after a
 * reconnect: a ticket of dispatch, sent again, would not be known as its owner's.
 */
function ownName(): string {
  return `${hostname().slice(0, LONGEST_HOST)}/${process.pid}`;
}

type Chance = Omit<Base, 'transport'>;
type Surrounding = Omit<Surroundings, 'clock' | 'openStream'>;

function session(to: Connection, options: KeyturnOptions, chance: Surrounding): Transport {
  const settings = {
    address: to.address,
    sessionId: options.sessionId ?? randomUUID(),
    consumerId: options.consumerId ?? ownName(),
    ttl: options.sessionTtl ?? DEFAULT_TTL_MS,
    margin: options.margin,
    limits: {
      commands: options.openCommands ?? DEFAULT_OPEN_LIMITS.commands,
      bytes: options.openBytes ?? DEFAULT_OPEN_LIMITS.bytes,
    },
    backOff: DEFAULT_BACK_OFF,
  };
  const openStream = grpcStreams(to);
  return new SessionTransport(settings, { clock: systemClock, ...chance, openStream });
}

/** Made by {@link connect}. The calls of a worker, those of people as `admin`, and what is built on them. */
export class Keyturn implements Calls {
  readonly #disconnect: () => void;
  readonly #base: Base;
  readonly #application: Application;
  #closed: Promise<void> | undefined;

  /**
   * @param transport what the calls of a worker go through; for simulations, which bring their own
   * @param chance where ids and jitter come from; for simulations too
   */
  constructor(
    readonly address: string,
    readonly transport: Transport,
    readonly admin: AdminCalls,
    disconnect: () => void,
    chance: Chance,
    openLeadStream?: OpenLeadStream,
  ) {
    this.#disconnect = disconnect;
    this.#base = { transport, ...chance };
    this.#application = new Application(this.#base, ownName(), openLeadStream);
  }

  get clock(): Clock {
    return this.transport.clock;
  }

  enQueue(call: EnQueueCall, settings?: CallSettings): Promise<EnQueueAnswer> {
    return this.transport.enQueue(call, settings);
  }

  deQueue(call: DeQueueCall, settings?: CallSettings): Promise<DeQueueAnswer> {
    return this.transport.deQueue(call, settings);
  }

  /** Hands one item over; it gets an id if it has none, the same on every try. */
  submit(queue: string, item: ItemCall, options?: SubmitOptions): Promise<SubmitResult>;
  /** The call itself, which neither makes ids nor tries again. */
  submit(call: SubmitCall, settings?: CallSettings): Promise<SubmitAnswer>;
  submit(
    what: string | SubmitCall,
    item?: ItemCall | CallSettings,
    options?: SubmitOptions,
  ): Promise<SubmitResult | SubmitAnswer> {
    // The overloads say which goes with which.
    if (typeof what !== 'object' || what === null) return submit(this.#base, what, item as ItemCall, options);
    return this.transport.submit(what, item as CallSettings | undefined);
  }

  acquire(call: AcquireCall, settings?: CallSettings): Promise<AcquireAnswer> {
    return this.transport.acquire(call, settings);
  }

  ack(call: AckCall, settings?: CallSettings): Promise<AckAnswer> {
    return this.transport.ack(call, settings);
  }

  nack(call: NackCall, settings?: CallSettings): Promise<NackAnswer> {
    return this.transport.nack(call, settings);
  }

  renew(call: RenewCall, settings?: CallSettings): Promise<RenewAnswer> {
    return this.transport.renew(call, settings);
  }

  awaitItem(call: AwaitCall, settings?: CallSettings): Promise<AwaitAnswer> {
    return this.transport.awaitItem(call, settings);
  }

  /** Keeps a turn alive until it is released. `askedAt`: {@link clock} when the call that gave it was sent. */
  hold(turn: Turn, askedAt: number): HeldTurn {
    return this.transport.hold(turn, askedAt);
  }

  /**
   * Asks for the turn of a key, runs the handler while it is kept alive, and gives it back. See {@link WithTurnOptions}.
   *
   * @throws TurnLostError when the turn was lost, after the handler has ended; what the handler throws; the reason of
   * `signal` when it aborts before the turn came; KeyturnError when the sidecar refuses or cannot be reached
   */
  withTurn<T>(queue: string, key: string, handler: TurnHandler<T>): Promise<TurnOutcome<T>>;
  withTurn<T>(
    queue: string,
    key: string,
    options: WithTurnOptions<T>,
    handler: TurnHandler<T>,
  ): Promise<TurnOutcome<T>>;
  async withTurn<T>(
    queue: string,
    key: string,
    options: WithTurnOptions<T> | TurnHandler<T>,
    handler?: TurnHandler<T>,
  ): Promise<TurnOutcome<T>> {
    if (typeof options === 'function') return withTurn(this.#base, queue, key, {}, options);
    // Whether it is one is looked at there.
    return withTurn(this.#base, queue, key, options, handler as TurnHandler<T>);
  }

  /**
   * Stands in a group, in which exactly one worker leads, and leads when its turn comes, again and again until it is stopped.
   * See {@link LeaderCareer} and {@link LeadOptions}.
   */
  lead(group: string, career: LeaderCareer, options?: LeadOptions): Leadership {
    return this.#application.lead(group, career, options);
  }

  /** Takes turns with items and hands each to the handler, until it is stopped. See {@link ConsumeOptions}. */
  consume(queues: string | readonly string[], handler: WorkHandler, options?: ConsumeOptions): Consumer {
    return this.#application.consume(queues, handler, options);
  }

  /**
   * Hands items over in order, in as many messages as it takes.
   *
   * @returns one result per item, in order
   * @throws SubmitManyError, which says what was accepted and what was not
   */
  submitMany(queue: string, items: Iterable<ItemCall>, options?: SubmitOptions): Promise<readonly SubmitResult[]> {
    return submitMany(this.#base, queue, items, options);
  }

  /**
   * What an item came to, wherever it is worked on: a future across processes.
   *
   * @returns the result of its Ack; undefined when that had none
   * @throws ItemFailedError when no result can come; KeyturnError, DEADLINE_EXCEEDED, when the time is over first
   */
  result(queue: string, itemId: string, options?: ResultOptions): Promise<Bytes | undefined> {
    return result(this.#base, queue, itemId, options);
  }

  /** A buffer that collects items and hands them over in batches. See {@link ProducerOptions}. */
  producer(queue: string, options?: ProducerOptions): Producer {
    return this.#application.producer(queue, options);
  }

  /** `await using keyturn = connect(…)`: closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Stops consumers, closes producers; then calls that are open are refused (CANCELLED), and nothing keeps the process
   * alive. Closing twice is fine. A handler of a consumer or a phase of a leader of this client, which it would wait for, is
   * refused at once (FAILED_PRECONDITION), and nothing is closed. On Node 20 and 22 a handler is known only until its first
   * `await`: after that `close` waits for it, and cuts it off.
   *
   * @param timeout ms that handlers and items that wait have. Default: 20 s, and what the items have
   */
  close(options: { readonly timeout?: number | undefined } = {}): Promise<void> {
    return this.#application.isCalledInside ? this.#refused() : this.#close(options);
  }

  /** An ignored promise ends no process; the log has a warning. */
  #refused(): Promise<void> {
    const error = closedInside();
    this.#base.log?.warn('keyturn: a close of the client is refused', { error: error.message });
    const refused = Promise.reject(error);
    refused.catch(() => undefined);
    return refused;
  }

  async #close(options: { readonly timeout?: number | undefined }): Promise<void> {
    checkEndOptions('the options of close', options);
    // Each time: a shorter timeout is heard. What comes after it happens once, when the first is through.
    const stopped = this.#application.close(options.timeout);
    this.#closed ??= this.#end(stopped);
    // What failed fails for all of them.
    stopped.catch(() => undefined);
    await this.#closed;
  }

  async #end(stopped: Promise<void>): Promise<void> {
    try {
      await stopped;
    } finally {
      // Whatever went wrong with a spool: the process is not kept alive by it.
      this.admin.close();
      await this.transport.close();
      this.#disconnect();
    }
  }
}
