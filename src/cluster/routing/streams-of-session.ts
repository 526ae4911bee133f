import type {
  Calls,
  Coordinator,
  HelloAnswer,
  HelloRequest,
  Notice,
  Refusal,
  SessionListener,
  SessionStamp,
} from '../../coordinator.js';
import { isAway } from './asking.js';
import { SessionLife } from './live-turns.js';
import type { Router } from './router.js';
import { NoStream, StreamAtHome, type StreamOwner } from './stream-at-home.js';
import type { Source, Target } from './target.js';

/** A home that has turns of the session and does not hear of it within this time will end them unheard, ms. */
const OWED_FOR = 500;

/** What the streams of a session tell it. */
export interface SessionOwner extends SessionListener {
  /** Its hello is not answered yet. */
  readonly isGreeting: boolean;
  /** A home has the session now, with these turns. */
  greeted(partition: number, answer: HelloAnswer): void;
  /** A home has not, for this reason; it is tried again. */
  notGreeted(partition: number, refusal: Refusal): void;
  /** A newer stream has the session there. */
  isOlder(newer: SessionStamp): void;
  /** The end of turns that it has would not be told any more. */
  broken(why: Refusal): void;
}

/** What is said at each home. */
export interface Greeting {
  readonly consumerId: string;
  readonly sessionId: string;
  readonly ttl: number;
}

/** The streams of one session at the homes of all partitions, each opened when it is needed. */
export class StreamsOfSession implements Source, StreamOwner {
  /** Of the turns that are tied to it. */
  readonly life = new SessionLife();
  readonly #streams: (StreamAtHome | undefined)[] = [];
  #greeting: HelloRequest | undefined;
  /** Calls that waited for the answer to this hello hear that it was refused. */
  #refused: { readonly partition: number; readonly refusal: Refusal } | undefined;
  /** Partitions whose homes have to hear of the session, and have not. */
  readonly #missing = new Set<number>();
  /** Of those, where turns are tied to it, and since when the home is known, by the clock. */
  readonly #owed = new Map<number, number>();
  #isOver = false;
  readonly #again = () => this.greetMissing();

  /** Set before anything is asked. */
  owner: SessionOwner | undefined;
  #calls: Calls | undefined;

  constructor(private readonly router: Router) {}

  /** Those of the session; of the router until they are set. */
  get calls(): Calls {
    return this.#calls ?? this.router.calls;
  }

  set calls(calls: Calls) {
    this.#calls = calls;
  }

