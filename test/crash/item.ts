/** An item as clients see it. */
import type { ItemCall, ItemState } from '@keyturn/client';

/** What is about to be submitted. `tag` is in the payload: by it even an item is known whose id nobody was told. */
export interface Offer {
  readonly tag: string;
  readonly queue: string;
  readonly key: string;
  /** Unset: the sidecar makes one. */
  readonly id?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** As it is sent; set if it can be sent again. */
  readonly call?: ItemCall | undefined;
}

/** What its holder asked for: the item is done, with this. */
export interface Ack {
  readonly result: string | undefined;
  readonly followUps: readonly string[];
}

export class Item {
  readonly tag: string;
  readonly queue: string;
  readonly key: string;
  readonly idempotencyKey: string | undefined;
  readonly call: ItemCall | undefined;
  id: string | undefined;
  /** As an event. Unset: nobody was told that it was accepted. */
  acceptedAt: number | undefined;
  isDeclined = false;
  /** The earliest turn with it, and its place there. */
  first: { readonly token: number; readonly place: number } | undefined;
  /** The latest turn with it. */
  last: { readonly token: number; readonly attempt: number } | undefined;
  /** The largest token with which it was given back for another try, and that was noted. */
  retried = 0;
  /** By token: all that anybody asked for. */
  readonly acks = new Map<number, Ack>();
  /** The token of the Ack that was answered with OK. */
  acked: number | undefined;
  /** It was among those of a turn that were said to be finished when the others were given back. */
  mayBeDoneByNack = false;
  /** Its order counts no more. */
  wasRedriven = false;
  /** What Await said of it before the end: that it is done, with this. */
  told: { readonly result: string | undefined } | undefined;
  /** What Await says of it when everything is over. */
  found: { readonly state: ItemState; readonly result: string | undefined } | undefined;

  /**
   * @param offeredAt as an event
   * @param batch which call it came with
   * @param place and where in it
   */
  constructor(
    offer: Offer,
    readonly offeredAt: number,
    readonly batch: number,
    readonly place: number,
  ) {
    this.tag = offer.tag;
    this.queue = offer.queue;
    this.key = offer.key;
    this.idempotencyKey = offer.idempotencyKey;
    this.call = offer.call;
    this.id = offer.id;
  }

  /** It is certain that the sidecar had it, and that the client that asked was told so or could see it. */
  get wasTakenOver(): boolean {
    return this.acceptedAt !== undefined || this.first !== undefined;
  }
}
