import { setTimeout as sleep } from 'node:timers/promises';
import type { Calls, Clock, EnQueueAnswer, Turn } from '@keyturn/client';
import { isAway } from '../sidecar.js';

/** How long one call waits, ms; the ticket keeps the place between two calls. */
const LONGEST_CALL = 60_000;
/** How long a sidecar that has answered before may be away while we wait (a restart), ms. */
const LONGEST_ABSENCE = 60_000;
const LEAST_PAUSE = 50;

interface ClaimPlan {
  readonly queue: string;
  readonly key: string;
  readonly consumerId: string;
  readonly ticket: string;
  /** ms; unset: the queue's. */
  readonly lease: number | undefined;
  /** ms; unset: for ever. */
  readonly wait: number | undefined;
}

type Claimant = Pick<Calls, 'enQueue' | 'deQueue'> & { readonly clock: Clock };

type Declined = Extract<EnQueueAnswer, { decision: 'decline' }>;

export type Claimed =
  /** `askedAt`: the client's clock when the call was sent that brought it. */
  | { readonly kind: 'turn'; readonly turn: Turn; readonly askedAt: number }
  | { readonly kind: 'declined'; readonly answer: Declined }
  /** The wait ended first. `ahead`: how many still stand before us. */
  | { readonly kind: 'too_late'; readonly ahead: number }
  | { readonly kind: 'stopped' };

/** Waits in the line of a key, in one place however many calls it takes, until there is a decision or the wait ends. */
export class Claim {
  readonly #client: Claimant;
  readonly #plan: ClaimPlan;
  readonly #until: number;
  #lastAnswer: number | undefined;

  constructor(client: Claimant, plan: ClaimPlan) {
    this.#client = client;
    this.#plan = plan;
    this.#until = client.clock.now() + (plan.wait ?? Infinity);
  }

  /** When it ends without a decision, the place (or a turn that came at the last moment) is given up. */
  async wait(stop: AbortSignal): Promise<Claimed> {
    const claimed = await this.#decide(stop);
    if (claimed.kind === 'too_late' || claimed.kind === 'stopped') await this.#giveUp();
    return claimed;
  }

  async #decide(stop: AbortSignal): Promise<Claimed> {
    for (;;) {
      const asked = this.#client.clock.now();
      const answer = await this.#ask(stop);
      // Also when the answer is ACCEPT: no command is started just to be stopped.
      if (stop.aborted) return { kind: 'stopped' };
      if (answer?.decision === 'accept') return { kind: 'turn', turn: answer.turn, askedAt: asked };
      if (answer?.decision === 'decline') return { kind: 'declined', answer };
      if (this.#client.clock.now() >= this.#until) return { kind: 'too_late', ahead: answer?.ahead ?? 0 };
      await this.#pause(asked, stop);
    }
  }

  /** Unset: no answer, for now. */
  async #ask(stop: AbortSignal): Promise<EnQueueAnswer | undefined> {
    const { queue, key, consumerId, ticket, lease } = this.#plan;
    const wait = Math.ceil(Math.max(0, Math.min(this.#until - this.#client.clock.now(), LONGEST_CALL)));
    try {
      const call = { queue, key, consumerId, ticket, lease, wait };
      const answer = await this.#client.enQueue(call, { signal: stop });
      this.#lastAnswer = this.#client.clock.now();
      return answer;
    } catch (error) {
      if (stop.aborted || this.#bears(error)) return undefined;
      throw error;
    }
  }

  /** A sidecar that never answered is not there. One that did may come back. */
  #bears(error: unknown): boolean {
    const absent = this.#client.clock.now() - (this.#lastAnswer ?? -Infinity);
    return isAway(error) && absent < LONGEST_CALL + LONGEST_ABSENCE;
  }

  /** A sidecar that answers at once (behind a gate), or not at all, is not asked in a busy loop. */
  async #pause(asked: number, stop: AbortSignal): Promise<void> {
    const pause = Math.min(LEAST_PAUSE + asked - this.#client.clock.now(), this.#until - this.#client.clock.now());
    if (pause > 0) await sleep(pause, undefined, { signal: stop }).catch(() => undefined);
  }

  async #giveUp(): Promise<void> {
    const { queue, key, ticket } = this.#plan;
    // If this fails too, the place ends with its `ticket_ttl`; why we leave matters more.
    await this.#client.deQueue({ queue, key, ticket, abandoned: true }, { timeout: 2_000 }).catch(() => undefined);
  }
}
