/** The open calls of the application: how each begins, is given up, is refused, and ends. */
import { follow } from '../time/follow.js';
import type { CallSettings } from '../words/calls.js';
import { cancelled, type KeyturnError } from '../words/errors.js';
import { type Command, WorkerCommand } from './command.js';
import { Deadlines } from './deadlines.js';
import type { OpenCommands } from './open-commands.js';
import type { TurnKeeping } from './turn-keeping.js';

export class WorkerCalls {
  readonly #deadlines = new Deadlines();

  /** @param cancel asks the sidecar to end a call that was sent */
  constructor(
    private readonly open: OpenCommands,
    private readonly turns: TurnKeeping,
    private readonly cancel: (command: WorkerCommand) => void,
  ) {}

  /** No open call is to be given up before. */
  get firstDeadline(): number {
    return this.#deadlines.first;
  }

  /** @param isThere there is a sidecar that was greeted */
  begin(command: WorkerCommand, settings: CallSettings | undefined, now: number, isThere: boolean): void {
    this.#deadlines.begin(command, settings?.timeout, now, isThere);
    command.leave = settings?.leave === true;
    if (settings?.signal !== undefined)
      command.unfollow = follow(settings.signal, () => this.#abandon(command, cancelled()));
    this.open.add(command);
  }

  /** There is a sidecar. */
  attached(calls: readonly WorkerCommand[], now: number): void {
    this.#deadlines.attached(calls, now);
  }

  /**
   * The stream is gone, and with it the session's own commands, and calls that were abandoned, unless a turn would be kept for
   * ever without them.
   */
  detached(now: number): void {
    for (const command of this.open.all()) {
      if (command instanceof WorkerCommand && (!command.abandoned || this.turns.isEndedBy(command))) command.unsent();
      else this.#forget(command);
    }
    this.#deadlines.detached(this.open.ofWorkers(), now);
  }

  /** Gives up those whose time is over. */
  expire(now: number, errorNow: () => KeyturnError): void {
    for (const command of this.#deadlines.expired(this.open.ofWorkers(), now)) this.#abandon(command, errorNow());
  }

  /**
   * The client is being closed. Calls that wait are cancelled: a place that is left behind would keep other callers waiting for
   * nothing. Calls that end a turn may come through.
   */
  callOff(error: KeyturnError): void {
    for (const command of this.open.workersInOrder()) {
      if (command.keepsOrEnds) continue;
      if (!command.isSent) this.#refuse(command, error);
      else if (!command.abandoned) this.#abandon(command, error);
    }
  }

  refuseAll(error: KeyturnError): void {
    for (const command of this.open.workersInOrder()) this.#refuse(command, error);
  }

  /** A call is open no more. Its caller's signal may live on for long: nothing is kept there. */
  done(command: WorkerCommand): void {
    unfollow(command);
    this.turns.done(command);
  }

  #refuse(command: WorkerCommand, error: KeyturnError): void {
    this.#forget(command);
    command.abandon(error);
  }

  #forget(command: Command): void {
    this.open.remove(command);
    if (command instanceof WorkerCommand) this.done(command);
  }

  /** Its caller waits no more. */
  #abandon(command: WorkerCommand, error: KeyturnError): void {
    if (!this.open.has(command)) return;
    command.abandon(error);
    unfollow(command);
    command.detach();
    // It stays open until the sidecar has answered it, in one way or the other: its id is taken, and it may bring a turn.
    if (command.isSent) this.cancel(command);
    else if (!this.turns.isEndedBy(command)) this.#forget(command);
  }
}

function unfollow(command: WorkerCommand): void {
  command.unfollow?.();
  command.unfollow = undefined;
}
