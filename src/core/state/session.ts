/** Streams of workers, and the sessions that outlive them. */

import type { SessionListener } from '../contract/model.js';
import { append, isLinked, Link } from '../structures/link.js';
import { Timer } from '../structures/timing-wheel.js';
import type { Lane } from './lane.js';
import type { CoreState } from './state.js';

/** One stream of a worker, from its opening until it breaks or is replaced. */
export class Stream {
  /** What its hello named. Set exactly as long as it is this session's stream. */
  session: Session | undefined = undefined;
  constructor(
    /** Unset: the stream is gone, and nobody can be told anything. */
    public listener: SessionListener | undefined,
  ) {}
}

/**
 * What a hello names: turns are tied to it, and they live as long as it does. While a stream is attached it has no end;
 * afterwards it ends `ttl` later. So a break, a new stream and the keeping alive cost the same for one turn as for a
 * million: none of them touches a turn. As a timer it fires when it is over, once for every turn that is left.
 */
export class Session extends Timer {
  /** Unset: it is broken. */
  stream: Stream | undefined = undefined;
  ttl = 0;
  /** Meaningful while it is broken. */
  brokenAt = 0;
  /** Whole ms; Infinity while a stream is attached. Over when `now >= endsAt`, even if the wheel is late. */
  endsAt = Number.POSITIVE_INFINITY;
  /** How many turns are tied. */
  size = 0;
  /** How many of them are of durable queues. */
  durable = 0;
  /** The lanes of the tied turns, in the order in which they were tied. */
  readonly #tied = new Link();

  constructor(readonly id: string) {
    super();
  }

  /** Precondition: the lane is in no list. It leaves this one as it leaves the wheel. */
  tie(lane: Lane): void {
    append(this.#tied, lane);
    this.size += 1;
  }

  get firstTied(): Link | undefined {
    return isLinked(this.#tied) ? this.#tied.next : undefined;
  }

  tiedAfter(lane: Link): Link | undefined {
    return lane.next === this.#tied ? undefined : lane.next;
  }
}

/** A broken session without turns is nothing that somebody could come back to. */
export function forgetIfEmpty(state: CoreState, session: Session): void {
  if (session.stream !== undefined || session.size > 0) return;
  state.wheel.cancel(session);
  forgetId(state, session);
}

/** Who says its id from now on begins a new session. */
export function forgetId(state: CoreState, session: Session): void {
  if (state.sessions.get(session.id) !== session) return;
  state.sessions.delete(session.id);
  if (session.durable > 0) state.changes?.session(session.id);
}
