/** Who is connected, and what they hold: for those who look. */
import type { MaybePartial } from './views.js';

export interface ListSessionsRequest {
  readonly idContains: string;
  /** Only ids that begin so: those of one principal. Empty: all. */
  readonly prefix: string;
  /** Only ids after this one. */
  readonly after: string;
  readonly most: number;
}

export interface SessionTurnView {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  readonly since: number;
  readonly consumerId: string;
}

export interface SessionReport {
  readonly id: string;
  /** Unset: its stream is open. */
  readonly brokenSince: number | undefined;
  readonly endsAt: number | undefined;
  readonly turns: number;
  /** The first 20 of them. */
  readonly held: readonly SessionTurnView[];
}

export interface SessionPage extends MaybePartial {
  readonly sessions: readonly SessionReport[];
  readonly more: boolean;
}
