/** Messages as the decoders give them: as generated, but for what costs too much to make. */
import type { Payload } from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/coordinator.js';

/** As the generated message, but a token may be a plain number. */
export type AckMessage = Omit<wire.AckRequest, 'token' | 'followUps'> & {
  readonly token: bigint | number;
  readonly followUps: readonly wire.FollowUp[];
};

export type DeQueueMessage = Omit<wire.DeQueueRequest, 'holder'> & {
  readonly holder: wire.DeQueueRequest['holder'] | { readonly $case: 'token'; readonly value: number };
};

/** `isKept`: the payload is a copy of its own, not a window on the message. */
export type ItemMessage = Omit<wire.NewItem, 'payload' | 'headers' | 'after'> & {
  readonly payload: Payload;
  readonly headers: ReadonlyMap<string, string>;
  readonly after: readonly wire.ItemRef[];
  readonly isKept?: boolean;
};

export type SubmitMessage = Omit<wire.SubmitRequest, 'items'> & { readonly items: readonly ItemMessage[] };
