/**
 * A network in virtual time between the client's session and the sidecar's own: delays, streams that are lost in the
 * middle of anything, sides that notice it late or not at all, messages on their way that never arrive.
 */
import { KeyturnError } from '@keyturn/client';
import { SessionRequest, SessionResponse } from '#client/gen/keyturn/v1/coordinator';
import type { SessionStream as ClientStream, OpenStream, StreamHandlers } from '#client/session/network';
import type { Coordinator } from '../../../src/coordinator.js';
import { DEFAULT_LIMITS } from '../../../src/core/contract/limits.js';
import { Check } from '../../../src/grpc/convert/validate.js';
import { FastDecoder } from '../../../src/grpc/session/codec/fast-decoder.js';
import { SessionStream } from '../../../src/grpc/session/stream.js';
import type { SessionCall, SessionContext } from '../../../src/grpc/session/stream-call.js';
import type { Chance } from '../../sim/random.js';
import type { FakeClock } from '../../support/fake-clock.js';

export interface Weather {
  /** Longest way of a message, ms. */
  readonly delay: number;
  /** Longest time until the sidecar notices that a stream is gone, ms. */
  readonly blindness: number;
  /** Of 100 lost streams, how many the client is not told of. */
  readonly silent: number;
  /** Of 100 attempts to connect, how many fail. */
  readonly refused: number;
}

export class VirtualNetwork {
  readonly #links = new Set<Link>();
  readonly #context: SessionContext;
  weather: Weather;
  /** What the sidecar complained of: it must never. */
  readonly complaints: unknown[] = [];

  constructor(
    readonly clock: FakeClock,
    readonly chance: Chance,
    coordinator: Coordinator,
    weather: Weather,
  ) {
    this.weather = weather;
    const complain = (fields: object, message: string) => void this.complaints.push({ ...fields, message });
    this.#context = {
      coordinator,
      limits: DEFAULT_LIMITS,
      log: { info: complain, warn: complain, error: complain },
      parked: { count: 0 },
      check: new Check(DEFAULT_LIMITS),
      decoder: new FastDecoder(),
      soon: (task) => clock.soon(task),
      atEnd: (task) => clock.atEnd(task),
      after: (ms, task) => clock.after(ms, task),
    };
  }

  readonly open: OpenStream = (handlers) => {
    const link: Link = new Link(this, this.#context, handlers, () => this.#links.delete(link));
    this.#links.add(link);
    return link.client;
  };

  /** Each stream is lost with this chance in 100. */
  storm(percent: number): void {
    for (const link of [...this.#links]) if (this.chance.in100(percent)) link.lose();
  }

  later(ms: number, task: () => void): void {
    this.clock.after(ms, task);
  }
}

/** One way of a stream: what is sent first arrives first. */
class Way {
  #lastArrival = 0;
  #open = true;

  constructor(private readonly network: VirtualNetwork) {}

  send(arrive: () => void): void {
    const { clock, chance, weather } = this.network;
    this.#lastArrival = Math.max(this.#lastArrival, clock.now() + chance.int(0, weather.delay));
    this.network.later(this.#lastArrival - clock.now(), () => {
      if (this.#open) arrive();
    });
  }

  /** What is on its way never arrives. */
  close(): void {
    this.#open = false;
  }
}

/** One stream: what the client sees of it, and what the sidecar does. */
class Link {
  readonly #toSidecar: Way;
  readonly #toClient: Way;
  readonly #call: Call;
  #handlers: StreamHandlers | undefined;

  constructor(
    private readonly network: VirtualNetwork,
    private readonly context: SessionContext,
    handlers: StreamHandlers,
    private readonly onOver: () => void,
  ) {
    this.#toSidecar = new Way(network);
    this.#toClient = new Way(network);
    this.#handlers = handlers;
    this.#call = new Call(network.clock, {
      message: (bytes) => this.#toClient.send(() => this.#handlers?.message(SessionResponse.decode(bytes))),
      ended: (error) => this.#toClient.send(() => this.#tellClient(error)),
    });
    const refused = network.chance.in100(network.weather.refused);
    this.#toSidecar.send(() => (refused ? this.#tellClient(unavailable()) : this.#arrive()));
  }

  readonly client: ClientStream = {
    write: (commands) => {
      const bytes = Buffer.from(SessionRequest.encode({ commands: [...commands] }).finish());
      this.#toSidecar.send(() => this.#call.deliver(bytes));
      return true;
    },
    end: () => this.#toSidecar.send(() => this.#call.emit('end')),
    destroy: () => {
      this.#handlers = undefined;
      this.#toSidecar.send(() => this.#call.cancelled());
    },
  };

  /** The connection is gone. What was on its way is lost; each side notices in its own time. */
  lose(): void {
    this.#toSidecar.close();
    this.#toClient.close();
    this.onOver();
    const { chance, weather } = this.network;
    this.network.later(chance.int(0, weather.blindness), () => this.#call.cancelled());
    if (chance.in100(weather.silent)) return;
    this.network.later(chance.int(0, weather.delay), () => this.#tellClient(unavailable()));
  }

  #arrive(): void {
    const stream = new SessionStream(this.context, this.#call, { reset: () => this.#call.cancelled(), over: () => {} });
    const opened = this.context.coordinator.openSession(stream);
    if (opened.ok) stream.start(opened.value);
    else this.#tellClient(unavailable());
  }

  #tellClient(error: KeyturnError | undefined): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    this.onOver();
    handlers?.ended(error);
  }
}

/** What the sidecar has of a stream. */
class Call implements SessionCall {
  readonly #listeners = new Map<string, (message: Buffer) => void>();
  #paused: Buffer[] | undefined;
  #isOver = false;

  constructor(
    private readonly clock: FakeClock,
    private readonly out: { message(bytes: Buffer): void; ended(error: KeyturnError | undefined): void },
  ) {}

  getPeer(): string {
    return 'virtual';
  }

  getDeadline(): number {
    return Number.POSITIVE_INFINITY;
  }

  getPath(): string {
    return '/keyturn.v1.CoordinatorService/Session';
  }

  on(event: string, listener: (message: Buffer) => void): void {
    this.#listeners.set(event, listener);
  }

  pause(): void {
    this.#paused ??= [];
  }

  resume(): void {
    const waiting = this.#paused ?? [];
    this.#paused = undefined;
    for (const message of waiting) this.deliver(message);
  }

  deliver(message: Buffer): void {
    if (this.#paused !== undefined) this.#paused.push(message);
    else this.emit('data', message);
  }

  write(message: Buffer, taken: () => void): void {
    // Once they are taken the sidecar writes over its bytes.
    this.out.message(Buffer.from(message));
    this.clock.soon(taken);
  }

  end(): void {
    this.out.ended(undefined);
    this.clock.soon(() => this.cancelled());
  }

  emit(event: string, told: unknown = Buffer.alloc(0)): void {
    if (told instanceof Buffer) return this.#listeners.get(event)?.(told);
    // An end with an error: its status carries what the client has to know.
    this.out.ended(new KeyturnError('the sidecar ended the stream', 'ABORTED', 'SESSION_REPLACED'));
    this.clock.soon(() => this.cancelled());
  }

  cancelled(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.emit('cancelled');
  }
}

function unavailable(): KeyturnError {
  return new KeyturnError('the connection is gone', 'UNAVAILABLE');
}
