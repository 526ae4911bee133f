import type { CandidateView, GroupView, ReportAnswer, YieldView } from '../contract/leader.js';
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  DeQueueAnswer,
  EnQueueAnswer,
  HelloAnswer,
  NackAnswer,
  Refusal,
  RenewAnswer,
  Reply,
  SubmitAnswer,
} from '../contract/model.js';
import type { Notice, SessionListener } from '../contract/notices.js';
import type { DeliverAnswer } from '../contract/parcels.js';
import type { CoordinatorEvent, SlowTurn } from '../contract/views.js';

/**
 * What a step of the core wants done. The loop carries effects out in order. The core never calls a Reply.
 *
 * `refuse` answers a call of any kind; `notice` and `replaced` go to the stream of a worker, `event` to those who
 * watch. An effect that gives turns (`enqueue`, `acquire`, `ack`) may turn out undeliverable: the loop then gives the
 * turns back to the core (S13).
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
  | { readonly kind: 'candidate'; readonly to: Reply<CandidateView>; readonly answer: CandidateView }
  | { readonly kind: 'reported'; readonly to: Reply<ReportAnswer>; readonly answer: ReportAnswer }
  | { readonly kind: 'leader'; readonly to: Reply<GroupView>; readonly answer: GroupView }
  | { readonly kind: 'yielded'; readonly to: Reply<YieldView>; readonly answer: YieldView }
  | { readonly kind: 'withdrawn'; readonly to: Reply<void> }
  | { readonly kind: 'deliver'; readonly to: Reply<DeliverAnswer>; readonly answer: DeliverAnswer }
  /** Parcels for this partition are on disk, and can be sent. */
  | { readonly kind: 'parcels'; readonly target: number }
  /** Items began to wait for items of other groups: their homes are to be asked. */
  | { readonly kind: 'awaits_far' }
  | { readonly kind: 'refuse'; readonly to: Reply<never>; readonly refusal: Refusal }
  | { readonly kind: 'notice'; readonly to: SessionListener; readonly notice: Notice }
  | { readonly kind: 'replaced'; readonly to: SessionListener }
  | { readonly kind: 'event'; readonly event: CoordinatorEvent }
  | { readonly kind: 'slow'; readonly turn: SlowTurn }
  /** An idempotency key was brought to a queue that remembers none. */
  | { readonly kind: 'unused_key'; readonly queue: string };
