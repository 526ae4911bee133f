/** What came in on a lane and is not done yet: in order, each message once, as much as the window lets the other side send. */
import type { Scheduler } from '../session/flow.js';
import type { Header } from './codec/header.js';
import { WireReader } from './codec/wire-reader.js';

export interface InboxListener {
  /** One field of a message. The reader stands in it and must be left behind it. @throws Error when it is malformed */
  entry(field: number, from: WireReader): void;
  /** A message begins: the other side follows this version of the cluster's record. */
  begins(routes: number): void;
  /** What came is no message of this protocol. The link cannot go on. */
  malformed(error: unknown): void;
}

interface InboxLane {
  /** Everything up to this message of the other lane is done. */
  mayDo(after: number): boolean;
  /** Everything of one more message is done. */
  isDone(bytes: number): void;
}

interface Received {
  readonly header: Header;
  readonly bytes: Buffer;
}

/**
 * Entries that are done in one go. Then the event loop gets its turn, and what they led to leaves: with all that is in
 * flight in one message, the other side would have nothing to do while this one works, and the other way round.
 */
const AT_ONCE = 128;

export class Inbox {
  /** The number of the last message that came in. */
  received = 0;
  /** Of the last one of which everything is done. */
  done = 0;
  readonly #waiting: Received[] = [];
  #bytes = 0;
  readonly #reader = new WireReader();
  /** Where the next entry of the first message begins; 0: it is not begun. */
  #at = 0;
  #isWorking = false;
  /** The rest is done in the next turn of the event loop. */
  #isScheduled = false;
  #isOver = false;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly window: number,
    private readonly listener: InboxListener,
    private readonly lane: InboxLane,
  ) {}

  /** @returns false: it came before. @throws RangeError when it cannot come now */
  take(header: Header, bytes: Buffer): boolean {
    const { number } = header;
    if (number <= this.received) return false;
    if (number !== this.received + 1) throw new RangeError(`message ${number} came after message ${this.received}`);
    // What fills the window, and one message more, may be on its way.
    if (this.#bytes > this.window)
      throw new RangeError(`${this.#bytes} bytes wait to be done; the window is ${this.window}`);
    this.received = number;
    this.#waiting.push({ header, bytes });
    this.#bytes += bytes.length;
    return true;
  }

  readonly work = (): void => {
    if (this.#isScheduled) return;
    this.#guarded(() => {
      if (!this.#workSome()) return;
      this.#isScheduled = true;
      this.scheduler.soon(this.#goOn);
    });
  };

  readonly #goOn = (): void => {
    this.#isScheduled = false;
    this.work();
  };

  /** Does all that may be done, in one go. */
  finish(): void {
    this.#guarded(() => {
      while (this.#workSome());
    });
  }

  end(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
  }

  #guarded(task: () => void): void {
    if (this.#isWorking || this.#isOver) return;
    this.#isWorking = true;
    try {
      task();
    } catch (error) {
      this.listener.malformed(error);
    } finally {
      this.#isWorking = false;
    }
  }

  /** @returns whether there is more that may be done */
  #workSome(): boolean {
    let left = AT_ONCE;
    for (let message = this.#waiting[0]; message !== undefined; message = this.#waiting[0]) {
      const { header, bytes } = message;
      if (!this.lane.mayDo(header.after)) return false;
      if (this.#at === 0) {
        this.#at = header.body;
        this.listener.begins(header.routes);
      }
      const reader = this.#reader.over(bytes, this.#at);
      for (let field = reader.field(); field !== 0; field = reader.field()) {
        this.listener.entry(field, reader);
        if (this.#isOver) return false;
        left -= 1;
        if (left > 0) continue;
        this.#at = reader.at;
        return true;
      }
      this.#at = 0;
      this.#waiting.shift();
      this.#bytes -= bytes.length;
      this.done = header.number;
      this.lane.isDone(bytes.length);
    }
    return false;
  }
}
