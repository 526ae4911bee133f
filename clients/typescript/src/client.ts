/** The client of one sidecar. */
import { randomUUID } from 'node:crypto';
import type { Channel } from '@grpc/grpc-js';
import type { CallSettings, Calls, HeldTurn, Transport } from './calls.js';
import { openChannel } from './channel.js';
import { type Clock, systemClock, systemRandom } from './clock.js';
import { checkOptions, type KeyturnOptions } from './options.js';
import { DEFAULT_BACK_OFF } from './session/back-off.js';
import { grpcStreams } from './session/grpc-stream.js';
import { DEFAULT_OPEN_LIMITS } from './session/open-commands.js';
import { SessionTransport } from './session/transport.js';
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

/** As the sidecar's own. */
const DEFAULT_TTL_MS = 10_000;

/**
 * Does no I/O: the connection is made by the first call.
 *
 * @param address `host:port` or `unix:/path`
 * @throws KeyturnError when an option is wrong
 */
export function connect(address: string, options: KeyturnOptions = {}): Keyturn {
  checkOptions(options);
  const channel = openChannel(address);
  const transport =
    options.transport === 'unary' ? unary(address, channel, options) : session(address, channel, options);
  return new Keyturn(address, transport, new AdminCalls(address, channel), () => channel.close());
}

function unary(address: string, channel: Channel, { consumerId, margin }: KeyturnOptions): Transport {
  return new UnaryTransport({ address, channel, clock: systemClock, consumerId, margin });
}

function session(address: string, channel: Channel, options: KeyturnOptions): Transport {
  const settings = {
    sessionId: options.sessionId ?? randomUUID(),
    clientId: randomUUID(),
    consumerId: options.consumerId,
    ttl: options.sessionTtl ?? DEFAULT_TTL_MS,
    margin: options.margin,
    limits: {
      commands: options.openCommands ?? DEFAULT_OPEN_LIMITS.commands,
      bytes: options.openBytes ?? DEFAULT_OPEN_LIMITS.bytes,
    },
    backOff: DEFAULT_BACK_OFF,
  };
  const openStream = grpcStreams(address, channel);
  return new SessionTransport(settings, { clock: systemClock, random: systemRandom, openStream });
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
    this.admin.close();
    await this.transport.close();
    this.#disconnect();
  }
}
