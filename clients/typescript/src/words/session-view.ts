/** Who is connected, and what they hold. */
import type { Unavailable } from './admin-words.js';

export interface ListSessionsCall {
  readonly idContains?: string | undefined;
  /** 1 to 1,000. Default: 100. */
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

export interface SessionInfo {
  readonly sessionId: string;
  /** Whose it is. Unset: nobody is asked who they are. */
  readonly principal: string | undefined;
  /** Unset: its stream is open. */
  readonly brokenSince: number | undefined;
  /** When it ends unless its client comes back. Unset: its stream is open. */
  readonly endsAt: number | undefined;
  /** Turns that live as long as it does. */
  readonly turns: number;
  /** The first 20 of them. */
  readonly held: readonly {
    readonly queue: string;
    readonly key: string;
    readonly token: number;
    readonly since: number;
    readonly consumerId: string;
  }[];
}

export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  /** Empty: that was the last. */
  readonly nextPageToken: string;
  readonly unavailable: readonly Unavailable[];
}
