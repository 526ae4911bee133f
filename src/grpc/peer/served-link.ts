/** A link of a gateway, on the side of the home: gives its calls to the homes of partitions, and brings back what they say. */
import type { Coordinator, Notice, Refusal, SessionStamp, Turn } from '../../coordinator.js';
import { report } from '../call/handler.js';
import { helloRequest } from '../convert/requests.js';
import type * as wire from '../gen/keyturn/v1/coordinator.js';
import { writeNotice } from '../session/codec/answers.js';
import { FastDecoder } from '../session/codec/fast-decoder.js';
import type { WireWriter } from '../session/codec/wire-writer.js';
import { type Asked, HELLO, kindOf } from '../session/commands.js';
import {
  type CallHead,
  CallReader,
  NO_CALLER,
  readNumbers,
  readRequest,
  readUndeliverable,
  type UndeliverableTold,
} from './ask-reader.js';
import { ASK, TELL, writeBytes, writeNumbers } from './codec/entries.js';
import { RefusalBytes } from './codec/refusals.js';
import type { WireReader } from './codec/wire-reader.js';
import { askDeliver } from './deliver-messages.js';
import { stepOf } from './hand-over-step.js';
import { Lane } from './lane.js';
import { LateNotices } from './late-notices.js';
import { BEAT, LARGE_BYTES, LARGE_LANE, MOST_OPEN, MOST_UNSENT, SMALL_LANE } from './limits.js';
import { CANCELLED, failed, noHome, notHere, tooManyCalls, unlikeRoutes } from './refusals.js';
import { ServedAdministration } from './served-administration.js';
import { ServedAudit } from './served-audit.js';
import { type CallSink, type Order, ServedCall, Unordered } from './served-call.js';
import type { ServedContext } from './served-context.js';
import { askLeaders } from './served-leaders.js';
import { type OpenedSession, type ServedSession, ServedSessions, type SessionSink } from './served-session.js';
import { placed, writeEntry } from './write-entry.js';

interface ServedListener {
  malformed(error: unknown): void;
  silent(lane: Lane): void;
  /** More waits for the gateway than is kept for one. */
  tooMuch(bytes: number): void;
}

const AT_ONCE = 1_000;
const NO_CALL = Object.freeze({ id: 0, call: undefined });
const PATH = 'keyturn.peer.v1.PeerService/Link';

export class ServedLink implements CallSink, SessionSink {
  readonly small: Lane;
  readonly large: Lane;
  readonly #calls: CallReader = new CallReader(new FastDecoder());
  readonly #waiting = new Map<number, ServedCall>();
  readonly #sessions: ServedSessions;
  readonly #orders = new WeakMap<Coordinator, Order>();
  readonly #refusals = new RefusalBytes();
  readonly #admin: ServedAdministration;
  readonly #audit: ServedAudit;
  readonly #late: LateNotices;
  /** Of the answer in hand. */
  readonly #turns: Turn[] = [];
  #spare: ServedCall | undefined;
  #isOver = false;

