import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  DeQueueAnswer,
  EnQueueAnswer,
  HelloAnswer,
  NackAnswer,
  Notice,
  Refusal,
  RenewAnswer,
  Reply,
  SessionListener,
  SubmitAnswer,
  SubmitResult,
} from '../contract/model.js';
import type { CoordinatorEvent } from '../contract/views.js';
import type { Stream } from './session.js';

/** On which stream it was asked: the turn that is given is that stream's. Unset: on none. */
interface OnStream {
  readonly stream: Stream | undefined;
}

/** Who asked for deliveries, and in which form the answer comes. */
export type DeliveryAsker = OnStream &
  (
    | { readonly kind: 'acquire'; readonly reply: Reply<AcquireAnswer> }
    | {
        readonly kind: 'ack';
        readonly reply: Reply<AckAnswer>;
        readonly followUps: readonly SubmitResult[];
        /** What the Ack itself changed may not be on disk yet when its `next` comes, from whatever queue. */
        readonly late: boolean;
      }
  );

/** Who waits in a line. */
export type Asker = (OnStream & { readonly kind: 'enqueue'; readonly reply: Reply<EnQueueAnswer> }) | DeliveryAsker;

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
  | { readonly kind: 'hello'; readonly to: Reply<HelloAnswer>; readonly answer: HelloAnswer }
  | { readonly kind: 'refuse'; readonly to: Reply<never>; readonly refusal: Refusal }
  | { readonly kind: 'notice'; readonly to: SessionListener; readonly notice: Notice }
  | { readonly kind: 'replaced'; readonly to: SessionListener }
  | { readonly kind: 'event'; readonly event: CoordinatorEvent };
