/** The client of one sidecar. */
import type { CallSettings, Calls, HeldTurn, Transport } from './calls.js';
import { openChannel } from './channel.js';
import { type Clock, systemClock } from './clock.js';
import { AdminCalls } from './unary/admin.js';
import { UnaryTransport } from './unary/transport.js';
import type {
  AckAnswer,
  AckCall,
  AcquireAnswer,
  AcquireCall,
  AwaitAnswer,
  AwaitCall,
  DeQueueAnswer,
  DeQueueCall,
  EnQueueAnswer,
  EnQueueCall,
  NackAnswer,
  NackCall,
  RenewAnswer,
  RenewCall,
  SubmitAnswer,
  SubmitCall,
  Turn,
} from './words.js';

export interface KeyturnOptions {
  /** `session`: every call on one stream, which keeps turns alive and reconnects. `unary`: each call by itself. Unset: session. */
  readonly transport?: 'session' | 'unary' | undefined;
  /** Who asks, for people who look, in calls that do not say; up to 256 bytes. Unset: the sidecar sees the peer's address. */
  readonly consumerId?: string | undefined;
  /**
   * How long before a turn may have ended its signal aborts, ms. Unset: a tenth of its life, at most 2 s. Never more than
   * half of its life.
   */
  readonly margin?: number | undefined;
}

/**
 * Does no I/O: the connection is made by the first call.
 *
 * @param address `host:port` or `unix:/path`
 */
export function connect(address: string, options: KeyturnOptions = {}): Keyturn {
  const channel = openChannel(address);
  const clock = systemClock;
  const { consumerId, margin } = options;
  const transport = new UnaryTransport({ address, channel, clock, consumerId, margin });
  return new Keyturn(address, transport, new AdminCalls(address, channel), () => channel.close());
}

/** Made by {@link connect}. The calls of a worker, those of people as `admin`, and what is built on them. */
export class Keyturn implements Calls {
  readonly #disconnect: () => void;

  /** @param transport what the calls of a worker go through; for simulations, which bring their own */
  constructor(
    readonly address: string,
    readonly transport: Transport,
    readonly admin: AdminCalls,
    disconnect: () => void,
  ) {
    this.#disconnect = disconnect;
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

  submit(call: SubmitCall, settings?: CallSettings): Promise<SubmitAnswer> {
    return this.transport.submit(call, settings);
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

  /** Calls that are open are refused (CANCELLED); then nothing keeps the process alive. Closing twice is fine. */
  async close(): Promise<void> {
    await this.transport.close();
    this.#disconnect();
  }
}
