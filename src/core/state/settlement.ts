import type { DeQueueAnswer, LossCause, NackAnswer, NackKind, SubmitResult } from '../contract/model.js';

/** How a turn ended: what a repeated call is answered, or the cause that a late one is refused with. */
export type Ending = SettledBy | Lost;

export type SettledBy = { readonly ended: 'settled' } & (
  | { readonly call: 'dequeue'; readonly abandoned: boolean; readonly answer: DeQueueAnswer }
  /** Unset follow-ups: their results are no longer kept, a later Ack of the key had some. */
  | { readonly call: 'ack'; followUps: readonly SubmitResult[] | undefined }
  | { readonly call: 'nack'; readonly kind: NackKind; readonly answer: NackAnswer }
);

interface Lost {
  readonly ended: Exclude<LossCause, 'settled' | 'unknown'>;
}

export const NOBODY_WAITS: DeQueueAnswer = Object.freeze({ promoted: false, waiting: 0 });

/** The caller gave its turn back, and nobody waits for the key. */
export const ABANDONED: SettledBy = Object.freeze({
  ended: 'settled',
  call: 'dequeue',
  abandoned: true,
  answer: NOBODY_WAITS,
});

/** The endings that a holder did not bring about itself. */
export const LOST = Object.freeze({
  lease_expired: { ended: 'lease_expired' },
  evicted: { ended: 'evicted' },
  taken_over: { ended: 'taken_over' },
} satisfies Readonly<Record<Lost['ended'], Lost>>);

/**
 * The end of a turn, remembered. The records of a lane form a ring from the oldest to the newest; when it is full the
 * oldest is written over, so that a busy key allocates none. The lane knows the oldest one: a turn that ends touches
 * that record alone, and not the newest too, which is as far away in memory.
 */
export class Settlement {
  /** The next newer one; behind the newest comes the oldest. */
  newer: Settlement = this;
  /** The ring has as many as it may have. */
  isFull = false;
  constructor(
    public token: number,
    public ticket: string | undefined,
    public ending: Ending,
  ) {}
}