  target(partition: number): Target | undefined {
    // Calls that only end turns go on without the session.
    if (this.#isOver) return this.router.target(partition);
    const home = this.router.homes.home(partition);
    if (home === undefined) return undefined;
    const known = this.#streams[partition];
    // Who hears of a turn before the answer to its hello, which cannot name that turn, takes it for one that is gone.
    const mayAsk = this.owner?.isGreeting !== true;
    if (known !== undefined && known.home === home) {
      known.isUsed = true;
      return known.isReady && mayAsk ? known : undefined;
    }
    if (this.#refused?.partition === partition) return new NoStream(partition, home, this.#refused.refusal);
    const opened = this.#open(partition, home);
    if (opened instanceof StreamAtHome) opened.isUsed = true;
    if (opened instanceof StreamAtHome && opened.isReady) return mayAsk ? opened : undefined;
    // The hello may have been refused at once; where it is not, calls wait for its answer.
    const refusal = opened instanceof StreamAtHome ? opened.refusal : opened;
    return refusal === undefined || isAway(refusal) ? undefined : new NoStream(partition, home, refusal);
  }

  /**
   * Says hello at every home, also where there is a stream; or, `everywhere` unset, only where there is one, and elsewhere
   * when it is needed.
   * @returns partitions whose homes were not asked
   */
  greet(greeting: Greeting, stamp: SessionStamp, everywhere: boolean): readonly number[] {
    const said = { ...greeting, stamp };
    this.#greeting = said;
    const { homes } = this.router;
    const unasked: number[] = [];
    // An answer may end it all, or begin it anew.
    for (let partition = 0; partition < homes.partitions && this.#greeting === said; partition += 1) {
      const known = this.#streams[partition];
      if (!everywhere && known === undefined) unasked.push(partition);
      else if (known !== undefined && known.home === homes.home(partition)) known.hello(said);
      else if (!this.#greetAt(partition)) unasked.push(partition);
    }
    return unasked;
  }

  /** As if it had said no hello. */
  forget(): void {
    this.retireAll();
    this.#greeting = undefined;
    this.#missing.clear();
    this.#owed.clear();
  }

  /**
   * Streams at homes that have no turn of the session and were not asked anything: there may be very many, and each takes a
   * place there. The next call opens one again.
   */
  releaseUnused(): void {
    for (const [partition, stream] of this.#streams.entries()) {
      if (stream === undefined || stream.isUsed || !stream.isReady) continue;
      this.#streams[partition] = undefined;
      stream.retire();
    }
  }

  /** Forgets all streams, which end when what they were asked is answered. */
  retireAll(): void {
    for (const stream of this.#streams) stream?.retire();
    this.#streams.length = 0;
  }

  /** The hello is answered: calls that waited for that go on. */
  answered(): void {
    for (let partition = 0; partition < this.router.homes.partitions; partition += 1) {
      this.router.gates.opened(this, partition);
    }
  }

  /** Homes have changed: where turns of the session may live it is said hello at once, so that they live on. */
  changed(partitions: readonly number[]): void {
    for (const partition of partitions) {
      const home = this.router.homes.home(partition);
      const known = this.#streams[partition];
      if (home === undefined || known?.home === home) continue;
      if (known !== undefined && this.#greeting !== undefined) {
        this.#missing.add(partition);
        if (known.isUsed) this.#owed.set(partition, this.router.clock.now());
      } else if (this.#owed.has(partition)) this.#owed.set(partition, this.router.clock.now());
      known?.retire();
      this.#streams[partition] = undefined;
      if (this.#missing.has(partition)) this.#greetAt(partition);
    }
  }

  /** Homes that are known and were not reached. */
  greetMissing(): void {
    const { clock, homes, gates } = this.router;
    for (const [partition, since] of this.#owed) {
      if (homes.home(partition) === undefined) this.#owed.set(partition, clock.now());
      else if (clock.now() - since >= OWED_FOR) return this.owner?.broken(gates.refusal(partition));
    }
    for (const partition of [...this.#missing]) {
      if (this.router.homes.home(partition) !== undefined) this.#greetAt(partition);
    }
    this.#urgeIfNeeded();
  }

  /** From now on calls go to the homes without a session. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#greeting = undefined;
    this.router.gates.rest(this.#again);
    for (const stream of this.#streams) stream?.close();
    this.#streams.length = 0;
    this.#missing.clear();
    this.#owed.clear();
  }

  notice(notice: Notice): void {
    this.owner?.notice(notice);
  }

  replaced(stream: StreamAtHome): void {
    if (this.#isCurrent(stream)) this.owner?.replaced();
  }

  /** Turns may be tied to it there. */
  broken(stream: StreamAtHome, why: Refusal): void {
    if (this.#isCurrent(stream) && stream.isUsed && this.#greeting !== undefined) this.owner?.broken(why);
  }

  greeted(stream: StreamAtHome, answer: HelloAnswer): void {
    if (!this.#isCurrent(stream)) return;
    this.#missing.delete(stream.partition);
    this.#owed.delete(stream.partition);
    this.owner?.greeted(stream.partition, answer);
    this.router.gates.opened(this, stream.partition);
  }

  notGreeted(stream: StreamAtHome, refusal: Refusal): void {
    if (!this.#isCurrent(stream)) return;
    this.#streams[stream.partition] = undefined;
    stream.retire();
    if (refusal.kind === 'session_replaced' && refusal.newer !== undefined) return this.owner?.isOlder(refusal.newer);
    this.#notGreeted(stream.partition, refusal);
  }

  #notGreeted(partition: number, refusal: Refusal): void {
    if (isAway(refusal)) {
      this.#missing.add(partition);
      this.#urgeIfNeeded();
    } else {
      // It is tried again by the next call that goes there.
      this.#refused = { partition, refusal };
      this.router.gates.opened(this, partition);
      this.#refused = undefined;
      if (this.#owed.delete(partition)) return this.owner?.broken(refusal);
    }
    this.owner?.notGreeted(partition, refusal);
  }

  #isCurrent(stream: StreamAtHome): boolean {
    return !this.#isOver && this.#streams[stream.partition] === stream;
  }

  /** @returns whether a home was asked */
  #greetAt(partition: number): boolean {
    const home = this.router.homes.home(partition);
    if (home === undefined) {
      this.#missing.add(partition);
      return false;
    }
    const opened = this.#open(partition, home);
    if (!(opened instanceof StreamAtHome)) this.#notGreeted(partition, opened);
    return true;
  }

  /**
   * Of a session that said hello: hello comes before any call.
   * @returns why the home took it not, if it said so at once
   */
  #open(partition: number, home: Coordinator): StreamAtHome | Refusal {
    this.#streams[partition]?.retire();
    this.#streams[partition] = undefined;
    const opened = StreamAtHome.open(partition, home, this);
    if (!(opened instanceof StreamAtHome)) return opened;
    this.#streams[partition] = opened;
    if (this.#greeting !== undefined) opened.hello(this.#greeting);
    return opened;
  }

  #urgeIfNeeded(): void {
    const { homes, gates } = this.router;
    let isUrgent = false;
    for (const partition of this.#missing) isUrgent ||= !this.#isOver && homes.home(partition) !== undefined;
    if (isUrgent) gates.urge(this.#again);
    else gates.rest(this.#again);
  }
}
