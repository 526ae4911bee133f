/** What each principal holds, recounted thing by thing: it believes no account. */
import assert from 'node:assert/strict';
import type { Account } from '../../src/core/state/accounts.js';
import { bytesOfTexts, COSTS, TURN_COST } from '../../src/core/state/held.js';
import type { Item, Lane, Queue } from '../../src/core/state/records.js';
import type { CoreState } from '../../src/core/state/state.js';

interface Sum {
  turns: number;
  bytes: number;
}

/** @param weightOf of an item, as it is charged */
export function recountAccounts(state: CoreState, weightOf: (item: Item) => number): void {
  const found = new Map<string, Sum>();
  const known = new Map([...state.accounts.all()].map((account) => [account.principal, account]));
  const add = (account: Account | undefined, bytes: number, turns = 0) => {
    if (account === undefined) return;
    assert.equal(known.get(account.principal), account, `${account.principal} has one account`);
    const sum = found.get(account.principal) ?? { turns: 0, bytes: 0 };
    sum.turns += turns;
    sum.bytes += bytes;
    found.set(account.principal, sum);
  };
  const itemCost = (item: Item) => weightOf(item) + item.lane.key.length;
  for (const queue of state.queues.values()) {
    for (const item of queue.items.scan()) add(item.account, itemCost(item));
    for (const { item, key, destination } of queue.deadLetters.values()) {
      const to = destination === undefined ? 0 : destination.queue.length + destination.itemId.length;
      add(item.account, itemCost(item) + COSTS.letter + key.length + to);
    }
    for (const { phase, key } of lanesOf(queue)) {
      if (phase.at !== 'HELD') continue;
      const { account, consumerId, assignment } = phase;
      const idempotencyKey = assignment.kind === 'caller' ? (assignment.idempotencyKey?.length ?? 0) : 0;
      add(account, TURN_COST + key.length + consumerId.length + idempotencyKey, 1);
      if (assignment.kind === 'items' && assignment.done)
        for (const item of assignment.items) add(item.account, itemCost(item));
    }
    for (const { account, consumerId, idempotencyKey, lane } of queue.callers)
      add(account, COSTS.caller + lane.key.length + consumerId.length + (idempotencyKey?.length ?? 0));
    for (const { account, request, queues } of queue.waiters) {
      if (queues[0] !== queue) continue;
      const names = request.queues.reduce((sum, { length }) => sum + COSTS.acquireQueue + length, 0);
      add(account, COSTS.acquire + names + request.consumerId.length + (request.ticket?.length ?? 0));
    }
    for (const { account, bytes, request } of queue.roomWaiters)
      add(account, COSTS.room + bytes + request.items.reduce((sum, { key }) => sum + key.length, 0));
  }
  for (const { account, followUps } of state.outgoing.all())
    for (const { item } of followUps) {
      const { payload, headers, itemId, idempotencyKey, after, key } = item;
      let bytes = 256 + payload.length + (itemId?.length ?? 0) + (idempotencyKey?.length ?? 0) + key.length + TURN_COST;
      if (headers !== undefined) bytes += bytesOfTexts(headers);
      for (const ref of after ?? []) bytes += 256 + ref.queue.length + ref.itemId.length;
      add(account, bytes);
    }
  const kept = [...known.values()].map(({ principal, turns, bytes }) => [principal, { turns, bytes }] as const);
  assert.deepEqual(new Map(kept), found, 'what each principal holds');
}

function lanesOf(queue: Queue): ReadonlySet<Lane> {
  return new Set<Lane>([...queue.lanes.values(), ...queue.keyless.values()]);
}
