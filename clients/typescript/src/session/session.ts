/**
 * One worker's session with a sidecar, over as many streams as it takes, one at a time.
 *
 * Calls are open from the moment they are asked until they are answered, whatever becomes of the streams: a new one says
 * hello with the same session id, settles which turns there are, and then every open call is sent again, in order. All
 * of them may be: tickets, item ids and tokens make the same call twice one call.
 */

import type * as wire from '../gen/keyturn/v1/coordinator.js';
import { Alarm } from '../time/alarm.js';
import type { Clock } from '../time/clock.js';
import type { Renewals } from '../turns/renewals.js';
import { commandError } from '../wire/status.js';
import { fromDuration, toDuration } from '../wire/time.js';
import type { CallSettings, HeldTurn } from '../words/calls.js';
import { cancelled, clientClosed, KeyturnError } from '../words/errors.js';
import { checkCallSettings } from '../words/option-checks.js';
import type { Turn } from '../words/worker-words.js';
import { type CallCommand, type Outcome, OwnCommand, WorkerCommand } from './command.js';
import { Farewell } from './farewell.js';
import { type Attached, isAttached, type Link } from './link.js';
import { Liveness } from './liveness.js';
import type { OpenStream, SessionStream } from './network.js';
import { OpenCommands } from './open-commands.js';
import { Outbox } from './outbox.js';
import { isForGood, silent, tooLarge, tooLate, unanswered } from './refusals.js';
import type { SessionSettings, Surroundings } from './settings.js';
import { StreamRecord } from './stream-record.js';
import { TurnKeeping } from './turn-keeping.js';
import { WorkerCalls } from './worker-calls.js';
import { WriteScheduler } from './write-scheduler.js';

export class Session {
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #openStream: OpenStream;
  readonly #open: OpenCommands;
  readonly #outbox: Outbox;
  readonly #streams: StreamRecord;
  readonly #liveness: Liveness;
  readonly #alarm: Alarm;
  readonly #calls: WorkerCalls;
  readonly #writes: WriteScheduler;
  readonly #turns: TurnKeeping;
  #link: Link = { at: 'idle' };
  /** Set: the client is being closed. Nothing new is taken, and what is open is waited for. */
  #farewell: Farewell | undefined;

