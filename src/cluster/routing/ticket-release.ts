import type { AcquireAnswer, AcquireRequest, Refusal, Reply } from '../../coordinator.js';
import { type Router, UNDELIVERED_FOR } from './router.js';
import { AcquireCall } from './single-calls.js';
import type { Source } from './target.js';

/** A home that refused is not asked again sooner, ms. */
const LEAST_PAUSE = 50;

/** Asks a home that may have given turns to a ticket which ones, and gives them back. */
export class TicketRelease implements Reply<AcquireAnswer> {
  readonly #endsAt: number;

  /** @param request takes no turn */
  constructor(
    private readonly router: Router,
    private readonly source: Source,
    private readonly partition: number,
    private readonly request: AcquireRequest,
  ) {
    this.#endsAt = router.clock.now() + UNDELIVERED_FOR;
  }

  ask(): void {
    const { router, source, partition, request } = this;
    const left = this.#endsAt - router.clock.now();
    if (left > 0) new AcquireCall(router, source, partition, request, this, left).begin();
  }

  answer({ deliveries }: AcquireAnswer): true {
    this.router.undeliverable(
      deliveries.map(({ turn }) => turn),
      true,
    );
    return true;
  }

  refuse(refusal: Refusal): void {
    if (refusal.kind !== 'store_unavailable' || this.router.ended !== undefined) return;
    this.router.clock.after(pauseAfter(refusal), () => this.ask());
  }
}

/** Until a home that refused is asked again, ms. */
export function pauseAfter(refusal: Refusal | undefined): number {
  return Math.max(LEAST_PAUSE, refusal !== undefined && 'retryAfter' in refusal ? refusal.retryAfter : 0);
}
