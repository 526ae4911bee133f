import type {
  Administration,
  Coordinator,
  CoordinatorStanding,
  CoordinatorStats,
  DeliverAnswer,
  DeliverRequest,
  DrainReport,
  Leaders,
  Reply,
  Result,
  Session,
  SessionListener,
} from '../../coordinator.js';
import { DELIVER } from './deliver-messages.js';
import type { Lane } from './lane.js';
import type { Life } from './life.js';
import { MOST_SESSIONS } from './limits.js';
import type { Link } from './link.js';
import { tooManySessions } from './refusals.js';
import { RemoteAdministration } from './remote-administration.js';
import { RemoteCalls } from './remote-calls.js';
import { RemoteLeaders } from './remote-leaders.js';
import { RemoteSession } from './remote-session.js';

/**
 * A partition whose home is another sidecar. Its numbers are its home's alone, and so is its end: who asks for them here
 * has mistaken it for a local one, which is an error of the program.
 */
export class RemoteCoordinator extends RemoteCalls implements Coordinator {
  readonly admin: Administration;
  readonly leaders: Leaders;

  constructor(link: Link, partition: number) {
    super(link, partition);
    this.leaders = new RemoteLeaders((kind, request, reply, beside) => this.ask(kind, request, reply, beside));
    this.admin = new RemoteAdministration(link, partition);
  }

  openSession(listener: SessionListener): Result<Session> {
    const session = this.link.openSession((number) => new RemoteSession(this.link, this.partition, number, listener));
    if (session === undefined) return { ok: false, refusal: tooManySessions(MOST_SESSIONS) };
    if (session.refusal === undefined) return { ok: true, value: session };
    session.close();
    return { ok: false, refusal: session.refusal };
  }

  deliver(request: DeliverRequest, reply: Reply<DeliverAnswer>): void {
    this.ask(DELIVER, request, reply);
  }

  stats(): CoordinatorStats {
    throw this.#notHere('its numbers');
  }

  statsInSlices(): Promise<CoordinatorStanding> {
    return Promise.reject(this.#notHere('its numbers'));
  }

  drain(): Promise<DrainReport> {
    return Promise.reject(this.#notHere('its end'));
  }

  close(): Promise<void> {
    return Promise.reject(this.#notHere('its end'));
  }

  lane(life: Life): Lane {
    return life.small;
  }

  protected override handle(): number {
    return 0;
  }

  protected override went(): void {}

  #notHere(what: string): Error {
    return new Error(`partition ${this.partition} is at ${this.link.address}: ${what} can only be asked for there`);
  }
}
