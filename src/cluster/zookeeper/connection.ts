import { Buffer } from 'node:buffer';
import { connect, type Socket } from 'node:net';
import type { Clock } from '../../local/clock.js';
import type { JournalError } from '../../local/journal/journal.js';
import type { EngineHost } from '../address/engine-address.js';
import { storeError } from '../store/partition/failures.js';
import { CODE, connectText, ZooKeeperError } from './failures.js';
import { Frames } from './frames.js';
import { JuteError, JuteReader, JuteWriter } from './jute.js';
import { CLOSE, type Hello, helloFrame, login, PING, type Request, readWelcome, type Welcome } from './requests.js';

interface ConnectionOptions {
  readonly host: EngineHost;
  /** Of the ensemble, for people. */
  readonly name: string;
  /** USER:PASSWORD. */
  readonly login: Buffer | undefined;
  readonly hello: Hello;
  /** A request has its answer after this, or its outcome is unknown, ms. */
  readonly deadline: number;
  /** The same for all that is asked while it is opened, together. */
  readonly openDeadline: number;
  readonly clock: Clock;
}

/** The session that was to go on is over. */
export class SessionOver extends Error {
  override readonly name = 'SessionOver';
}

/** What an answer of the server begins with in place of the number of a request. */
const NOTICE = -1;
const PING_XID = -2;
const AUTH_XID = -4;
const NUMBERS = 0x7f_ff_ff_ff;
const UNWELCOME =
  'the server closed the connection (it has no majority now, or maxClientCnxns is reached for this machine, or it is another service)';
/** Under way at once. Whoever asks has few: this is never reached but by a mistake. */
const MOST_PENDING = 4_096;
/** A server takes 1 MiB (`jute.maxbuffer`), and breaks the connection at more. */
const LONGEST_REQUEST = 1_000_000;

interface Pending {
  readonly xid: number;
  readonly what: string;
  take(from: JuteReader): void;
  fail(error: Error): void;
  callOff: () => void;
}

/**
 * One connection with one server, for as long as it lasts: it is never opened again, and nothing is sent twice. Answers are taken in
 * the order of the requests. One that does not come in time ends it, as does one that is none: whatever is under way is unknown then.
 */
