import type { Notice, Refusal } from '../../coordinator.js';
import { report } from '../call/handler.js';
import { internalBytes, statusBytes } from '../call/status.js';
import type { Flow } from './flow.js';
import type { OpenCommand } from './open.js';
import type { SessionCall, SessionContext } from './stream-call.js';

/** What a session tells its client: gathered for the next message. */
export class Replies {
  /** The last refusal, encoded: calls that wait are often refused together, for one reason. */
  #refusal: Refusal | undefined;
  #refusalBytes: Uint8Array = new Uint8Array(0);

  constructor(
    private readonly flow: Flow,
    private readonly context: SessionContext,
    private readonly call: SessionCall,
  ) {}

  /** @throws when the answer cannot be written; then nothing is */
  answer({ id, form }: OpenCommand, answer: unknown): void {
    this.flow.out.answer(id, form, answer);
    this.flow.schedule();
  }

  /** @throws when the notice cannot be written; then nothing is */
  notice(notice: Notice): void {
    this.flow.out.notice(notice);
    this.flow.schedule();
  }

  cancelled(id: number, isCancelled: boolean): void {
    this.flow.out.cancelled(id, isCancelled);
    this.flow.schedule();
  }

  refuse(id: number, refusal: Refusal): void {
    if (refusal !== this.#refusal) {
      this.#refusalBytes = statusBytes(refusal);
      this.#refusal = refusal;
    }
    this.#error(id, this.#refusalBytes);
  }

  /** A failure of our own: the client gets its number, and the log what it was. */
  fail(id: number, error: unknown): void {
    this.#error(id, internalBytes(report(this.context, this.call.getPath(), error)));
  }

  #error(id: number, status: Uint8Array): void {
    this.flow.out.error(id, status);
    this.flow.schedule();
  }
}