  constructor(
    private readonly context: ServedContext,
    private readonly listener: ServedListener,
    /** The address of the gateway. */
    from: string,
  ) {
    this.#audit = new ServedAudit(context.audited, from);
    this.small = this.#lane(SMALL_LANE);
    this.large = this.#lane(LARGE_LANE);
    this.large.waitsFor = this.small;
    this.small.onDone = this.large.work;
    this.#sessions = new ServedSessions(this);
    this.#late = new LateNotices(context.scheduler, (told) => this.#undeliverable(told));
    this.#admin = new ServedAdministration(this.#audit, {
      home: (partition) => context.home(partition),
      refuse: (id, refusal) => this.#refuse(id, refusal),
      fail: (id, error) => this.#fail(id, error),
      tell: (write) => this.#tell(undefined, write),
      isBusy: () => this.small.unsent > LARGE_BYTES,
      isOver: () => this.#isOver,
      later: (task) => void context.scheduler.after(BEAT, task),
    });
  }

  get openCalls(): number {
    return this.#waiting.size + this.#admin.open;
  }

  get openSessions(): number {
    return this.#sessions.size;
  }

  answered(call: ServedCall, answer: unknown): boolean {
    if (!this.#close(call)) return false;
    const wanted = this.#laneFor(call.order);
    const { out } = wanted;
    const before = out.length;
    try {
      const start = out.open(call.form.entry ?? TELL.replies);
      out.number(1, call.id);
      call.form.write(out, answer);
      out.close(start);
    } catch (error) {
      out.rewind(before);
      this.#fail(call.id, error);
      return false;
    }
    const lane = this.#went(call.order, placed(this, wanted, before));
    call.form.gives(answer, this.#turns);
    if (this.#turns.length > 0) {
      lane.gives(call.order, this.#turns);
      this.#turns.length = 0;
    }
    lane.schedule();
    return true;
  }

  refused(call: ServedCall, refusal: Refusal): void {
    if (this.#close(call)) this.#refuse(call.id, refusal);
  }

  notice(session: ServedSession, notice: Notice): void {
    this.#tell(session, (out) => {
      const start = out.open(TELL.notices);
      out.number(1, session.number);
      writeNotice(out, notice);
      out.close(start);
    });
  }

  replaced(session: ServedSession): void {
    this.#tell(session, (out) => writeNumbers(out, TELL.replaced, session.number));
  }

  /** Its calls are cancelled, its sessions closed. Turns in messages that never left are taken back. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.small.end();
    this.large.end();
    for (const lane of [this.small, this.large])
      for (const given of lane.givenUnhanded()) this.#attempt(() => given.takeBack());
    this.#admin.end();
    this.#endSome();
  }

  /**
   * The gateway is back, and has said what it had received by then: nobody knows of turns in later messages.
   * Precondition: it is over.
   */
  takeBack(done: { readonly small: number; readonly large: number }): void {
    const unacked = [this.small.givenUnacked(), this.large.givenUnacked()] as const;
    for (const { number, given } of unacked[0]) if (number > done.small) this.#attempt(() => given.takeBack());
    for (const { number, given } of unacked[1]) if (number > done.large) this.#attempt(() => given.takeBack());
  }

  readonly #endSome = (): void => {
    let left = AT_ONCE;
    for (const call of this.#waiting.values()) {
      if (left-- === 0) return this.context.scheduler.soon(this.#endSome);
      this.#waiting.delete(call.id);
      call.stage = 'done';
      this.#attempt(() => call.pending?.cancel());
    }
    for (const session of this.#sessions.all()) {
      if (left-- === 0) return this.context.scheduler.soon(this.#endSome);
      this.#attempt(() => this.#sessions.close(session.number));
    }
  };

  #lane(limits: typeof SMALL_LANE | typeof LARGE_LANE): Lane {
    let followed = 0;
    const lane: Lane = new Lane(this.context.scheduler, limits, {
      begins: (routes) => {
        followed = routes;
      },
      entry: (field, from) => this.#entry(field, from, this.#unlike(followed)),
      malformed: (error) => this.listener.malformed(error),
      silent: () => this.listener.silent(lane),
      routes: () => 0,
    });
    return lane;
  }

  #unlike(routes: number): string | undefined {
    const own = this.context.routes();
    if (routes > own) this.context.behind?.();
    return unlikeRoutes(routes, own);
  }

  /** @param unlike set: its routes are not those of this home, so nothing that is routed is taken */
  #entry(field: number, from: WireReader, unlike: string | undefined): void {
    switch (field) {
      case ASK.calls:
        return this.#call(this.#calls.read(from), unlike);
      case ASK.opens: {
        const { first, second } = readNumbers(from);
        const refusal = this.#sessions.open(first, second, unlike ? undefined : this.context.home(second));
        if (refusal !== undefined)
          this.#tell(undefined, (out) => writeBytes(out, TELL.sessionsRefused, first, this.#refusals.of(refusal)));
        return;
      }
      case ASK.closes:
        return this.#attempt(this.#sessions.close.bind(this.#sessions, readNumbers(from).first));
      case ASK.cancels: {
        const { first, second, third } = readNumbers(from);
        return this.#cancel(first, second !== 0, third !== 0);
      }
      case ASK.undeliverable:
        return this.#late.take(readUndeliverable(from));
      case ASK.adminCalls:
        return this.#admin.ask(from, this.openCalls, unlike);
      case ASK.watches:
        return this.#admin.watch(from, this.openCalls, unlike);
      case ASK.watchEnds:
        return this.#admin.endWatch(readNumbers(from).first);
      case ASK.handedOver: {
        const { first, second, third } = readNumbers(from);
        const step = stepOf(third);
        if (step !== undefined) this.#attempt(() => this.context.handedOver?.(first, second, step));
        return;
      }
      default:
        from.skip();
    }
  }

  #call(head: CallHead, unlike: string | undefined): void {
    const { partition, command, leader, deliver } = head;
    const { id, call } = command ?? leader ?? deliver ?? NO_CALL;
    if (call === undefined || id === 0) throw new RangeError('a call without an id or a command');
    if (this.#waiting.has(id)) throw new RangeError(`call ${id} is open already`);
    if (call.$case === 'cancel') throw new RangeError('a cancel of the public protocol');
    const home = unlike === undefined ? this.context.home(partition) : undefined;
    if (home === undefined)
      return this.#refuse(id, unlike === undefined ? notHere(partition) : noHome(partition, unlike));
    if (this.openCalls >= MOST_OPEN) return this.#refuse(id, tooManyCalls(MOST_OPEN));
    const served = this.#commandOf(id);
    try {
      this.#begin(served, head, home);
    } catch (error) {
      this.context.check.forget();
      if (this.#close(served)) this.#fail(id, error);
      // Whoever threw may have kept it, and answer it yet: it is not used for another call.
      return;
    }
    if (served.stage === 'done') this.#spare = served;
    else if (!this.#isOver) this.#keep(served);
  }

  #begin(served: ServedCall, head: CallHead, home: Coordinator): void {
    const { session, partition, stamp, command, leader, deliver, principal } = head;
    if (deliver !== undefined) {
      served.order = this.#orderOf(home);
      if (!askDeliver(home, deliver.call.value, served)) served.refuse(notHere(partition));
      return;
    }
    if (leader?.call !== undefined) {
      served.order = this.#orderOf(home);
      const asker = { check: this.context.check, audit: this.#audit, principal };
      served.pending = askLeaders(home.leaders, leader.call, asker, served);
      return;
    }
    const call = command?.call;
    if (call === undefined || call.$case === 'cancel') return;
    const at = session === 0 ? undefined : this.#sessions.at(session, partition, home);
    if (at !== undefined && 'kind' in at) served.refuse(at);
    else if (call.$case === 'hello') this.#hello(served, at, call.value, stamp);
    else this.#ask(served, call, at, home, head);
  }

  #commandOf(id: number): ServedCall {
    const served = this.#spare?.begin(id, HELLO, this.#sessions) ?? new ServedCall(this, id, HELLO, this.#sessions);
    this.#spare = undefined;
    return served;
  }

  #keep(served: ServedCall): void {
    served.stage = 'waits';
    this.#waiting.set(served.id, served);
  }

  #ask(served: ServedCall, call: Asked, at: OpenedSession | undefined, home: Coordinator, head: CallHead): void {
    const { check } = this.context;
    const calls = at?.session ?? home;
    const kind = kindOf(call);
    served.form = kind.form;
    served.order = at?.served ?? this.#orderOf(home);
    const request = readRequest(call, head, check);
    const wrong = check.take();
    if (wrong !== undefined) return served.refuse(wrong);
    served.pending = kind.ask(calls, request, served);
  }

  #hello(
    served: ServedCall,
    at: OpenedSession | undefined,
    message: wire.Hello,
    stamp: SessionStamp | undefined,
  ): void {
    if (at === undefined) throw new RangeError('a hello on no session');
    const { check } = this.context;
    served.order = at.served;
    const request = helloRequest(message, check, NO_CALLER);
    const wrong = check.take();
    if (wrong !== undefined) return served.refuse(wrong);
    at.served.hello(at.session, stamp === undefined ? request : { ...request, stamp }, served);
  }

  /** It is refused (CANCELLED), unless its answer follows or is on its way. */
  #cancel(id: number, leave: boolean, unlessDecided: boolean): void {
    const call = this.#waiting.get(id);
    const pending = call?.pending;
    if (call === undefined || pending === undefined) return;
    this.#attempt(() => {
      const mayCancel = !unlessDecided || call.form.canBeUndone || pending.callOff === undefined;
      if (mayCancel) pending.cancel(leave);
      else if (pending.callOff?.(leave) !== true) return;
      if (this.#close(call)) this.#refuse(id, CANCELLED);
    });
  }

  /** @returns false: its partition is not open here */
  #undeliverable({ session, partition, turns, unwanted }: UndeliverableTold): boolean {
    const home = this.context.home(partition);
    const at = session === 0 ? undefined : this.#sessions.get(session);
    // A session of a home of before has nobody who takes the turns back.
    this.#attempt(() => (home !== undefined && at?.isAt(home) ? at : home)?.undeliverable(turns, unwanted));
    return home !== undefined;
  }

  /** Calls that come on no session have no order among each other. */
  #orderOf(home: Coordinator): Order {
    const known = this.#orders.get(home);
    if (known !== undefined) return known;
    const order = new Unordered(home);
    this.#orders.set(home, order);
    return order;
  }

  /** @returns whether its answer can be sent */
  #close(call: ServedCall): boolean {
    if (call.stage === 'done') return false;
    if (call.stage === 'waits') this.#waiting.delete(call.id);
    call.stage = 'done';
    return this.#canTell();
  }

  #canTell(): boolean {
    if (this.#isOver) return false;
    const unsent = this.small.unsent + this.large.unsent;
    if (unsent <= MOST_UNSENT) return true;
    this.listener.tooMuch(unsent);
    return false;
  }

  #refuse(id: number, refusal: Refusal): void {
    this.#tell(undefined, (out) => writeBytes(out, TELL.refused, id, this.#refusals.of(refusal)));
  }

  #fail(id: number, error: unknown): void {
    this.#refuse(id, failed(report(this.context, PATH, error)));
  }

  #tell(order: Order | undefined, write: (out: WireWriter) => void): void {
    if (this.#canTell()) this.#write(order, write).schedule();
  }

  /** @throws as `write` does */
  #write(order: Order | undefined, write: (out: WireWriter) => void): Lane {
    const lane = writeEntry(this, this.#laneFor(order), write);
    return this.#went(order, lane);
  }

  /** What follows something large in its order does not overtake it. */
  #laneFor(order: Order | undefined): Lane {
    return order !== undefined && order.largeUntil > this.large.acked ? this.large : this.small;
  }

  #went(order: Order | undefined, lane: Lane): Lane {
    if (order !== undefined && lane === this.large) order.largeUntil = lane.gathering;
    return lane;
  }

  /** Nobody is left to get the error: a failure is only logged. */
  #attempt(task: () => void): void {
    try {
      task();
    } catch (error) {
      report(this.context, PATH, error);
    }
  }
}
