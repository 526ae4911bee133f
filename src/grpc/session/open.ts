import type { Pending, Refusal, Reply } from '../../coordinator.js';
import type { Scheduler } from './flow.js';
import type { Form } from './outgoing.js';

/** To whom a command's answer goes. */
export interface CommandSink {
  /** @returns whether the answer can still reach the client */
  answered(command: OpenCommand, answer: unknown): boolean;
  refused(command: OpenCommand, refusal: Refusal): void;
}

/**
 * A command that is run or waits: the reply that the port answers, and the entry among the open commands, in one
 * object, because there may be 100,000 of them.
 */
export class OpenCommand implements Reply<unknown> {
  /** What the port gave for a command that waits. */
  pending: Pending | undefined = undefined;
  /** Only one that waits stands among the open commands; of one that is done no answer follows. */
  stage: 'run' | 'waits' | 'done' = 'run';

  constructor(
    private readonly sink: CommandSink,
    public id: number,
    public form: Form,
  ) {}

  /** It is run, under this id: a command that is done is used again for another. */
  begin(id: number): this {
    this.id = id;
    this.stage = 'run';
    return this;
  }

  answer(value: unknown): boolean {
    return this.sink.answered(this, value);
  }

  refuse(refusal: Refusal): void {
    this.sink.refused(this, refusal);
  }
}

/** Waits that are given up in one go: a millisecond or two, then the event loop goes on. */
const AT_ONCE = 1_000;

/** The commands of a stream that wait, by their ids. */
export class OpenCommands {
  readonly #waiting = new Map<number, OpenCommand>();

  get size(): number {
    return this.#waiting.size;
  }

  has(id: number): boolean {
    return this.#waiting.size > 0 && this.#waiting.has(id);
  }

  get(id: number): OpenCommand | undefined {
    return this.#waiting.get(id);
  }

  keep(command: OpenCommand): void {
    command.stage = 'waits';
    this.#waiting.set(command.id, command);
  }

  /** The command is open no more. @returns false when it was closed before */
  close(command: OpenCommand): boolean {
    if (command.stage === 'done') return false;
    if (command.stage === 'waits') this.#waiting.delete(command.id);
    command.stage = 'done';
    return true;
  }

  /** Takes all of them out, then goes on with `then`. Those that come later are not concerned. */
  giveUpAll(giveUp: (command: OpenCommand) => void, scheduler: Pick<Scheduler, 'soon'>, then: () => void): void {
    let left = AT_ONCE;
    for (const command of this.#waiting.values()) {
      if (left-- === 0) return scheduler.soon(() => this.giveUpAll(giveUp, scheduler, then));
      this.close(command);
      giveUp(command);
    }
    then();
  }
}
