import assert from 'node:assert/strict';
import type { Pending, Refusal, Reply, Waiting } from '../../src/coordinator.js';

export type Outcome<T> = { readonly answer: T } | { readonly refusal: Refusal };

/**
 * One call and everything that came back for it. It throws when a second answer comes, so every test that uses it
 * checks I7 as well.
 */
export class Call<T> implements Reply<T> {
  #outcome: Outcome<T> | undefined;
  #pending: Pending | undefined;
  #cancelled = false;

  /** `deliverable` false: the one who asked is gone, and the server notices only when it answers. */
  constructor(readonly deliverable: boolean = true) {}

  answer(value: T): boolean {
    this.#settle({ answer: value });
    return this.deliverable;
  }

  refuse(refusal: Refusal): void {
    this.#settle({ refusal });
  }

  /** To be given what the coordinator's method returned. */
  waits(waiting: Waiting): this {
    this.#pending = waiting;
    return this;
  }

  cancel(leave = false): void {
    this.#cancelled = true;
    this.#pending?.cancel(leave);
  }

  get open(): boolean {
    return this.#outcome === undefined && !this.#cancelled;
  }

  get outcome(): Outcome<T> | undefined {
    return this.#outcome;
  }

  /** The answer; fails the test when there is none yet or it was refused. */
  get value(): T {
    const outcome = this.#outcome;
    if (outcome === undefined) assert.fail('not answered yet');
    if ('refusal' in outcome) assert.fail(`refused: ${JSON.stringify(outcome.refusal)}`);
    return outcome.answer;
  }

  get refusal(): Refusal {
    const outcome = this.#outcome;
    if (outcome === undefined) assert.fail('not answered yet');
    if ('answer' in outcome) assert.fail(`answered: ${JSON.stringify(outcome.answer)}`);
    return outcome.refusal;
  }

  #settle(outcome: Outcome<T>): void {
    assert.equal(this.#outcome, undefined, 'I7: one answer per call');
    assert.ok(!this.#cancelled, 'no answer follows a cancel');
    this.#outcome = outcome;
  }
}
