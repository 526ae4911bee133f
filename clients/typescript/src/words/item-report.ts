/** What is told of one item to those who ask for it by its id. */
import type { DeathCause, Unavailable } from './admin-words.js';
import type { DeliveredItem, ItemRef, ItemState } from './worker-words.js';

export interface GetItemCall {
  readonly queue: string;
  readonly itemId: string;
  /** Also what it carries, and its result. It needs the right to see payloads. Default: false. */
  readonly withPayload?: boolean | undefined;
}

/** What became of one item. */
export interface ItemReport {
  /** `unknown`: nothing is known of this id. */
  readonly state: ItemState;
  /** Empty: it has none, or it ended and its key is not remembered. */
  readonly key: string;
  /** Without payload and headers unless they were asked for. Unset: it ended, and only that is remembered. */
  readonly item: DeliveredItem | undefined;
  /** How often it was tried, the try that is going on not counted. */
  readonly attempts: number;
  readonly lastError: string | undefined;
  /** Waiting: not before then. Unset: at once. */
  readonly notBefore: number | undefined;
  /** Waiting: what must be done before it and is not yet. Unset: nothing. */
  readonly after: { readonly first: readonly ItemRef[]; readonly count: number } | undefined;
  /** In flight: who has it. */
  readonly holder: { readonly consumerId: string; readonly token: number } | undefined;
  readonly died: { readonly at: number; readonly cause: DeathCause } | undefined;
  /** Done: its result, when it was asked for. */
  readonly result: Uint8Array | undefined;
  /** Waiting: why, in one sentence. Else empty. */
  readonly why: string;
  /** The trace of who submitted it, 32 hexadecimal digits. Unset: none is known. */
  readonly traceId: string | undefined;
  /** Of its payload, asked for or not. */
  readonly payloadBytes: number;
  readonly unavailable: readonly Unavailable[];
}
