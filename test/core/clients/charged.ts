/** A stage on which principals ask. After every step everything that is kept twice is recounted. */
import assert from 'node:assert/strict';
import type { NewItem, SubmitAnswer } from '../../../src/coordinator.js';
import { newItem, QUEUE, type SettingsChange } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { recount } from '../../support/recount.js';
import { Stage } from '../stage.js';

export const TURNS = 'auth.per_client.turns';
export const BYTES = 'auth.per_client.memory_bytes';

/** What the core holds for a principal. */
export function heldIn({ core }: Stage, principal: string): readonly [turns: number, bytes: number] {
  for (const account of core.inside.accounts.all())
    if (account.principal === principal) return [account.turns, account.bytes];
  return [0, 0];
}

export function submitAs(
  stage: Stage,
  principal: string | undefined,
  items: readonly Partial<NewItem>[],
  { queue = QUEUE, waitForRoom = 0 } = {},
): Call<SubmitAnswer> {
  const call = new Call<SubmitAnswer>();
  const request = { queue, items: items.map((item) => newItem(item)), waitForRoom, durability: undefined, principal };
  const waits = stage.core.submit(request, call, stage.now);
  if (waits !== undefined) call.waits({ cancel: (leave = false) => stage.core.cancel(waits, call, leave, stage.now) });
  stage.carry();
  return call;
}

export class Charged extends Stage {
  constructor(change: SettingsChange = {}) {
    super(change);
  }

  override carry(): void {
    super.carry();
    recount(this.core.inside, this.now);
  }

  held(principal: string): readonly [turns: number, bytes: number] {
    return heldIn(this, principal);
  }

  /** How many principals hold something. */
  get principals(): number {
    return [...this.core.inside.accounts.all()].length;
  }
}

/** The refusal of a bound, as clients see it. */
export function bound(
  call: Call<unknown>,
): readonly [kind: string, subject: string, limit: number, retryAfter: number] {
  const { refusal } = call;
  if (refusal.kind !== 'limit' && refusal.kind !== 'memory_full') return assert.fail(JSON.stringify(refusal));
  assert.match(
    refusal.description,
    new RegExp(`${refusal.subject}.*${refusal.limit}|${refusal.limit}.*${refusal.subject}`),
  );
  return [refusal.kind, refusal.subject, refusal.limit, refusal.retryAfter];
}
