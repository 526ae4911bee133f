/**
 * A link to the home of some partitions, on the side of the gateway. It lives through streams that break and come back
 * within a second; when it was broken for longer, that life of it is over, what waited is told so, and the next life
 * begins as soon as the home can be reached.
 */

import { randomBytes } from 'node:crypto';
import type { TurnRef } from '../../coordinator.js';
import { type EndedLink, EndReason, Lane as LaneName, type Open } from '../gen/keyturn/peer/v1/peer.js';
import type { Scheduler } from '../session/flow.js';
import type { Dial } from './dial.js';
import { GatewayStream } from './gateway-stream.js';
import type { HandOverStep } from './hand-over-step.js';
import { NEWEST, nonce, OLDEST } from './handshake.js';
import type { Lane } from './lane.js';
import { Life, type LifeSession } from './life.js';
import { BROKEN_FOR, MOST_SESSIONS } from './limits.js';

export interface LinkContext {
  readonly dial: Dial;
  readonly scheduler: Scheduler;
  readonly secret: string;
  /** The incarnation of this sidecar. */
  readonly incarnation: string;
  /** Of the program. */
  readonly version: string;
  routes(): number;
  /** A failure of our own. */
  failed(error: unknown): void;
  /** Said once, until it is another one or the link is there. */
  problem(address: string, why: string): void;
}

const LINK_ID_BYTES = 16;
const LAST_HANDLE = 0xffff_ffff;
/** ms between two tries to reach the home: twice as long each time, but for up to a half of it less. */
const FIRST_BACKOFF = 50;
const LONGEST_BACKOFF = 1_000;
/** Turns that are told to a home once there is a link to it again. More end by their lease. */
const MOST_TOLD_LATER = 10_000;
/** What was handed over longer ago is seen in the store by now, ms. */
const HANDED_OVER_LATE = 5_000;

interface Later {
  readonly partition: number;
  readonly turns: readonly TurnRef[];
  readonly unwanted: boolean;
}

/** A stream of a worker on this link, whatever life it has. */
interface LinkSession extends LifeSession {
  /** The home is told of it, in a life in which it was not yet. */
  say(life: Life): void;
}

type Name = 'small' | 'large';

