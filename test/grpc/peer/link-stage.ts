import assert from 'node:assert/strict';
import type {
  Coordinator,
  HelloAnswer,
  Notice,
  Refusal,
  Session,
  SessionListener,
  SessionStamp,
} from '../../../src/coordinator.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { told } from '../../contract/stage.js';
import { Worker } from '../../contract/worker.js';
import { type SettingsChange, settings } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { FakeClock } from '../../support/fake-clock.js';
import { Linked, type LinkedOptions, type Pipe } from './pipe.js';

export const PARTITION = 3;

/** A home and a gateway on one clock that stands still; the home is looked at directly, too. */
export class LinkStage {
  readonly clock = new FakeClock();
  readonly home: LocalCoordinator;
  readonly linked: Linked;
  readonly remote: Coordinator;
  /** Who asks over the link, and who asks at the home. */
  readonly worker: Worker;
  readonly there: Worker;
  /** Which coordinator is the home of the partition now. */
  homeNow: Coordinator | undefined;

  constructor(change: SettingsChange = {}, options: Partial<LinkedOptions> = {}) {
    const given = settings(change);
    this.home = new LocalCoordinator(given, { clock: this.clock, seed: 1 });
    this.homeNow = this.home;
    this.linked = new Linked({
      limits: given.limits,
      home: (partition) => (partition === PARTITION ? this.homeNow : undefined),
      gatewayScheduler: this.clock,
      homeScheduler: this.clock,
      ...options,
    });
    this.remote = this.linked.partition(PARTITION);
    this.worker = new Worker(this.remote);
    this.there = new Worker(this.home);
    this.settle();
  }

  /** What was written leaves, arrives, is done and answered; no time passes. */
  settle(): void {
    for (let turn = 0; turn < 10; turn++) this.clock.turn();
  }

  advance(ms: number): void {
    this.clock.advance(ms);
    this.settle();
  }

  get small(): Pipe {
    return this.#pipe(0);
  }

  get large(): Pipe {
    return this.#pipe(1);
  }

  /** Of those that are there: the older one is of the small lane. */
  #pipe(index: number): Pipe {
    const pipe = this.linked.pipes.filter(({ isOver }) => !isOver)[index];
    assert.ok(pipe !== undefined, 'the stream is there');
    return pipe;
  }

  cut(): void {
    for (const pipe of this.linked.pipes) pipe.cut();
  }

  /** The connection breaks, and nobody can be reached for so long. */
  broken(ms: number): void {
    this.linked.isReachable = false;
    this.cut();
    this.advance(ms);
    this.linked.isReachable = true;
  }

  session(sessionId: string, ttl = 10_000): LinkedSession {
    return new LinkedSession(this.remote, sessionId, ttl);
  }

  /** Whether the key can be had at the home at once; then it is given back. */
  isFree(key: string): boolean {
    const call = this.there.enQueue({ key, wait: 0 });
    if (call.value.decision !== 'accept') return false;
    this.there.end(call.value.turn);
    return true;
  }
}

/** A session over a link, and what it was told. */
export class LinkedSession implements SessionListener {
  readonly session: Session;
  readonly worker: Worker;
  readonly hello = new Call<HelloAnswer>();
  readonly notices: Notice[] = [];
  wasReplaced = false;

  constructor(coordinator: Pick<Coordinator, 'openSession'>, sessionId: string, ttl: number, stamp?: SessionStamp) {
    this.session = told(coordinator.openSession(this));
    this.worker = new Worker(this.session);
    const request = { consumerId: 'worker', sessionId, ttl };
    this.session.hello(stamp === undefined ? request : { ...request, stamp }, this.hello);
  }

  notice(notice: Notice): void {
    this.notices.push(notice);
  }

  replaced(): void {
    this.wasReplaced = true;
  }

  readonly brokenBy: Refusal[] = [];

  broken(why: Refusal): void {
    this.brokenBy.push(why);
  }
}
