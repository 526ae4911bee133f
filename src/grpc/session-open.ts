import type { Pending, Refusal, Reply } from '../coordinator.js';
import type { Form } from './session-outgoing.js';

/** To whom a command's answer goes. */
export interface Desk {
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
    private readonly desk: Desk,
    public id: number,
    public form: Form,
  ) {}

  answer(value: unknown): boolean {
    return this.desk.answered(this, value);
  }

  refuse(refusal: Refusal): void {
    this.desk.refused(this, refusal);
  }
}
