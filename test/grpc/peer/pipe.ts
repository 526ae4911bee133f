/** Both sides of links in one process, without sockets: what is sent arrives at once, or when it is let through. */

import type { Coordinator, Limits } from '../../../src/coordinator.js';
import { Check } from '../../../src/grpc/convert/validate.js';
import type { Dial, DialedStream, DialListener } from '../../../src/grpc/peer/dial.js';
import { LinkGate } from '../../../src/grpc/peer/gate.js';
import type { HandOverStep } from '../../../src/grpc/peer/hand-over-step.js';
import { type Gate, HomeStream } from '../../../src/grpc/peer/home-stream.js';
import { atHome } from '../../../src/grpc/peer/limits.js';
import { PeerLinks } from '../../../src/grpc/peer/links.js';
import type { Scheduler } from '../../../src/grpc/session/flow.js';

export const SECRET = 'the secret of the cluster';
export const HOME = 'incarnation-of-the-home';
export const GATEWAY = 'incarnation-of-the-gateway';
export const ADDRESS = '10.0.0.7:7423';

/** What is written leaves at once; nothing happens by time. */
export const AT_ONCE: Scheduler = { soon: (task) => task(), atEnd: (task) => task(), after: () => () => undefined };

/** One direction of a stream. */
export class Way {
  readonly #held: (() => void)[] = [];
  #delivering = false;
  isHeld = false;
  isCut = false;

  constructor(private readonly deliver: (bytes: Buffer) => void) {}

  send(bytes: Buffer, left: () => void): void {
    if (this.isCut) return;
    this.#held.push(() => {
      this.deliver(Buffer.from(bytes));
      left();
    });
    this.flow();
  }

  /** What is held goes on, in order; what is sent meanwhile too. */
  flow(): void {
    if (this.#delivering || this.isHeld) return;
    this.#delivering = true;
    for (let next = this.#held.shift(); next !== undefined; next = this.isHeld ? undefined : this.#held.shift()) next();
    this.#delivering = false;
  }

  /** What was sent and has not arrived is lost. */
  cut(): void {
    this.isCut = true;
    this.#held.length = 0;
  }
}

/** A stream of a lane, as both ends and the test see it. */
export class Pipe {
  readonly up: Way;
  readonly down: Way;
  isOver = false;
  #gateway: DialListener;
  #home: DialListener | undefined;

  constructor(gateway: DialListener, begun: (stream: DialedStream) => DialListener) {
    this.#gateway = gateway;
    this.up = new Way((bytes) => this.#home?.message(bytes));
    this.down = new Way((bytes) => this.#gateway.message(bytes));
    this.#home = begun({ send: (bytes, left) => this.down.send(bytes, left), end: () => this.#endedBy('home') });
  }

  get dialed(): DialedStream {
    return { send: (bytes, left) => this.up.send(bytes, left), end: () => this.#endedBy('gateway') };
  }

  /** The connection breaks: both ends hear of it, what was on its way is lost. */
  cut(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.up.cut();
    this.down.cut();
    this.#gateway.ended('the connection was cut');
    this.#home?.ended('the connection was cut');
  }

  #endedBy(side: 'home' | 'gateway'): void {
    if (this.isOver) return;
    this.isOver = true;
    if (side === 'home') this.#gateway.ended('the home ended the stream');
    else this.#home?.ended('the gateway ended the stream');
  }
}

export interface LinkedOptions {
  readonly limits: Limits;
  readonly home: (partition: number) => Coordinator | undefined;
  readonly gatewayScheduler?: Scheduler;
  readonly homeScheduler?: Scheduler;
  readonly secret?: string;
  readonly homeRoutes?: () => number;
  readonly gatewayRoutes?: () => number;
  /** Told when the home sees that the gateway goes by newer routes. */
  readonly behind?: () => void;
  readonly handedOver?: (partition: number, shutFor: number, step: HandOverStep) => void;
}

/** A gateway and a home. */
export class Linked {
  /** In the order in which they were dialed. */
  readonly pipes: Pipe[] = [];
  readonly gate: LinkGate;
  readonly links: PeerLinks;
  readonly problems: string[] = [];
  readonly logged: string[] = [];
  isReachable = true;

  constructor(options: LinkedOptions) {
    const homeScheduler = options.homeScheduler ?? AT_ONCE;
    const say = (_fields: object, message: string): void => void this.logged.push(message);
    this.gate = new LinkGate({
      scheduler: homeScheduler,
      check: new Check(atHome(options.limits)),
      log: {
        info: say,
        warn: say,
        error: (fields, message) => this.logged.push(`${message} ${JSON.stringify(fields)}`),
      },
      home: options.home,
      routes: options.homeRoutes ?? (() => 1),
      behind: options.behind ?? (() => undefined),
      handedOver: options.handedOver ?? (() => undefined),
    });
    const gate: Gate = {
      admit: (stream, admission) => this.gate.admit(stream, admission),
      refused: (ending, open) => this.gate.refused(ending, open),
      over: () => undefined,
    };
    const context = { scheduler: homeScheduler, secret: SECRET, incarnation: HOME, version: '1' };
    const dial: Dial = (_address, listener) => {
      if (!this.isReachable) {
        listener.ended('nobody is there');
        return { send: () => undefined, end: () => undefined };
      }
      const pipe = new Pipe(listener, (stream) => new HomeStream(stream, context, gate));
      this.pipes.push(pipe);
      return pipe.dialed;
    };
    this.links = new PeerLinks({
      dial,
      scheduler: options.gatewayScheduler ?? AT_ONCE,
      secret: options.secret ?? SECRET,
      incarnation: GATEWAY,
      version: '1',
      routes: options.gatewayRoutes ?? (() => 1),
      failed: (error) => {
        throw error;
      },
      problem: (_address, why) => this.problems.push(why),
    });
  }

  partition(number: number): Coordinator {
    return this.links.connect(ADDRESS, HOME, number);
  }
}
