import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  DeQueueAnswer,
  EnQueueAnswer,
  NackAnswer,
  Refusal,
  RenewAnswer,
  Reply,
  SubmitAnswer,
  SubmitResult,
} from './model.js';
import type { CoordinatorEvent } from './views.js';

/** Who asked for deliveries, and in which form the answer comes. */
export type DeliveryAsker =
  | { readonly kind: 'acquire'; readonly reply: Reply<AcquireAnswer> }
  | { readonly kind: 'ack'; readonly reply: Reply<AckAnswer>; readonly followUps: readonly SubmitResult[] };

/** Who waits in a line. */
export type Asker = { readonly kind: 'enqueue'; readonly reply: Reply<EnQueueAnswer> } | DeliveryAsker;

/**
 * What a step of the core wants done. The loop carries effects out in order. The core never calls a Reply.
 */
export type Effect =
  | { readonly kind: 'enqueue'; readonly to: Reply<EnQueueAnswer>; readonly answer: EnQueueAnswer }
  | { readonly kind: 'dequeue'; readonly to: Reply<DeQueueAnswer>; readonly answer: DeQueueAnswer }
  | { readonly kind: 'submit'; readonly to: Reply<SubmitAnswer>; readonly answer: SubmitAnswer }
  | { readonly kind: 'acquire'; readonly to: Reply<AcquireAnswer>; readonly answer: AcquireAnswer }
  | { readonly kind: 'ack'; readonly to: Reply<AckAnswer>; readonly answer: AckAnswer }
  | { readonly kind: 'nack'; readonly to: Reply<NackAnswer>; readonly answer: NackAnswer }
  | { readonly kind: 'renew'; readonly to: Reply<RenewAnswer>; readonly answer: RenewAnswer }
  | { readonly kind: 'await'; readonly to: Reply<AwaitAnswer>; readonly answer: AwaitAnswer }
  | { readonly kind: 'refuse'; readonly to: Reply<never>; readonly refusal: Refusal }
  | { readonly kind: 'event'; readonly event: CoordinatorEvent };