  constructor(settings: SessionSettings, surroundings: Surroundings, renewals: Renewals) {
    const { clock, openStream } = surroundings;
    this.#settings = settings;
    this.#clock = clock;
    this.#writes = new WriteScheduler(clock, () => this.#flush());
    this.#openStream = openStream;
    this.#open = new OpenCommands(settings.limits);
    this.#outbox = new Outbox(this.#open);
    this.#streams = new StreamRecord(settings, surroundings);
    this.#liveness = new Liveness(settings.ttl, settings.margin);
    this.#alarm = new Alarm(clock, (late) => this.#wake(late));
    const margin = () => this.#liveness.margin;
    this.#turns = new TurnKeeping(clock, renewals, margin, (command) => this.#askOwn(command));
    this.#calls = new WorkerCalls(this.#open, this.#turns, ({ id, leave }) =>
      this.#askOwn(new OwnCommand({ $case: 'cancel', value: { id, leave } })),
    );
  }

  get turns(): TurnKeeping {
    return this.#turns;
  }

  /**
   * @returns the command's answer
   * @throws KeyturnError when the settings are wrong
   */
  ask<A>(command: CallCommand<A>, settings: CallSettings | undefined): Promise<A> {
    const refusal = this.#refusal(command, settings);
    if (refusal !== undefined) {
      command.abandon(refusal);
      return command.answer;
    }
    const now = this.#clock.now();
    this.#calls.begin(command, settings, now, this.#link.at === 'ready');
    this.#liveness.busy(now);
    if (this.#sendable) this.#outbox.push(command);
    this.#alarm.by(command.deadline);
    this.#writes.schedule();
    return command.answer;
  }

  hold(turn: Turn, askedAt: number): HeldTurn {
    const held = this.#turns.hold(turn, askedAt);
    if (this.#link.at === 'stopped') this.#turns.loseAll(this.#link.loss);
    else if (this.#farewell !== undefined) this.#turns.loseAll('closed');
    return held;
  }

  /** Resolves when nothing is left of it. */
  close(): Promise<void> {
    if (this.#link.at === 'stopped') return Promise.resolve();
    const farewell = new Farewell(this.#clock, this.#open, this.#turns, () => this.#leave());
    this.#farewell = farewell;
    farewell.isReturning = !isAttached(this.#link) && farewell.needsReturn;
    this.#turns.closing();
    this.#calls.callOff(clientClosed());
    if (isAttached(this.#link)) this.#outbox.flush(this.#link.stream, this.#clock.now());
    else if (!farewell.isReturning) this.#leave();
    // Callers see the last answers after this: a turn that one of them got comes back then.
    this.#clock.soon(() => this.#leaveIfOver());
    return farewell.over;
  }

  /** Why there is no stream, if there is none. */
  get #missing(): KeyturnError | undefined {
    return this.#streams.lastFailure ?? (this.#link.at === 'ready' ? undefined : unanswered(this.#settings.address));
  }

  get #sendable(): boolean {
    return isAttached(this.#link) && (this.#link.at === 'ready' || this.#link.piped);
  }

  /** There is something that a stream is needed for. */
  get #wanted(): boolean {
    return this.#open.workers > 0 || this.#turns.tied > 0 || this.#farewell?.isReturning === true;
  }

  #refusal(command: WorkerCommand, settings: CallSettings | undefined): KeyturnError | undefined {
    checkCallSettings(settings);
    if (this.#link.at === 'stopped') return this.#link.error;
    if (this.#farewell !== undefined) return clientClosed();
    if (settings?.signal?.aborted === true) return cancelled();
    return tooLarge(command) ?? this.#open.refusal(command);
  }

  #askOwn(command: OwnCommand): void {
    // Without a stream nothing can be sent. A turn that is to be given back is named again by the answer of the next hello.
    if (!isAttached(this.#link)) return;
    this.#open.add(command);
    this.#outbox.pushUrgent(command);
    this.#writes.schedule();
  }

  #flush(): void {
    const now = this.#clock.now();
    if (this.#link.at === 'idle' && this.#wanted) this.#connect(now);
    else if (isAttached(this.#link)) this.#outbox.flush(this.#link.stream, now);
    this.#arm();
  }

  #connect(now: number): void {
    const workers = this.#open.workersInOrder();
    const piped = this.#turns.tied === 0 && !workers.some(({ wasSent }) => wasSent);
    const stream = this.#openStream({
      message: (message) => {
        if (this.#isCurrent(stream)) this.#take(message);
      },
      drained: () => {
        if (!this.#isCurrent(stream)) return;
        this.#outbox.unblock();
        this.#writes.schedule();
      },
      ended: (error) => {
        if (this.#isCurrent(stream))
          this.#broke(error ?? new KeyturnError('the sidecar ended the stream', 'UNAVAILABLE'));
        else this.#farewell?.gone();
      },
    });
    const link: Attached = { at: 'greeting', stream, since: now, piped, stopAt: this.#liveness.stopAt, proving: false };
    this.#link = link;
    this.#outbox.clear();
    const { consumerId = '', sessionId, ttl } = this.#settings;
    const hello = { consumerId, sessionId, ttl: toDuration(ttl) };
    this.#askOwn(new OwnCommand({ $case: 'hello', value: hello }, (outcome) => this.#greeted(link, outcome)));
    if (piped) for (const command of workers) this.#outbox.push(command);
    this.#outbox.flush(stream, now);
  }

  #isCurrent(stream: SessionStream): boolean {
    return isAttached(this.#link) && this.#link.stream === stream;
  }

  #greeted(link: Attached, outcome: Outcome | undefined): void {
    if (outcome?.$case !== 'hello') {
      const error = outcome?.$case === 'error' ? commandError(outcome.value) : undefined;
      return this.#broke(error ?? new KeyturnError('the sidecar does not answer hello', 'UNIMPLEMENTED'));
    }
    const { ttl, turns } = outcome.value;
    if (ttl !== undefined) this.#liveness.ttl = fromDuration(ttl);
    const workers = this.#open.workersInOrder();
    link.at = 'ready';
    this.#calls.attached(workers, this.#clock.now());
    this.#streams.stands();
    // What it gives back goes before what is sent again, which may be about the same keys.
    this.#turns.attached(turns, workers, link.stopAt);
    if (this.#farewell !== undefined) this.#farewell.isReturning = false;
    if (!link.piped) for (const command of workers) this.#outbox.push(command);
    this.#writes.schedule();
  }

  #take(message: wire.SessionResponse): void {
    for (const { id, outcome } of message.replies) {
      const command = this.#open.take(id);
      if (command === undefined) continue;
      this.#liveness.proved(command.sentAt);
      command.answered(outcome, this.#turns);
      if (command instanceof WorkerCommand) this.#calls.done(command);
      else this.#arm();
    }
    // After the replies: the turn that a notice is about may have been given by one of them.
    for (const notice of message.notices) this.#turns.notice(notice, () => this.#open.workersInOrder());
    if (!this.#wanted) this.#liveness.idle();
    this.#leaveIfOver();
  }

  /** The stream is of no use any more, for this reason. */
  #broke(error: KeyturnError): void {
    const link = this.#link;
    if (!isAttached(link)) return;
    link.stream.destroy();
    if (this.#farewell !== undefined) {
      this.#farewell.isReturning =
        this.#farewell.needsReturn && !isForGood(error) && error.reason !== 'SESSION_REPLACED';
      if (!this.#farewell.isReturning) {
        this.#link = { at: 'idle' };
        return this.#leave();
      }
    }
    const now = this.#clock.now();
    this.#streams.broke(error, link.at === 'ready' ? now - link.since : undefined);
    this.#outbox.clear();
    this.#turns.detached();
    this.#calls.detached(now);
    if (error.reason === 'SESSION_REPLACED') return this.#stop(error, 'replaced');
    this.#link = { at: 'idle' };
    // A token that ended in the middle may have been replaced: the next stream shows the one of that moment.
    const isRenewable = error.code === 'UNAUTHENTICATED' && link.at === 'ready';
    if (!isRenewable && this.#streams.isHopeless(error)) this.#fail(error);
    if (this.#wanted) this.#link = { at: 'pausing', until: now + this.#streams.nextPause() };
    else this.#liveness.idle();
    this.#arm();
  }

  /** Nothing that is asked now would come through. What is asked later may. */
  #fail(error: KeyturnError): void {
    this.#turns.loseAll('unreachable');
    this.#calls.refuseAll(error);
  }

  #stop(error: KeyturnError, loss: 'closed' | 'replaced'): void {
    this.#link = { at: 'stopped', error, loss };
    this.#alarm.off();
    this.#turns.loseAll(loss);
    this.#calls.refuseAll(error);
    for (const command of this.#open.all()) this.#open.remove(command);
    this.#outbox.clear();
  }

  #leaveIfOver(): void {
    if (this.#farewell?.awaitsOutcomes === false) this.#leave();
  }

  #leave(): void {
    if (this.#link.at === 'stopped') return;
    const stream = isAttached(this.#link) ? this.#link.stream : undefined;
    this.#stop(clientClosed(), 'closed');
    this.#farewell?.end(stream);
  }

  #wake(late: number): void {
    const now = this.#clock.now();
    this.#liveness.woke(now, late);
    this.#calls.expire(now, () => tooLate(this.#missing));
    const hasGivenUp = this.#turns.tick(now, this.#liveness.stopAt);
    const link = this.#link;
    // Should the stream be alive after all, the session would keep what was given up here: the next hello tells of it.
    if (hasGivenUp && link.at === 'ready') this.#broke(silent());
    else if (link.at === 'pausing' && now >= link.until) this.#goOn(now);
    else if (isAttached(link) && this.#wanted) this.#prove(link, now);
    this.#arm();
  }

  /** The pause is over. What it was for may be over too. */
  #goOn(now: number): void {
    this.#link = { at: 'idle' };
    if (this.#wanted) this.#connect(now);
  }

  #prove(link: Attached, now: number): void {
    if (now >= this.#liveness.deadAt(link.since)) return this.#broke(silent());
    if (link.at !== 'ready' || link.proving || now < this.#liveness.proveAt) return;
    link.proving = true;
    const ping = new OwnCommand({ $case: 'cancel', value: { id: 0, leave: false } }, () => {
      link.proving = false;
      this.#arm();
    });
    this.#askOwn(ping);
  }

  #arm(): void {
    const link = this.#link;
    if (link.at === 'stopped') return;
    let next = Math.min(this.#calls.firstDeadline, this.#turns.nextAt(this.#liveness.stopAt));
    if (link.at === 'pausing') next = Math.min(next, link.until);
    if (isAttached(link) && this.#wanted) next = Math.min(next, this.#liveness.nextAt(link));
    if (next < Number.POSITIVE_INFINITY) this.#alarm.by(next);
  }
}
