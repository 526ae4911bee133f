/**
 * One life of a link, on the side of the gateway: from its handshake until it was broken for too long. What is asked has
 * its answer in the same life, or none; nothing of one life is known to the next one.
 */

import type { Notice, Refusal, TurnRef } from '../../coordinator.js';
import type { WireWriter } from '../session/codec/wire-writer.js';
import type { Scheduler } from '../session/flow.js';
import { readNotice } from './codec/answers.js';
import { ASK, TELL, writeNumbers, writeUndeliverable } from './codec/entries.js';
import { readRefusal } from './codec/refusals.js';
import type { WireReader } from './codec/wire-reader.js';
import { type HandOverStep, numberOf } from './hand-over-step.js';
import { Lane } from './lane.js';
import { LARGE_LANE, MOST_OPEN, MOST_UNSENT, SMALL_LANE } from './limits.js';
import { linkFull, tooManyCalls } from './refusals.js';
import { writeEntry } from './write-entry.js';

/** What waits for an answer. */
export interface OpenEntry {
  /** The lane and the message in which it went. */
  lane: Lane;
  message: number;
  /** @throws RangeError when that is no answer to this */
  answered(outcome: number, from: WireReader): void;
  refused(refusal: Refusal): void;
  /** An answer as JSON, or events: with how many were missed. */
  told(bytes: Buffer, missed: number): void;
  /** The link is over. @param wasSent it may have been carried out */
  lost(wasSent: boolean): void;
}

/** A stream of a worker, as its home speaks to it. */
export interface LifeSession {
  notice(notice: Notice): void;
  replaced(): void;
  wasRefused(refusal: Refusal): void;
  /** This life of the link is over: the home counts the stream as broken. */
  lost(life: Life): void;
}

interface LifeListener {
  malformed(error: unknown): void;
  silent(lane: Lane): void;
  routes(): number;
}

/** Calls that are given up in one go. */
const AT_ONCE = 1_000;
const LAST_ID = 0xffff_ffff;

export class Life {
  readonly small: Lane;
  readonly large: Lane;
  readonly #open = new Map<number, OpenEntry>();
  #lastId = 0;

