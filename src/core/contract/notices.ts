/** What is told to a session without being asked. */
import type { LossCause, Refusal, Turn, TurnRef } from './model.js';

export type NoticeKind = 'turn_lost' | 'turn_ending' | 'turn_kept';

/** What happened, unasked, to a turn that was given on a session. */
export type Notice =
  | { readonly kind: 'turn_lost'; readonly turn: Turn; readonly cause: LossCause }
  /** A third of its life is left and nothing renews it, or `max_hold` nears. */
  | { readonly kind: 'turn_ending'; readonly turn: Turn }
  /** In a cluster: the session has it still, which the answer to the hello could not say. Who does not know it releases it. */
  | { readonly kind: 'turn_kept'; readonly turn: TurnRef };

/** The stream's side of a session. */
export interface SessionListener {
  notice(notice: Notice): void;
  /** A newer stream has its id: nothing follows. Calls that still wait are the stream's to cancel. */
  replaced(): void;
  /**
   * Where turns of this stream live it is not known any more, and their end would not be told: nothing follows, as if it broke.
   * Whoever has them shall say hello anew. A coordinator that has its turns itself never says so.
   */
  broken?(why: Refusal): void;
}
