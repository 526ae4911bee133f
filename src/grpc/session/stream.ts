/**
 * One stream of a worker. Its commands are run in order as they come; its answers are gathered until what runs has
 * ended, so that what became ready together travels together. A command that is answered at once leaves no
 * trace: its reply is used again for the next one.
 */
import type { Notice, Refusal, Session, SessionListener, Turn } from '../../coordinator.js';
import { internalError, report } from '../call/handler.js';
import { type CallStatus, statusOf } from '../call/status.js';
import type { Endable } from '../call/streams.js';
import { helloRequest } from '../convert/requests.js';
import type * as wire from '../gen/keyturn/v1/coordinator.js';
import { StreamCaller } from './caller.js';
import type { Command } from './codec/fast-decoder.js';
import { Commands } from './codec/reader.js';
import { HELLO, type Kind, kindOf } from './commands.js';
import { Flow, type FlowListener } from './flow.js';
import { type CommandSink, OpenCommand, OpenCommands } from './open.js';
import { DRAINING, idInUse, malformedCommand, tooManyOpen, unknownCommand, unread, unsentFull } from './refusals.js';
import { Replies } from './replies.js';
import type { SessionCall, SessionContext, SessionHooks } from './stream-call.js';

/** Commands that are run in one go: a millisecond or two, then other streams are served. */
const AT_ONCE = 1_000;
/** How long a client may take to hear that its stream was ended. */
const END_GRACE_MS = 5_000;

/** A cancel of nothing is free once in so many ms of a stream: more often than a client with the shortest `ttl` needs it. */
const FREE_EVERY = 100;

export class SessionStream implements SessionListener, CommandSink, Endable, FlowListener {
  readonly #caller: StreamCaller;
  readonly #open = new OpenCommands();
  readonly #flow: Flow;
  readonly #replies: Replies;
  #life: 'open' | 'ending' | 'over' = 'open';
  #session: Session | undefined;
  /** Its turns are another stream's. */
  #replaced = false;
  /** When the last cancel of nothing was free. */
  #freeAt = Number.NEGATIVE_INFINITY;
  /** The message in hand; what is left of it is run later. */
  #commands: Commands | undefined;
  #spare: OpenCommand | undefined;
  #sessionId = '';
  #halfClosed = false;
  #callOffReset: (() => void) | undefined;
  constructor(
    private readonly context: SessionContext,
    private readonly call: SessionCall,
    private readonly hooks: SessionHooks,
  ) {
    this.#caller = new StreamCaller(call);
    this.#flow = new Flow(call, context.limits, context, this);
    this.#replies = new Replies(this.#flow, context, call);
  }