  constructor(
    /** Random. */
    readonly id: Buffer,
    readonly address: string,
    /** Those that are open on the link, by their handles. */
    private readonly sessions: ReadonlyMap<number, LifeSession>,
    private readonly scheduler: Scheduler,
    listener: LifeListener,
  ) {
    const lane = (limits: typeof SMALL_LANE | typeof LARGE_LANE): Lane => {
      const made: Lane = new Lane(scheduler, limits, {
        entry: (field, from) => this.#entry(field, from),
        begins: () => undefined,
        malformed: (error) => listener.malformed(error),
        silent: () => listener.silent(made),
        routes: () => listener.routes(),
      });
      return made;
    };
    this.small = lane(SMALL_LANE);
    this.large = lane(LARGE_LANE);
    this.large.waitsFor = this.small;
    this.small.onDone = this.large.work;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Why nothing more is taken now, if so. */
  get full(): Refusal | undefined {
    const unsent = this.small.unsent + this.large.unsent;
    if (unsent > MOST_UNSENT) return linkFull(this.address, unsent);
    return this.#open.size >= MOST_OPEN ? tooManyCalls(MOST_OPEN) : undefined;
  }

  /** An id for what `entry` waits for. */
  keep(entry: OpenEntry): number {
    do this.#lastId = this.#lastId === LAST_ID ? 1 : this.#lastId + 1;
    while (this.#open.has(this.#lastId));
    this.#open.set(this.#lastId, entry);
    return this.#lastId;
  }

  forget(id: number): void {
    this.#open.delete(id);
  }

  /**
   * Writes an entry: what is large takes the other lane.
   * @param lane on which it must not be before what its session wrote earlier
   * @returns the lane that it took
   */
  write(lane: Lane, write: (out: WireWriter) => void): Lane {
    return writeEntry(this, lane, write);
  }

  /** The call is answered or refused all the same. */
  cancel(id: number, entry: OpenEntry, lane: Lane, leave: boolean, unlessDecided: boolean): void {
    // A cancel that overtakes its call finds nothing.
    const behind = entry.lane === this.large && this.large.acked < entry.message ? this.large : lane;
    this.write(behind, (out) => writeNumbers(out, ASK.cancels, id, leave ? 1 : 0, unlessDecided ? 1 : 0)).schedule();
  }

  undeliverable(
    session: number,
    partition: number,
    turns: readonly TurnRef[],
    unwanted: boolean,
    lane = this.small,
  ): void {
    this.write(lane, (out) => writeUndeliverable(out, session, partition, turns, unwanted)).schedule();
  }

  handedOver(partition: number, shutFor: number, step: HandOverStep): void {
    this.write(this.small, (out) => writeNumbers(out, ASK.handedOver, partition, shutFor, numberOf(step))).schedule();
  }

  /** Nothing more is sent or heard, but for what has come in. What waits is told, in slices. */
  end(): void {
    this.small.finish();
    this.large.finish();
    this.small.end();
    this.large.end();
    this.#loseSome();
    this.#loseSessions([...this.sessions.values()]);
  }

  readonly #loseSome = (): void => {
    let left = AT_ONCE;
    for (const [id, entry] of this.#open) {
      if (left-- === 0) return this.scheduler.soon(this.#loseSome);
      this.#open.delete(id);
      entry.lost(entry.message <= entry.lane.handed);
    }
  };

  #loseSessions(sessions: readonly LifeSession[]): void {
    for (const session of sessions.slice(0, AT_ONCE)) session.lost(this);
    if (sessions.length > AT_ONCE) this.scheduler.soon(() => this.#loseSessions(sessions.slice(AT_ONCE)));
  }

  #entry(field: number, from: WireReader): void {
    switch (field) {
      case TELL.replies:
      case TELL.leaderReplies:
        return this.#reply(from);
      case TELL.refused:
        return this.#withId(from, (entry, bytes) => entry.refused(readRefusal(bytes)));
      case TELL.notices:
        return this.#notice(from);
      case TELL.replaced:
        return this.#session(from, (session) => session.replaced());
      case TELL.sessionsRefused:
        return this.#session(from, (session, bytes) => session.wasRefused(readRefusal(bytes)));
      case TELL.adminAnswers:
        return this.#withId(from, (entry, bytes) => entry.told(bytes, 0));
      case TELL.events:
        return this.#events(from);
      case TELL.watchEnds:
        return this.#withId(from, (entry) => entry.lost(true));
      default:
        from.skip();
    }
  }

  #reply(from: WireReader): void {
    const outer = from.enter();
    let id = 0;
    let entry: OpenEntry | undefined;
    for (let field = from.field(); field !== 0; field = from.field()) {
      if (field === 1) {
        id = from.number();
        entry = this.#open.get(id);
        this.#open.delete(id);
      } else if (entry === undefined) from.skip();
      else {
        this.#tell(id, entry, (to) => to.answered(field, from));
        entry = undefined;
      }
    }
    from.leave(outer);
    if (entry === undefined) return;
    this.#open.set(id, entry);
    throw new RangeError(`a reply to call ${id} without an answer`);
  }

  /** What is told something malformed waits still: the end of the link tells it that its answer is lost. */
  #tell(id: number, entry: OpenEntry, tell: (entry: OpenEntry) => void): void {
    try {
      tell(entry);
    } catch (error) {
      this.#open.set(id, entry);
      throw error;
    }
  }

  #withId(from: WireReader, then: (entry: OpenEntry, bytes: Buffer) => void): void {
    const { id, bytes } = readIdAndBytes(from);
    const entry = this.#open.get(id);
    this.#open.delete(id);
    if (entry !== undefined) this.#tell(id, entry, (to) => then(to, bytes));
  }

  #events(from: WireReader): void {
    const { id, bytes, more } = readIdAndBytes(from);
    this.#open.get(id)?.told(bytes, more);
  }

  #session(from: WireReader, then: (session: LifeSession, bytes: Buffer) => void): void {
    const { id, bytes } = readIdAndBytes(from);
    const session = this.sessions.get(id);
    if (session !== undefined) then(session, bytes);
  }

  #notice(from: WireReader): void {
    const outer = from.enter();
    let session: LifeSession | undefined;
    for (let field = from.field(); field !== 0; field = from.field()) {
      if (field === 1) session = this.sessions.get(from.number());
      else if (field === 2 && session !== undefined) {
        const notice = readNotice(from);
        if (notice !== undefined) session.notice(notice);
      } else from.skip();
    }
    from.leave(outer);
  }
}

const NOTHING = Buffer.alloc(0);

function readIdAndBytes(from: WireReader): { id: number; bytes: Buffer; more: number } {
  const outer = from.enter();
  let id = 0;
  let bytes: Buffer = NOTHING;
  let more = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) id = from.number();
    else if (field === 2) bytes = from.window();
    else if (field === 3) more = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { id, bytes, more };
}
