/** Calls that several partitions answer together, each its part. */
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  AwaitRequest,
  Pending,
  Refusal,
  RenewAnswer,
  RenewRequest,
  RenewResult,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  SubmitResult,
  Waiting,
} from '../../coordinator.js';
import { byPartition, type Router } from './router.js';
import { RenewCall } from './settling-calls.js';
import { AwaitCall, SubmitCall } from './single-calls.js';
import type { Source } from './target.js';

/**
 * A Submit to a queue that is spread: whole in each partition, not over all of them. If one refuses the call is refused with
 * that; what others accepted stays, and is known by its ids when it is sent again (S256).
 */
export class WideSubmit implements Pending {
  readonly #results: SubmitResult[] = [];
  readonly #parts: SubmitCall[] = [];
  #left = 0;
  #refusal: Refusal | undefined;
  #isOver = false;

  constructor(
    private readonly router: Router,
    private readonly source: Source,
    private readonly request: SubmitRequest,
    private readonly reply: Reply<SubmitAnswer>,
  ) {}

  begin(): Waiting {
    const { queue, items } = this.request;
    const { map } = this.router;
    const named = items.map((item, at) => {
      // By its id it is found again: a home would make one too late to say where it belongs.
      const itemId = item.itemId ?? (item.key === '' ? this.router.newId() : undefined);
      return { at, item: itemId === item.itemId ? item : { ...item, itemId } };
    });
    const parts = byPartition(named, ({ item }) => map.of(queue, item.key, item.itemId));
    this.#left = parts.size;
    for (const [partition, part] of parts) {
      const places = part.map(({ at }) => at);
      const request = { ...this.request, items: part.map(({ item }) => item) };
      const call = new SubmitCall(this.router, this.source, partition, request, this.#partReply(places));
      this.#parts.push(call);
      call.begin();
    }
    return this.#isOver ? undefined : this;
  }

  cancel(leave = false): void {
    this.#isOver = true;
    for (const part of this.#parts) part.cancel(leave);
  }

  /** What is decided stays decided. Where some are not, the call as a whole can still be taken back. */
  callOff(leave = false): boolean {
    if (this.#isOver) return false;
    let isCalledOff = false;
    for (const part of this.#parts) isCalledOff = part.callOff(leave) || isCalledOff;
    if (isCalledOff) this.#isOver = true;
    return isCalledOff;
  }

  #partReply(places: readonly number[]): Reply<SubmitAnswer> {
    return {
      answer: ({ results }) => {
        for (const [index, result] of results.entries()) this.#results[places[index] ?? 0] = result;
        this.#partDone();
        return true;
      },
      refuse: (refusal) => {
        this.#refusal ??= inPlace(refusal, places);
        this.#partDone();
      },
    };
  }

  /** All of them are waited for: then it is known what was accepted when the refusal is told. */
  #partDone(): void {
    this.#left -= 1;
    if (this.#left > 0 || this.#isOver) return;
    this.#isOver = true;
    if (this.#refusal === undefined) this.reply.answer({ results: this.#results });
    else this.reply.refuse(this.#refusal);
  }
}

/** Fields are named as in the whole request. */
function inPlace(refusal: Refusal, places: readonly number[]): Refusal {
  if (refusal.kind !== 'bad_request') return refusal;
  const violations = refusal.violations.map(({ field, description }) => ({
    field: field.replace(/^items\[(\d+)\]/, (_, index: string) => `items[${places[Number(index)] ?? index}]`),
    description,
  }));
  return { kind: 'bad_request', violations };
}

/** Renew of turns with several homes: the results in the order of the request. If one home refuses, all is refused: it may be repeated. */
export class WideRenew {
  readonly #results: RenewResult[] = [];
  #left = 0;
  #refusal: Refusal | undefined;

  constructor(
    private readonly router: Router,
    private readonly source: Source,
    private readonly request: RenewRequest,
    private readonly reply: Reply<RenewAnswer>,
  ) {}

  begin(): void {
    const { turns, lease } = this.request;
    const placed = turns.map((turn, at) => ({ turn, at }));
    const parts = byPartition(placed, ({ turn }) => this.router.partitionOf(turn));
    this.#left = parts.size;
    for (const [partition, part] of parts) {
      const request = { turns: part.map(({ turn }) => turn), lease };
      const places = part.map(({ at }) => at);
      new RenewCall(this.router, this.source, partition, request, this.#partReply(places)).begin();
    }
  }

  #partReply(places: readonly number[]): Reply<RenewAnswer> {
    return {
      answer: ({ results }) => {
        for (const [index, result] of results.entries()) this.#results[places[index] ?? 0] = result;
        return this.#partDone();
      },
      refuse: (refusal) => {
        this.#refusal ??= refusal;
        this.#partDone();
      },
    };
  }

  #partDone(): boolean {
    this.#left -= 1;
    if (this.#left > 0) return true;
    if (this.#refusal === undefined) return this.reply.answer({ results: this.#results });
    this.reply.refuse(this.#refusal);
    return true;
  }
}

/** Await of an item of a queue that is spread: its id does not say where it is, so all are asked, and one knows it. */
export class WideAwait implements Pending {
  readonly #parts: AwaitCall[] = [];
  #left = 0;
  #unknown: AwaitAnswer | undefined;
  #refusal: Refusal | undefined;
  #isOver = false;

  constructor(
    private readonly router: Router,
    private readonly source: Source,
    private readonly request: AwaitRequest,
    private readonly reply: Reply<AwaitAnswer>,
  ) {}

  begin(): Waiting {
    const { router, source, request } = this;
    const partitions = router.map.all(request.queue);
    this.#left = partitions.length;
    for (const partition of partitions) {
      if (this.#isOver) break;
      const call = new AwaitCall(router, source, partition, request, {
        answer: (answer) => this.#answered(answer),
        refuse: (refusal) => this.#refused(refusal),
      });
      this.#parts.push(call);
      call.begin();
    }
    return this.#isOver ? undefined : this;
  }

  cancel(leave = false): void {
    this.#isOver = true;
    for (const part of this.#parts) part.cancel(leave);
  }

  callOff(leave = false): boolean {
    if (this.#isOver) return false;
    // It changes nothing: what a home has decided is left with it.
    this.cancel(leave);
    return true;
  }

  #answered(answer: AwaitAnswer): boolean {
    if (this.#isOver) return false;
    if (answer.state !== 'unknown') {
      this.cancel();
      return this.reply.answer(answer);
    }
    this.#unknown = answer;
    return this.#partDone();
  }

  #refused(refusal: Refusal): void {
    this.#refusal ??= refusal;
    this.#partDone();
  }

  /** That nothing is known of it can be said only when everybody was asked. */
  #partDone(): boolean {
    this.#left -= 1;
    if (this.#left > 0 || this.#isOver) return true;
    this.#isOver = true;
    if (this.#refusal !== undefined) this.reply.refuse(this.#refusal);
    else if (this.#unknown !== undefined) return this.reply.answer(this.#unknown);
    return true;
  }
}

/** What is asked when the Ack was carried out. */
type AskNext = (reply: Reply<AcquireAnswer>) => Waiting;

/** An Ack whose `next` is answered elsewhere: after it, and it cannot undo the Ack (S19). */
export class AckThenNext implements Reply<AckAnswer>, Pending {
  #ack: Waiting;
  #next: Waiting;
  #followUps: AckAnswer['followUps'] = [];
  #at: 'ack' | 'next' | 'over' = 'ack';
  /** Nobody waits for its `next` any more. */
  #isCalledOff = false;

  constructor(
    private readonly askNext: AskNext,
    private readonly reply: Reply<AckAnswer>,
  ) {}

  begin(ask: (reply: Reply<AckAnswer>) => Waiting): Waiting {
    const ack = ask(this);
    if (this.#at === 'ack') this.#ack = ack;
    return this.#isOver() ? undefined : this;
  }

  answer({ followUps }: AckAnswer): boolean {
    if (this.#at === 'over') return false;
    if (this.#isCalledOff) return this.#end() && this.reply.answer({ followUps, next: { deliveries: [] } });
    this.#at = 'next';
    this.#followUps = followUps;
    const next = this.askNext({
      answer: (answer) => this.#end() && this.reply.answer({ followUps, next: answer }),
      refuse: () => {
        if (this.#end()) this.reply.answer({ followUps, next: { deliveries: [] } });
      },
    });
    if (!this.#isOver()) this.#next = next;
    return true;
  }

  refuse(refusal: Refusal): void {
    if (this.#end()) this.reply.refuse(refusal);
  }

  cancel(leave = false): void {
    const pending = this.#at === 'next' ? this.#next : this.#ack;
    if (this.#end()) pending?.cancel(leave);
  }

  /** The Ack was carried out, or is being: only the wait for its `next` ends, and the answer follows. */
  callOff(leave = false): boolean {
    this.#isCalledOff = true;
    if (this.#at === 'ack' && this.#ack?.callOff?.(leave) === true) return this.#end();
    if (this.#at === 'next' && this.#next?.callOff?.(leave) === true && this.#end())
      this.reply.answer({ followUps: this.#followUps, next: { deliveries: [] } });
    return false;
  }

  #isOver(): boolean {
    return this.#at === 'over';
  }

  #end(): boolean {
    if (this.#at === 'over') return false;
    this.#at = 'over';
    return true;
  }
}
