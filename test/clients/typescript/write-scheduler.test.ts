import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WriteScheduler } from '#client/session/write-scheduler';

/** Keeps apart what runs when the task that runs now has ended, and what waits for the end of the turn. */
class Turns {
  readonly #atEnd: (() => void)[] = [];
  readonly #soon: (() => void)[] = [];
  readonly #asked: string[] = [];
  readonly written: string[] = [];
  readonly #scheduler = new WriteScheduler(
    { atEnd: (task) => this.#atEnd.push(task), soon: (task) => this.#soon.push(task) },
    () => this.written.push(...this.#asked.splice(0)),
  );

  write(name: string): void {
    this.#asked.push(name);
    this.#scheduler.schedule();
  }

  taskEnds(): readonly string[] {
    for (const task of this.#atEnd.splice(0)) task();
    return this.written.splice(0);
  }

  turnEnds(): readonly string[] {
    for (const task of this.#soon.splice(0)) task();
    return this.written.splice(0);
  }
}

describe('when a session writes', () => {
  it('the first message of a turn leaves when the task that asked has ended', () => {
    const turns = new Turns();
    turns.write('first');
    assert.deepEqual(turns.written, []);
    assert.deepEqual(turns.taskEnds(), ['first']);
  });

  it('the second one takes along what else is asked in that turn', () => {
    const turns = new Turns();
    turns.write('first');
    turns.taskEnds();
    turns.write('second');
    assert.deepEqual(turns.taskEnds(), []);
    assert.deepEqual(turns.turnEnds(), ['second']);
  });

  it('begins anew with every turn', () => {
    const turns = new Turns();
    for (const name of ['one', 'two', 'three']) {
      turns.write(name);
      assert.deepEqual(turns.taskEnds(), [name]);
      assert.deepEqual(turns.turnEnds(), []);
    }
  });
});
