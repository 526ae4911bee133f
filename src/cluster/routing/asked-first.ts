/** A Submit of items that wait for items of other groups: first it is found out whether those are known. */
import type {
  AwaitAnswer,
  ItemRef,
  Pending,
  Refusal,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  Waiting,
} from '../../coordinator.js';
import { badRequest } from '../../core/contract/refusals.js';
import type { FarAfter } from '../partitions/groups.js';

/** Items of other groups that the items of one Submit may name. */
const MOST_NAMED = 100;

/** Where it is put: asks for the state of an item. */
type AskState = (ref: ItemRef, reply: Reply<AwaitAnswer>) => Waiting;

/**
 * Asks the homes of what is waited for, then submits. The home that decides cannot ask: another home would have to live for its
 * step. What changes between the two it finds out later, when it asks how they end.
 *
 * An item that its own queue knows already is not looked at more closely, as where all is decided about in one place: its Submit was
 * carried out, and what it waited for may be forgotten by now.
 */
export class AskedFirst implements Pending {
  readonly #pending: Waiting[] = [];
  #left = 0;
  #isOver = false;
  #submit: { readonly call: Waiting } | undefined;
  #refusal: Refusal | undefined;

  constructor(
    private readonly ask: AskState,
    private readonly send: (reply: Reply<SubmitAnswer>) => Waiting,
    private readonly request: SubmitRequest,
    private readonly far: readonly FarAfter[],
    private readonly reply: Reply<SubmitAnswer>,
  ) {}

  begin(): Waiting {
    const byName = new Map<string, FarAfter[]>();
    for (const one of this.far) {
      const name = JSON.stringify([one.ref.queue, one.ref.itemId]);
      const some = byName.get(name);
      if (some === undefined) byName.set(name, [one]);
      else some.push(one);
    }
    if (byName.size > MOST_NAMED) {
      this.reply.refuse(badRequest('items', `${byName.size} items of other groups to wait for; ${ALLOWED}`));
      return undefined;
    }
    const unknown: FarAfter[] = [];
    const named = [...byName.values()].flatMap(([first, ...others]) =>
      first === undefined ? [] : [{ ref: first.ref, found: () => void unknown.push(first, ...others) }],
    );
    this.#askAll(named, () => this.#lookAtOwn(unknown));
    return this.#isOver ? this.#submit?.call : this;
  }

  cancel(leave = false): void {
    this.#isOver = true;
    for (const pending of this.#pending) pending?.cancel(leave);
    this.#submit?.call?.cancel(leave);
  }

  callOff(leave = false): boolean {
    if (!this.#isOver) {
      this.cancel(leave);
      return true;
    }
    const call = this.#submit?.call;
    if (call?.callOff !== undefined) return call.callOff(leave);
    call?.cancel(leave);
    return call !== undefined;
  }

  /** What named something unknown, if its own queue does not know it: the first of them is told. */
  #lookAtOwn(unknown: readonly FarAfter[]): void {
    const { queue, items } = this.request;
    const first = [...unknown].sort((a, b) => a.at - b.at)[0];
    if (first === undefined) return this.#go();
    let wrong: FarAfter | undefined;
    const own: { readonly ref: ItemRef; readonly found: () => void }[] = [];
    for (const one of unknown) {
      const itemId = items[one.at]?.itemId;
      const found = () => {
        if (wrong === undefined || one.at < wrong.at) wrong = one;
      };
      if (itemId === undefined) found();
      else own.push({ ref: { queue, itemId }, found });
    }
    this.#askAll(own, () => {
      if (wrong === undefined) this.#go();
      else this.#refuse(badRequest(wrong.field, `item ${wrong.ref.itemId} of queue ${wrong.ref.queue} ${UNKNOWN}`));
    });
  }

  /** @param then when all have answered; not if one refused, or nobody waits any more */
  #askAll(questions: readonly { readonly ref: ItemRef; readonly found: () => void }[], then: () => void): void {
    this.#pending.length = 0;
    this.#left = questions.length + 1;
    const done = () => {
      this.#left -= 1;
      if (this.#left > 0 || this.#isOver) return;
      if (this.#refusal === undefined) then();
      else this.#refuse(this.#refusal);
    };
    for (const { ref, found } of questions) {
      const call = this.ask(ref, {
        answer: ({ state }) => {
          if (state === 'unknown') found();
          done();
          return true;
        },
        refuse: (refusal) => {
          this.#refusal ??= refusal;
          done();
        },
      });
      this.#pending.push(call);
    }
    done();
  }

  #go(): void {
    this.#isOver = true;
    this.#pending.length = 0;
    this.#submit = { call: undefined };
    this.#submit = { call: this.send(this.reply) };
  }

  #refuse(refusal: Refusal): void {
    this.#isOver = true;
    this.reply.refuse(refusal);
  }
}

const ALLOWED = `allowed in one call: ${MOST_NAMED}`;
const UNKNOWN =
  'is not known to the home of its queue, or no more; allowed: an item of another group that is known there';
