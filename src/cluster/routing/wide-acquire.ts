import type { AcquireAnswer, AcquireRequest, Delivery, Pending, Refusal, Reply, Waiting } from '../../coordinator.js';
import type { OpenCall } from './open-call.js';
import type { Router } from './router.js';
import { AcquireCall } from './single-calls.js';
import type { Source } from './target.js';
import { pauseAfter, TicketRelease } from './ticket-release.js';

/** How long homes are asked what a ticket was given before, ms. */
const RECALL = 1_000;

/** Queues of the call by partition. */
type AcquireParts = ReadonlyMap<number, readonly string[]>;

/** Where a session, or everybody without one, goes on: behind the partition that had something last. */
export interface LastSuccess {
  partition: number;
}

/**
 * An Acquire over queues with several homes. Its parts never bring more turns than one of them may: the first answer that
 * brings any is the answer, and what comes later from others is given back at its home.
 */
export class WideAcquire implements Pending, OpenCall {
  readonly holdsUpDrain = true;
  /**
   * `recall`: what was the ticket given before? `sweep`: one home after the other, without waiting. `park`: all of them.
   * `decided`: called off, but a home had decided. `given_up`: nobody waits for the answer any more.
   */
  #at: 'recall' | 'sweep' | 'park' | 'decided' | 'given_up' | 'over' = 'sweep';
  readonly #parts: Part[];
  readonly #endsAt: number;
  #callOffTimer: (() => void) | undefined;
  #next = 0;
  #isSweeping = false;
  #isParking = false;
  #refusal: Refusal | undefined;
  /** One answer that reaches nobody may be kept for the ticket: as many turns as one answer brings. */
  #isKept = false;

  constructor(
    readonly router: Router,
    readonly source: Source,
    readonly request: AcquireRequest,
    parts: AcquireParts,
    private readonly reply: Reply<AcquireAnswer>,
    private readonly last: LastSuccess,
  ) {
    this.#endsAt = router.clock.now() + request.wait;
    const all = [...parts].sort(([a], [b]) => a - b).map(([partition, queues]) => new Part(this, partition, queues));
    const first = all.findIndex(({ partition }) => partition > last.partition);
    this.#parts = first > 0 ? [...all.slice(first), ...all.slice(0, first)] : all;
  }

