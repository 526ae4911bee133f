import type { Pending, Refusal, Reply, TurnRef } from '../../coordinator.js';
import type { Form } from '../session/outgoing.js';
import type { Taker } from './given.js';

export interface CallSink {
  /** @returns whether the answer can still reach the gateway */
  answered(call: ServedCall, answer: unknown): boolean;
  refused(call: ServedCall, refusal: Refusal): void;
}

/** How an answer travels. */
export interface TellForm extends Form {
  /** In which field of a LinkResponse. Unset: among the replies to workers. */
  readonly entry?: number;
}

/** To whom turns go back, and what keeps the order of its answers. */
export interface Order extends Taker {
  /** The message of the large lane that what follows must not overtake. */
  largeUntil: number;
}

/** Of calls that come on no session. */
export class Unordered implements Order {
  constructor(private readonly home: Taker) {}

  get largeUntil(): number {
    return 0;
  }

  set largeUntil(_message: number) {
    // Nothing has to stay behind it.
  }

  undeliverable(turns: readonly TurnRef[]): void {
    this.home.undeliverable(turns);
  }
}

/** A call of a gateway: the reply that the port answers, and the entry among the open ones, in one object. */
export class ServedCall implements Reply<unknown> {
  pending: Pending | undefined = undefined;
  stage: 'run' | 'waits' | 'done' = 'run';

  constructor(
    private readonly sink: CallSink,
    public id: number,
    public form: TellForm,
    public order: Order,
  ) {}

  begin(id: number, form: TellForm, order: Order): this {
    this.id = id;
    this.form = form;
    this.order = order;
    this.pending = undefined;
    this.stage = 'run';
    return this;
  }

  answer(value?: unknown): boolean {
    return this.sink.answered(this, value);
  }

  refuse(refusal: Refusal): void {
    this.sink.refused(this, refusal);
  }
}
