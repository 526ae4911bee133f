/** The sidecar of the simulated world: its streams are the real ones, over the real coordinator, in virtual time. */
import type { Coordinator, CoordinatorSettings, SessionListener } from '../../src/coordinator.js';
import { type CallStatus, statusOf } from '../../src/grpc/call/status.js';
import { Check } from '../../src/grpc/convert/validate.js';
import { FastDecoder } from '../../src/grpc/session/codec/fast-decoder.js';
import { SessionStream } from '../../src/grpc/session/stream.js';
import type { SessionCall, SessionContext } from '../../src/grpc/session/stream-call.js';
import type { LocalCoordinator } from '../../src/local/coordinator.js';
import { RecountedCoordinator } from '../support/recounted.js';
import type { ConnectionEnd, ConnectionListener, StreamEnd } from './network-connection.js';
import type { Host } from './network-line.js';
import { encodeStatus } from './network-status.js';
import type { Watch } from './network-watch.js';
import { watched } from './network-watched.js';
import type { Process } from './network-world.js';

/** Recounted after each so many steps; a prime, so that it is not always after the same. */
const RECOUNTED = 47;

/** As src/grpc/call/transport.ts has them. */
const KEEPALIVE = { time: 30_000, timeout: 10_000 };

export class Server implements Host {
  readonly coordinator: LocalCoordinator;
  readonly #context: SessionContext;
  readonly #connections = new Set<ConnectionEnd>();

  constructor(
    readonly process: Process,
    settings: CoordinatorSettings,
    seed: number,
    private readonly watch: Watch,
  ) {
    this.coordinator = new RecountedCoordinator(settings, { clock: process, seed }, RECOUNTED);
    this.#context = {
      coordinator: this.coordinator,
      limits: settings.limits,
      log: { info: nothing, warn: nothing, error: (fields) => watch.broken(`the sidecar logs ${errorIn(fields)}`) },
      parked: { count: 0 },
      check: new Check(settings.limits),
      decoder: new FastDecoder(),
      soon: (task) => process.soon(task),
      atEnd: (task) => process.atEnd(task),
      after: (ms, task) => process.after(ms, task),
    };
  }

  greet(from: string): ConnectionListener & { keepalive: typeof KEEPALIVE; connected(end: ConnectionEnd): void } {
    let mine: ConnectionEnd | undefined;
    return {
      keepalive: KEEPALIVE,
      connected: (end) => {
        mine = end;
        this.#connections.add(end);
      },
      opened: (stream) => this.#open(stream, from),
      lost: () => {
        if (mine !== undefined) this.#connections.delete(mine);
      },
    };
  }

  close(): void {
    for (const connection of [...this.#connections]) connection.lose();
    this.coordinator.close();
  }

  #open(end: StreamEnd, from: string): void {
    const call = new ServerCall(end, from);
    const stream = new SessionStream(this.#context, call, {
      reset: () => call.reset(),
      over: nothing,
    });
    const opened = this.#openSession(stream);
    if (!opened.ok) {
      call.emit('error', statusOf(opened.refusal));
      return;
    }
    stream.start(opened.value);
    call.begin();
  }

  #openSession(listener: SessionListener): ReturnType<Coordinator['openSession']> {
    const opened = this.coordinator.openSession(listener);
    return opened.ok ? { ok: true, value: watched(opened.value, this.watch) } : opened;
  }
}

type Heard = { data: (message: Buffer) => void; end: () => void; cancelled: () => void };

/** In the place of grpc-js's stream. */
class ServerCall implements SessionCall {
  readonly #listeners: { -readonly [E in keyof Heard]?: Heard[E] } = {};
  #isOver = false;

  constructor(
    private readonly stream: StreamEnd,
    private readonly from: string,
  ) {
    stream.pause();
    stream.onFarewell = () => {
      stream.close();
      this.#over();
    };
    stream.user = {
      message: (bytes) => this.#listeners.data?.(bytes),
      drained: nothing,
      gone: ({ how }) => (how === 'ended' ? this.#listeners.end?.() : this.#over()),
    };
  }

  on<E extends keyof Heard>(event: E, listener: Heard[E]): void {
    this.#listeners[event] = listener;
  }

  begin(): void {
    this.stream.resume();
  }

  getPeer(): string {
    return this.from;
  }

  getDeadline(): number {
    return Number.POSITIVE_INFINITY;
  }

  getPath(): string {
    return '/keyturn.v1.CoordinatorService/Session';
  }

  pause(): void {
    this.stream.pause();
  }

  resume(): void {
    this.stream.resume();
  }

  write(message: Buffer, taken: () => void): void {
    // Once they are taken the sidecar writes over its bytes.
    this.stream.write(Buffer.from(message), taken);
  }

  end(): void {
    this.stream.finish(encodeStatus({ code: 0, details: '', bytes: undefined }));
  }

  emit(_event: 'error', { code, details, metadata }: CallStatus): void {
    const [bytes] = metadata.get('grpc-status-details-bin');
    this.stream.finish(encodeStatus({ code, details, bytes: bytes instanceof Uint8Array ? bytes : undefined }));
  }

  reset(): void {
    this.stream.reset();
    this.#over();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listeners.cancelled?.();
  }
}

function nothing(): void {}

function errorIn(fields: object): string {
  const error: unknown = Reflect.get(fields, 'err');
  return error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(fields);
}