  start(session: Session): void {
    this.#session = session;
    this.call.on('data', (message) => this.#take(message));
    this.call.on('end', () => {
      this.#halfClosed = true;
      this.#flow.schedule();
    });
    // grpc-js emits this after every end of a stream, whichever side ended it.
    this.call.on('cancelled', () => this.#over());
  }

  notice(notice: Notice): void {
    if (!this.#canTell()) return;
    try {
      this.#replies.notice(notice);
    } catch (error) {
      this.#end(internalError(this.context, this.call.getPath(), error));
    }
  }

  replaced(): void {
    this.#replaced = true;
    this.#end(statusOf({ kind: 'session_replaced', sessionId: this.#sessionId }));
  }

  /** The worker comes back, and hears which of its turns live still. */
  broken(why: Refusal): void {
    this.#end(statusOf(why));
  }

  /** @param why unset: the server stops */
  end(why: CallStatus = statusOf(DRAINING)): void {
    this.#end(why);
  }

  answered(command: OpenCommand, answer: unknown): boolean {
    if (!this.#close(command)) return false;
    try {
      this.#replies.answer(command, answer);
      return true;
    } catch (error) {
      this.#replies.fail(command.id, error);
      return false;
    }
  }

  refused(command: OpenCommand, refusal: Refusal): void {
    if (this.#close(command)) this.#refuse(command.id, refusal);
  }

  clogged(): void {
    this.call.pause();
  }

  cleared(): void {
    if (this.#commands === undefined) this.call.resume();
    else this.context.soon(this.#work);
  }

  stuck(): void {
    this.#end(statusOf(unread(this.context.limits)), 'discard');
  }

  flushed(): void {
    if (this.#halfClosed && this.#open.size === 0) this.#end(undefined);
  }

  #take(message: Buffer): void {
    if (this.#life !== 'open') return;
    this.#commands = new Commands(message, this.context.decoder);
    this.#work();
  }

  readonly #work = (): void => {
    for (let left = AT_ONCE; left > 0; left--) {
      if (this.#commands === undefined || this.#life !== 'open' || this.#flow.isClogged) return;
      const command = this.#next(this.#commands);
      if (command === undefined) {
        this.#commands = undefined;
        this.call.resume();
        return;
      }
      this.#run(command, this.#commands.index);
      if (this.#commands?.isAtEnd === false && this.#flow.sendEarly()) break;
    }
    this.call.pause();
    this.context.soon(this.#work);
  };

  #next(commands: Commands): Command | undefined {
    try {
      return commands.next();
    } catch {
      this.#end(statusOf(malformedCommand(commands.index + 1)));
      return undefined;
    }
  }

  #run({ id, call }: Command, index: number): void {
    if (this.#open.has(id)) return this.#refuse(id, this.#wasted(idInUse(index, id)));
    if (call === undefined) return this.#refuse(id, this.#wasted(unknownCommand(index)));
    if (call.$case === 'cancel') return this.#cancel(id, call.value);
    const command = this.#commandOf(id);
    try {
      if (call.$case === 'hello') this.#hello(command, call.value);
      else this.#ask(command, kindOf(call), call.value);
    } catch (error) {
      this.context.check.forget();
      if (this.#close(command)) this.#replies.fail(id, error);
      return;
    }
    if (command.stage === 'done') this.#spare = command;
    else this.#open.keep(command);
  }

  #commandOf(id: number): OpenCommand {
    const command = this.#spare ?? new OpenCommand(this, id, HELLO);
    this.#spare = undefined;
    return command.begin(id);
  }

  #ask<Q>(command: OpenCommand, kind: Kind<Q>, message: Q): void {
    const { check, limits } = this.context;
    const request = kind.read(message, check, this.#caller);
    const wrong = check.take();
    if (wrong !== undefined) return command.refuse(this.#wasted(wrong));
    if (this.#open.size >= limits.openCommands && kind.mayWait(request))
      return command.refuse(this.#wasted(tooManyOpen(limits)));
    command.form = kind.form;
    command.pending = kind.ask(this.#opened(), request, command);
  }

  #hello(command: OpenCommand, message: wire.Hello): void {
    const request = helloRequest(message, this.context.check, this.#caller);
    const wrong = this.context.check.take();
    if (wrong !== undefined) return command.refuse(this.#wasted(wrong));
    command.form = HELLO;
    let isRefused = false;
    this.#opened().hello(request, {
      answer: (answer) => {
        this.#sessionId = answer.sessionId;
        return command.answer(answer);
      },
      refuse: (refusal) => {
        isRefused = true;
        command.refuse(refusal);
      },
    });
    // Its answer may have to wait for the disk; the commands behind it do not wait for its answer.
    if (!isRefused) this.#caller.consumerId = request.consumerId;
  }

  #cancel(id: number, { id: which, leave }: wire.Cancel): void {
    const command = this.#open.get(which);
    const isCancelled = command !== undefined && this.#callOff(command, leave);
    // Each that ends a command was counted with that command.
    const tooFast = isCancelled || this.#isFree() ? undefined : this.#opened().wasted?.();
    if (isCancelled) this.#refuse(which, { kind: 'cancelled' });
    if (tooFast !== undefined) this.#refuse(id, tooFast);
    else if (this.#canTell()) this.#replies.cancelled(id, isCancelled);
  }

  /** A client asks for an answer with a cancel of nothing, to see that its stream lives; and one may cross an answer. */
  #isFree(): boolean {
    const now = performance.now();
    if (now - this.#freeAt < FREE_EVERY) return false;
    this.#freeAt = now;
    return true;
  }

  /** @returns false: it is carried out, and its answer follows */
  #callOff(command: OpenCommand, leave: boolean): boolean {
    const { pending, form } = command;
    if (form.canBeUndone || (pending !== undefined && pending.callOff === undefined)) {
      this.#close(command);
      this.#giveUp(command, leave);
      return true;
    }
    let isCalledOff = false;
    this.#attempt(() => {
      isCalledOff = pending?.callOff?.(leave) === true;
    });
    if (isCalledOff) this.#close(command);
    return isCalledOff;
  }

  /** @returns whether its answer can be sent */
  #close(command: OpenCommand): boolean {
    return this.#open.close(command) && this.#canTell();
  }

  #canTell(): boolean {
    if (this.#life !== 'open') return false;
    if (!this.#flow.isFull) return true;
    this.#end(statusOf(unsentFull(this.context.limits)), 'discard');
    return false;
  }

  #refuse(id: number, refusal: Refusal): void {
    if (this.#canTell()) this.#replies.refuse(id, refusal);
  }

  /** A command that goes no further counts as any other. @returns what it is answered */
  #wasted(wrong: Refusal): Refusal {
    return this.#opened().wasted?.() ?? wrong;
  }

  #opened(): Session {
    if (this.#session === undefined) throw new Error('a command before the session was opened');
    return this.#session;
  }

  /**
   * Ends the stream from our side; unset: with OK. Not at once: we may stand in the middle of a step of the port.
   * @param unsent what becomes of answers that are not on their way yet
   */
  #end(status: CallStatus | undefined, unsent: 'send' | 'discard' = 'send'): void {
    if (this.#life !== 'open') return;
    this.#life = 'ending';
    this.#commands = undefined;
    this.context.soon(() => {
      if (this.#life === 'ending') this.#finish(status, unsent);
    });
  }

  #finish(status: CallStatus | undefined, unsent: 'send' | 'discard'): void {
    this.#giveUpAll(() => {});
    if (unsent === 'discard') this.#undeliverable(this.#flow.out.discard());
    this.#flow.finish();
    if (status === undefined) this.call.end();
    else this.call.emit('error', status);
    // A client that does not read would never hear it, and the stream never end.
    this.#callOffReset = this.context.after(END_GRACE_MS, this.hooks.reset);
  }

  #over(): void {
    if (this.#life === 'over') return;
    this.#life = 'over';
    this.#commands = undefined;
    this.#flow.stop();
    this.#callOffReset?.();
    this.hooks.over();
    const unknown = this.#flow.out.end();
    this.#giveUpAll(() => {
      this.#undeliverable(unknown);
      this.#attempt(() => this.#opened().close());
    });
  }

  #giveUpAll(then: () => void): void {
    this.#open.giveUpAll((command) => this.#giveUp(command, false), this.context, then);
  }

  #giveUp(command: OpenCommand, leave: boolean): void {
    this.#attempt(() => command.pending?.cancel(leave));
  }

  /** Turns that were given to a stream that was replaced belong to the newer stream, whose hello named them. */
  #undeliverable(turns: readonly Turn[]): void {
    if (turns.length > 0 && !this.#replaced) this.#attempt(() => this.#opened().undeliverable(turns));
  }

  /** No caller is left to get the error: a failure is only logged. */
  #attempt(task: () => void): void {
    try {
      task();
    } catch (error) {
      report(this.context, this.call.getPath(), error);
    }
  }
}