  begin(): Waiting {
    if (this.router.ended !== undefined) {
      this.#at = 'over';
      this.reply.refuse(this.router.ended);
      return undefined;
    }
    if (this.request.ticket === undefined) this.#sweep();
    else this.#recall();
    if (this.#at === 'over') return undefined;
    this.router.track(this);
    return this;
  }

  /** @returns whether its turns reach somebody */
  answered(part: Part, { deliveries }: AcquireAnswer): boolean {
    part.state = 'empty';
    if (deliveries.length === 0) {
      this.#cameBackEmpty(part);
      return true;
    }
    if (this.#at === 'recall') {
      part.found = deliveries;
      this.#cameBackEmpty(part);
      return true;
    }
    if (this.#at === 'over') return this.#giveBack(deliveries);
    if (this.#at === 'given_up') return this.#keepOne(deliveries);
    this.last.partition = part.partition;
    return this.#win(deliveries);
  }

  refused(part: Part, refusal: Refusal): void {
    part.state = 'refused';
    part.refusal = refusal;
    this.#refusal ??= refusal;
    if (isForGood(refusal) && (this.#at === 'sweep' || this.#at === 'park' || this.#at === 'recall')) {
      return this.#refuse(refusal);
    }
    this.#cameBackEmpty(part);
  }

  cancel(): void {
    if (this.#at === 'over' || this.#at === 'given_up') return;
    this.#end('given_up');
    for (const part of this.#parts) part.stop();
  }

  callOff(): boolean {
    if (this.#at === 'over' || this.#at === 'given_up' || this.#at === 'decided') return false;
    this.#at = 'decided';
    let isDecided = false;
    for (const part of this.#parts) isDecided = part.stop() === 'decided' || isDecided;
    if (this.isOver) return false;
    if (isDecided) return false;
    this.#end('given_up');
    return true;
  }

  end(refusal: Refusal, closing: boolean): void {
    if (this.callOff() || (closing && !this.isOver)) {
      this.#end('over');
      this.reply.refuse(refusal);
    }
  }

  /** It was answered, or refused. */
  private get isOver(): boolean {
    return this.#at === 'over';
  }

  /** The parts ask only what the ticket has: no turn is taken for it (S15). */
  #recall(): void {
    this.#at = 'recall';
    const { request } = this;
    for (const part of this.#parts) {
      if (this.#at !== 'recall') return;
      part.ask({ ...request, queues: part.queues, maxTurns: 0, wait: 0 }, 0);
    }
    if (this.#at === 'recall') this.#callOffTimer = this.router.clock.after(RECALL, () => this.#recalled());
  }

  #recalled(): void {
    if (this.#at !== 'recall') return;
    this.#callOffTimer?.();
    const found = this.#parts.flatMap((part) => part.found);
    this.#at = 'sweep';
    for (const part of this.#parts) part.stop(false);
    if (found.length === 0) return this.#sweep();
    this.#end('over');
    // The homes were told that it reaches somebody.
    if (!this.reply.answer({ deliveries: found })) this.router.undeliverable(found.map(({ turn }) => turn));
  }

  /** One home after the other: most often the next one has something, and the others hear nothing of it. */
  #sweep(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.#at = 'sweep';
    while (this.#at === 'sweep') {
      const part = this.#parts[this.#next];
      if (part === undefined) this.#park();
      else if (!part.isAsked) {
        part.ask({ ...this.request, queues: part.queues, wait: 0 }, 0);
      }
      if (part?.state === 'asked') break;
      this.#next += 1;
    }
    this.#isSweeping = false;
  }

  #park(): void {
    const left = this.#left();
    if (left <= 0) return this.#nothing();
    this.#at = 'park';
    this.#isParking = true;
    for (const part of this.#parts) if (this.#at === 'park') this.#parkAt(part);
    this.#isParking = false;
    this.#parked();
  }

  /** Homes that are in trouble are asked again while others serve; when none is left the call is over. */
  #parked(): void {
    if (this.#at !== 'park' || this.#isParking) return;
    if (this.#parts.some(({ isAsked, isPausing }) => isAsked || isPausing)) {
      for (const part of this.#parts) if (part.state === 'refused' && !part.isPausing) this.#askLater(part);
    } else this.#nothing();
  }

  #parkAt(part: Part): void {
    const left = this.#left();
    part.ask({ ...this.request, queues: part.queues, wait: left }, left);
  }

  /** A part will not bring anything now. */
  #cameBackEmpty(part: Part): void {
    switch (this.#at) {
      case 'recall':
        if (this.#parts.every(({ state }) => state === 'empty' || state === 'refused')) this.#recalled();
        return;
      case 'sweep':
        // In the middle of its own loop the sweep goes on by itself.
        if (!this.#isSweeping && part === this.#parts[this.#next]) {
          this.#next += 1;
          this.#sweep();
        }
        return;
      case 'park':
        this.#parked();
        return;
      case 'decided':
        if (!this.#parts.some(({ isAsked }) => isAsked)) this.#nothing();
        return;
      case 'given_up':
      case 'over':
    }
  }

  #askLater(part: Part): void {
    const pause = pauseAfter(part.refusal);
    if (pause >= this.#left()) return;
    part.pause = this.router.clock.after(pause, () => {
      part.pause = undefined;
      if (this.#at === 'park') this.#parkAt(part);
    });
  }

  #left(): number {
    return this.#endsAt - this.router.clock.now();
  }

  #nothing(): void {
    const isRefused = this.#parts.every(({ state }) => state === 'refused');
    if (isRefused && this.#refusal !== undefined) return this.#refuse(this.#refusal);
    this.#end('over');
    this.reply.answer({ deliveries: [] });
  }

  #refuse(refusal: Refusal): void {
    this.#end('over');
    for (const part of this.#parts) part.stop();
    this.reply.refuse(refusal);
  }

  #win(deliveries: readonly Delivery[]): boolean {
    this.#end('over');
    // Before the answer: who asks again at once must not stand behind calls that are over.
    // Nothing is kept for the ticket there: a turn that is on its way is nobody's, and would stand still for `ticket_ttl`.
    for (const part of this.#parts) part.stop();
    const isHeard = this.reply.answer({ deliveries });
    // Behind the answer: an answer that reaches nobody keeps the ticket.
    if (isHeard) for (const part of this.#parts) part.release();
    return isHeard;
  }

  #end(at: 'over' | 'given_up'): void {
    this.#at = at;
    this.#callOffTimer?.();
    this.#callOffTimer = undefined;
    this.router.untrack(this);
  }

  /** The call was answered from elsewhere: they wait again, ticket or not, and no attempt is counted. */
  #giveBack(deliveries: readonly Delivery[]): true {
    this.router.undeliverable(
      deliveries.map(({ turn }) => turn),
      true,
    );
    return true;
  }

  /** Nobody hears of it. With a ticket one answer is kept for who comes with it. */
  #keepOne(deliveries: readonly Delivery[]): boolean {
    if (this.#isKept) return this.#giveBack(deliveries);
    this.#isKept = true;
    return false;
  }
}

/** What is asked of one home. */
class Part implements Reply<AcquireAnswer> {
  state: 'idle' | 'asked' | 'empty' | 'refused' = 'idle';
  refusal: Refusal | undefined;
  /** What the ticket was given there before. */
  found: readonly Delivery[] = [];
  /** Calls off the time until it is asked again. */
  pause: (() => void) | undefined;
  #call: AcquireCall | undefined;
  /** Its home refused it, and may have given turns to the ticket all the same. */
  #isUnknown = false;
  /** Set anew with each question: the answer to an older one is no answer to this one. */
  #question = 0;

  constructor(
    private readonly whole: WideAcquire,
    readonly partition: number,
    readonly queues: readonly string[],
  ) {}

  get isAsked(): boolean {
    return this.state === 'asked';
  }

  get isPausing(): boolean {
    return this.pause !== undefined;
  }

  ask(request: AcquireRequest, patience: number): void {
    this.#question += 1;
    this.state = 'asked';
    const { router, source } = this.whole;
    const question = this.#question;
    const isNow = () => question === this.#question && this.state === 'asked';
    this.#call = new AcquireCall(
      router,
      source,
      this.partition,
      request,
      {
        // What the ticket was given before it has still, though it was not waited for.
        answer: (answer) => (isNow() ? this.answer(answer) : answer.deliveries.length === 0),
        refuse: (refusal) => {
          if (isNow()) this.refuse(refusal);
        },
      },
      patience,
    );
    this.#call.begin();
  }

  answer(answer: AcquireAnswer): boolean {
    this.#isUnknown = false;
    return this.whole.answered(this, answer);
  }

  refuse(refusal: Refusal): void {
    if (refusal.kind === 'store_unavailable') this.#isUnknown = true;
    this.whole.refused(this, refusal);
  }

  /** The call was answered from elsewhere: turns that its ticket may have here would stand still for `ticket_ttl`. */
  release(): void {
    const { router, source, request } = this.whole;
    if (!this.#isUnknown || request.ticket === undefined) return;
    this.#isUnknown = false;
    new TicketRelease(router, source, this.partition, { ...request, queues: this.queues, maxTurns: 0, wait: 0 }).ask();
  }

  /**
   * @param leave what a home elsewhere answers after all is not kept for the ticket: others may have answered too. Not of what
   * the ticket had before
   * @returns `decided`: its answer follows
   */
  stop(leave = true): 'stopped' | 'decided' {
    this.pause?.();
    this.pause = undefined;
    if (this.state !== 'asked') return 'stopped';
    if (this.#call?.callOff(leave) === false) return this.isAsked ? 'decided' : 'stopped';
    this.state = 'empty';
    return 'stopped';
  }
}

/** Asking again, or elsewhere, would be answered in the same way. */
function isForGood({ kind }: Refusal): boolean {
  return kind === 'no_such_queue' || kind === 'bad_request' || kind === 'other_group';
}