export class ZooKeeperConnection {
  /** A node that was to be watched has changed, or is gone. */
  onNotice: ((path: string) => void) | undefined;
  #welcome: Welcome | undefined;
  #isOpen = true;
  #xid = 0;
  #sentAt: number;
  readonly #frames = new Frames();
  readonly #pending: Pending[] = [];
  /** Answers that do not come in the order of requests, by their numbers. */
  readonly #others = new Map<number, Pending>();
  #onWelcome: ((welcome: Welcome) => void) | undefined;
  #onFailure: ((error: Error) => void) | undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly options: ConnectionOptions,
  ) {
    this.#sentAt = options.clock.now();
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.on('error', (error) => this.#end(connectText(error)));
    socket.on('close', () => this.#end(this.#welcome === undefined ? UNWELCOME : 'the server closed the connection'));
  }

  /** @throws SessionOver; JournalError: `unfit`, it may not log in; `io`, it cannot be reached */
  static async open(options: ConnectionOptions): Promise<ZooKeeperConnection> {
    const { host, clock, openDeadline, hello } = options;
    const socket = connect({ host: host.host, port: host.port, noDelay: true });
    const connection = new ZooKeeperConnection(socket, options);
    const callOff = clock.after(openDeadline, () => connection.#end(`no answer within ${openDeadline} ms`));
    try {
      const welcome = await new Promise<Welcome>((resolve, reject) => {
        connection.#onWelcome = resolve;
        connection.#onFailure = reject;
        socket.write(helloFrame(hello));
      });
      if (welcome.isExpired) throw new SessionOver(`the session with ${options.name} is over`);
      connection.#welcome = welcome;
      if (options.login !== undefined) await connection.ask(login(options.login));
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      callOff();
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Of the session, as the server has it. */
  get welcome(): Welcome {
    if (this.#welcome === undefined) throw new TypeError('a connection that is not open yet');
    return this.#welcome;
  }

  /** Since the last request, ms. */
  get idle(): number {
    return this.options.clock.now() - this.#sentAt;
  }

  /** @throws ZooKeeperError: it was not done; JournalError `io`: it is not known whether it was done */
  ask<T>(request: Request<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const { deadline, clock } = this.options;
      const xid = this.#numberOf(request);
      const frame = frameOf(xid, request);
      const why = this.#whyNot(frame, xid);
      if (why !== undefined) return reject(this.#failure(`${request.what}: ${why}`));
      const pending: Pending = {
        xid,
        what: request.what,
        take: (from) => resolve(request.read(from)),
        fail: reject,
        callOff: clock.after(deadline, () => this.#end(`no answer within ${deadline} ms`)),
      };
      if (xid < 0) this.#others.set(xid, pending);
      else this.#pending.push(pending);
      this.#send(frame);
    });
  }

  /** Ends it at once. */
  destroy(): void {
    this.#end('the connection was given up');
  }

  /** Ends the session and the connection, and waits for nothing. */
  leave(): void {
    if (!this.#isOpen) return;
    // Who ends does not wait for a server that does not answer.
    this.socket.unref();
    this.socket.end(frameOf(this.#numberOf(CLOSE), CLOSE));
    this.#isOpen = false;
    this.#failAll('the connection was closed');
  }

  #numberOf(request: Request<unknown>): number {
    if (request === PING) return PING_XID;
    if (request.type === AUTH) return AUTH_XID;
    this.#xid = this.#xid === NUMBERS ? 1 : this.#xid + 1;
    return this.#xid;
  }

  #whyNot(frame: Buffer, xid: number): string | undefined {
    if (!this.#isOpen) return 'the connection was lost';
    if (frame.length > LONGEST_REQUEST) return `${frame.length} bytes are more than a server takes`;
    return this.#pending.length >= MOST_PENDING || this.#others.has(xid) ? 'too much is under way' : undefined;
  }

  /** What is asked at once goes in one packet. */
  #send(frame: Buffer): void {
    const { socket } = this;
    this.#sentAt = this.options.clock.now();
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    socket.write(frame);
  }

  #receive(bytes: Buffer): void {
    try {
      for (const frame of this.#frames.take(bytes)) {
        if (!this.#isOpen) return;
        this.#take(new JuteReader(frame));
      }
    } catch (error) {
      if (!(error instanceof JuteError)) throw error;
      this.#end(`what the server sent is not understood: ${error.message}`);
    }
  }

  #take(from: JuteReader): void {
    if (this.#onWelcome !== undefined) {
      const welcome = readWelcome(from);
      this.#onWelcome(welcome);
      this.#onWelcome = undefined;
      return;
    }
    const [xid, , code] = [from.int(), from.long(), from.int()];
    if (xid === NOTICE) return this.#notice(from);
    const pending = this.#pendingOf(xid);
    if (code === 0) pending.take(from);
    else pending.fail(new ZooKeeperError(code, pending.what));
    pending.callOff();
    if (xid < 0) this.#others.delete(xid);
    else this.#pending.shift();
    // Another connection has the session now, or nobody has it.
    if (code === CODE.sessionMoved || code === CODE.sessionExpired) this.#end('the session went on elsewhere');
  }

  /** It stays under way until it was read: what cannot be read ends it with all others. */
  #pendingOf(xid: number): Pending {
    const pending = xid < 0 ? this.#others.get(xid) : this.#pending[0];
    if (pending?.xid !== xid) throw new JuteError(`an answer to ${xid}, which was not asked now`);
    return pending;
  }

  #notice(from: JuteReader): void {
    const [type] = [from.int(), from.int()];
    const path = from.text();
    // The others tell of the connection.
    if (type > 0) this.onNotice?.(path);
  }

  #end(why: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.socket.destroy();
    this.#failAll(why);
  }

  #failAll(why: string): void {
    const error = this.#failure(why);
    this.#onFailure?.(error);
    for (const pending of [...this.#pending.splice(0), ...this.#others.values()]) {
      pending.callOff();
      pending.fail(error);
    }
    this.#others.clear();
  }

  #failure(why: string): JournalError {
    const { name, host } = this.options;
    return storeError('io', `${name}, at ${host.host}:${host.port}: ${why}`);
  }
}

const AUTH = login(Buffer.alloc(0)).type;

function frameOf(xid: number, request: Request<unknown>): Buffer {
  const to = new JuteWriter().int(xid).int(request.type);
  request.write(to);
  return to.frame();
}