export class Link {
  /** Set: calls are taken. A stream of it may be broken, for a second. */
  life: Life | undefined;
  /** Calls of workers that went over it. */
  asked = 0;
  readonly #sessions = new Map<number, LinkSession>();
  readonly #streams: { small: GatewayStream | undefined; large: GatewayStream | undefined } = {
    small: undefined,
    large: undefined,
  };
  /** The life that is being begun, or is there. */
  #current: Life | undefined;
  #before: EndedLink | undefined;
  #lastHandle = 0;
  #later: Later[] = [];
  /** Partitions that are handed over to this home, by number, when they let no call in any more: there was no link then. */
  readonly #handedOver = new Map<number, { readonly since: number; readonly step: HandOverStep }>();
  #callOffEnd: (() => void) | undefined;
  #callOffRetry: (() => void) | undefined;
  readonly #redials: { small: (() => void) | undefined; large: (() => void) | undefined } = {
    small: undefined,
    large: undefined,
  };
  #backoff = FIRST_BACKOFF;
  #problem = '';
  #isClosed = false;

  constructor(
    readonly address: string,
    readonly incarnation: string,
    private readonly context: LinkContext,
  ) {}

  get scheduler(): Scheduler {
    return this.context.scheduler;
  }

  /** Why no call is taken, for people. */
  get why(): string {
    const what = `there is no link to its home at ${this.address}`;
    return this.#problem === '' ? `${what} yet` : `${what}: ${this.#problem}`;
  }

  /** To be called once. */
  begin(): void {
    if (this.#isClosed) return;
    const context = this.context;
    const life: Life = new Life(randomBytes(LINK_ID_BYTES), this.address, this.#sessions, context.scheduler, {
      malformed: (error) => this.#over(life, String(error), EndReason.END_REASON_MALFORMED),
      silent: (lane) => this.#silent(life, lane === life.small ? 'small' : 'large'),
      routes: () => context.routes(),
    });
    this.#current = life;
    this.#dial(life, 'small', false);
    if (this.#current === life) this.#dial(life, 'large', false);
  }

  /** @param make with the number that it has on this link. @returns unset: there are too many */
  openSession<S extends LinkSession>(make: (number: number) => S): S | undefined {
    if (this.#sessions.size >= MOST_SESSIONS) return undefined;
    do this.#lastHandle = this.#lastHandle === LAST_HANDLE ? 1 : this.#lastHandle + 1;
    while (this.#sessions.has(this.#lastHandle));
    const session = make(this.#lastHandle);
    this.#sessions.set(this.#lastHandle, session);
    if (this.life !== undefined) session.say(this.life);
    return session;
  }

  /** @internal */
  closed(number: number): void {
    this.#sessions.delete(number);
  }

  tellLater(partition: number, turns: readonly TurnRef[], unwanted: boolean): void {
    if (this.#later.length < MOST_TOLD_LATER) this.#later.push({ partition, turns, unwanted });
  }

  /** The home is told that the partition is its, which was shut here for so many ms; once there is a link. */
  handedOver(partition: number, shutFor: number, step: HandOverStep): void {
    if (this.life !== undefined) this.life.handedOver(partition, Math.round(shutFor), step);
    else this.#handedOver.set(partition, { since: performance.now() - shutFor, step });
  }

  report(error: unknown): void {
    this.context.failed(error);
  }

  /** For good. What waits is told. */
  close(): void {
    this.#isClosed = true;
    this.#callOffRetry?.();
    this.#end('this sidecar does not use the link any more', EndReason.END_REASON_UNSPECIFIED);
  }

  #dial(life: Life, name: Name, resumes: boolean): void {
    const { dial, scheduler, secret } = this.context;
    const stream = new GatewayStream(dial, this.address, this.#open(life, name, resumes), secret, scheduler, {
      ready: (ready, received) => this.#ready(life, name, ready, received),
      message: (bytes) => life[name].receive(bytes),
      ended: (why, isFinal) => this.#ended(life, name, why, isFinal),
    });
    // It may have ended at once, and the next one have begun.
    if (this.#current === life && !stream.isOver) this.#streams[name] = stream;
  }

  #open(life: Life, name: Name, resumes: boolean): Open {
    return {
      oldest: OLDEST,
      newest: NEWEST,
      program: this.context.version,
      home: this.incarnation,
      gateway: this.context.incarnation,
      link: life.id,
      lane: name === 'small' ? LaneName.LANE_SMALL : LaneName.LANE_LARGE,
      nonce: nonce(),
      received: BigInt(life[name].received),
      before: this.#before,
      resumes,
    };
  }

  #ready(life: Life, name: Name, stream: Parameters<Lane['attach']>[0], received: number): void {
    if (this.#current !== life) return;
    this.#redials[name] = undefined;
    life[name].attach(stream, received);
    if (!life.small.isAttached || !life.large.isAttached) return;
    this.#callOffEnd?.();
    this.#callOffEnd = undefined;
    if (this.life === life) return;
    this.life = life;
    this.#backoff = FIRST_BACKOFF;
    this.#problem = '';
    this.#sayAgain(life);
  }

  /** All sessions, in one message, and the turns of which nobody learnt meanwhile. */
  #sayAgain(life: Life): void {
    for (const session of this.#sessions.values()) session.say(life);
    const later = this.#later;
    this.#later = [];
    for (const { partition, turns, unwanted } of later) life.undeliverable(0, partition, turns, unwanted);
    const now = performance.now();
    for (const [partition, { since, step }] of this.#handedOver)
      if (now - since <= HANDED_OVER_LATE) life.handedOver(partition, Math.round(now - since), step);
    this.#handedOver.clear();
  }

  #silent(life: Life, name: Name): void {
    if (this.#current !== life) return;
    this.#streams[name]?.close();
    this.#ended(life, name, `the sidecar at ${this.address} does not answer, though its connection stands`, false);
  }

  #ended(life: Life, name: Name, why: string, isFinal: boolean): void {
    if (this.#current !== life) return;
    this.#streams[name] = undefined;
    life[name].detach();
    this.#tell(why);
    // What has not been whole yet is begun again as a whole.
    if (isFinal || this.life !== life) return this.#over(life, why, EndReason.END_REASON_UNSPECIFIED);
    this.#callOffEnd ??= this.scheduler.after(BROKEN_FOR, () => this.#over(life, why, EndReason.END_REASON_OVER));
    const isFirst = this.#redials[name] === undefined;
    this.#redials[name] = this.scheduler.after(isFirst ? 0 : FIRST_BACKOFF, () => {
      if (this.#current === life && this.#streams[name] === undefined) this.#dial(life, name, true);
    });
  }

  /** This life of it is over; the next one begins soon. */
  #over(life: Life, why: string, reason: EndReason): void {
    if (this.#current !== life) return;
    this.#tell(why);
    this.#end(why, reason);
    if (this.#isClosed) return;
    const wait = this.#backoff * (1 - Math.random() / 2);
    this.#backoff = Math.min(this.#backoff * 2, LONGEST_BACKOFF);
    this.#callOffRetry = this.scheduler.after(wait, () => this.begin());
  }

  #end(message: string, reason: EndReason): void {
    const life = this.#current;
    this.#current = undefined;
    for (const name of ['small', 'large'] as const) {
      this.#redials[name]?.();
      this.#redials[name] = undefined;
      this.#streams[name]?.close({ reason, message });
      this.#streams[name] = undefined;
    }
    this.#callOffEnd?.();
    this.#callOffEnd = undefined;
    if (life === undefined) return;
    const wasWhole = this.life === life;
    this.life = undefined;
    life.end();
    if (wasWhole) this.#before = { link: life.id, small: BigInt(life.small.done), large: BigInt(life.large.done) };
  }

  #tell(why: string): void {
    if (this.#problem === why) return;
    this.#problem = why;
    this.context.problem(this.address, why);
  }
}
