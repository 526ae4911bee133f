import assert from 'node:assert/strict';
import type {
  Coordinator,
  HelloAnswer,
  HelloRequest,
  Notice,
  Refusal,
  Session,
  SessionListener,
  Turn,
  TurnRef,
} from '../../src/coordinator.js';
import { Call } from '../support/call.js';
import { told } from './stage.js';
import { Worker } from './worker.js';

/** What a stream was told unasked. */
class Told implements SessionListener {
  readonly notices: Notice[] = [];
  replacements = 0;

  notice(notice: Notice): void {
    assert.equal(this.replacements, 0, 'nothing follows once it was replaced');
    this.notices.push(notice);
  }

  replaced(): void {
    this.replacements += 1;
    assert.equal(this.replacements, 1, 'told once');
  }

  brokenBy: Refusal | undefined;

  broken(why: Refusal): void {
    assert.equal(this.brokenBy, undefined, 'told once');
    this.brokenBy = why;
  }
}

/** One stream of a worker. */
export class Stream extends Worker {
  constructor(
    readonly session: Session,
    private readonly told: Told,
  ) {
    super(session);
  }

  hello(change: Partial<HelloRequest> = {}): Call<HelloAnswer> {
    const call = new Call<HelloAnswer>();
    this.session.hello({ consumerId: 'worker', sessionId: 's', ttl: undefined, ...change }, call);
    return call;
  }

  close(): void {
    this.session.close();
  }

  get brokenBy(): Refusal | undefined {
    return this.told.brokenBy;
  }

  get isBroken(): boolean {
    return this.told.brokenBy !== undefined;
  }

  get wasReplaced(): boolean {
    return this.told.replacements > 0;
  }

  /** Every notice so far, as `lost settled k` or `ending k`; the turns in them are looked at. */
  get notices(): string[] {
    return this.told.notices.map((notice) => {
      assert.ok(notice.turn.token > 0 && notice.turn.queue !== '');
      const what =
        notice.kind === 'turn_lost' ? `lost ${notice.cause}` : notice.kind === 'turn_kept' ? 'kept' : 'ending';
      return `${what} ${notice.turn.key}`;
    });
  }

  /** Turns that it was told it has still. */
  get kept(): readonly TurnRef[] {
    return this.told.notices.flatMap((notice) => (notice.kind === 'turn_kept' ? notice.turn : []));
  }

  get noticed(): readonly Turn[] {
    return this.told.notices.flatMap((notice) => (notice.kind === 'turn_kept' ? [] : notice.turn));
  }
}

export function open(coordinator: Pick<Coordinator, 'openSession'>): Stream {
  const listener = new Told();
  return new Stream(told(coordinator.openSession(listener)), listener);
}

/** A stream that said hello. */
export function tied(coordinator: Pick<Coordinator, 'openSession'>, change: Partial<HelloRequest> = {}): Stream {
  const stream = open(coordinator);
  assert.ok(stream.hello(change).value);
  return stream;
}
