/** What a case of the kept things plays on: one queue of its own, and a client of a sidecar that will be killed. */
import assert from 'node:assert/strict';
import {
  type AckCall,
  type AcquireCall,
  type DeliveredItem,
  type Delivery,
  type EnQueueCall,
  type ItemCall,
  type ItemState,
  type Keyturn,
  type NackCall,
  type Turn,
  TurnLostError,
  type TurnRef,
} from '@keyturn/client';
import { textOf } from '../payload.js';

/** What was done before the crash; it returns what must be so after it. */
export type Play = (before: Stage) => Promise<(after: Stage) => Promise<void>>;

export interface Case {
  readonly name: string;
  /** Of its queue, as YAML. Durable is said for all. */
  readonly policy?: string;
  readonly play: Play;
}

export const HOUR = 3_600_000;

export class Stage {
  /**
   * @param keyturn unary calls, so that nothing but what is asked for is sent again
   * @param queue of this case alone
   * @param connect another client of the same sidecar: over a session, with this id, that lives so long without its stream, ms
   */
  constructor(
    readonly keyturn: Keyturn,
    readonly queue: string,
    readonly connect: (sessionId: string, ttl?: number) => Keyturn,
  ) {}

  /** @returns their ids, all of them accepted */
  async put(...items: readonly ItemCall[]): Promise<readonly string[]> {
    const { results } = await this.keyturn.submit({ queue: this.queue, items });
    return results.map((result) => {
      assert.equal(result.decision, 'accept');
      return result.itemId;
    });
  }

  async acquire(call: Partial<AcquireCall> = {}): Promise<readonly Delivery[]> {
    return (await this.keyturn.acquire({ queues: [this.queue], lease: HOUR, ...call })).deliveries;
  }

  /** The next turn of whatever key. */
  async take(call?: Partial<AcquireCall>): Promise<Delivery & { readonly item: DeliveredItem }> {
    const [delivery] = await this.acquire({ wait: 10_000, ...call });
    const item = delivery?.items[0];
    assert.ok(delivery !== undefined && item !== undefined, 'there is a turn to be taken');
    return { ...delivery, item };
  }

  /** There is nothing that could start now. */
  async idle(): Promise<void> {
    assert.deepEqual(await this.acquire(), []);
  }

  async hold(call: Partial<EnQueueCall> = {}): Promise<Turn> {
    const answer = await this.enQueue(call);
    assert.ok(answer.decision === 'accept', `${JSON.stringify(answer)} is a turn`);
    return answer.turn;
  }

  enQueue(call: Partial<EnQueueCall> = {}) {
    return this.keyturn.enQueue({ queue: this.queue, key: 'k', wait: 0, lease: HOUR, ...call });
  }

  ack({ queue, key, token }: TurnRef, more: Partial<AckCall> = {}) {
    return this.keyturn.ack({ queue, key, token, ...more });
  }

  nack({ queue, key, token }: TurnRef, more: Partial<NackCall> = {}) {
    return this.keyturn.nack({ queue, key, token, kind: 'retry', ...more });
  }

  async stateOf(itemId: string): Promise<ItemState> {
    return (await this.keyturn.awaitItem({ queue: this.queue, itemId })).state;
  }

  async resultOf(itemId: string): Promise<string | undefined> {
    const { state, result } = await this.keyturn.awaitItem({ queue: this.queue, itemId });
    assert.equal(state, 'done');
    return textOf(result);
  }
}

/** The call is refused because the turn is not live, for this cause. */
export async function lost(call: Promise<unknown>, cause: string): Promise<void> {
  await assert.rejects(call, (error: unknown) => {
    assert.ok(error instanceof TurnLostError);
    assert.deepEqual([error.reason, error.loss], ['TURN_LOST', cause]);
    return true;
  });
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
