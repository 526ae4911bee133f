/** What people do and see, in one form for the coordinator and for the reference. */
import assert from 'node:assert/strict';
import type {
  AwaitAnswer,
  Calls,
  Coordinator,
  ItemState,
  KeyExplanation,
  Policy,
  QueueView,
  Result,
} from '../../src/coordinator.js';
import { ALL_QUEUES } from '../support/builders.js';
import { Call } from '../support/call.js';
import type { Ledger } from '../support/ledger.js';
import { IDS, KEYS } from './commands.js';
import type { Explained, Reference } from './reference.js';

export interface People {
  evict(queue: string, key: string, discard: boolean): unknown;
  resumeKey(queue: string, key: string): unknown;
  setPaused(queue: string, paused: boolean): unknown;
  setMaxInFlight(queue: string, most: number | undefined): unknown;
  setRate(queue: string, rate: Policy['rate']): unknown;
  redrive(queue: string, key: string | undefined, itemIds: readonly string[]): unknown;
  discard(queue: string, key: string | undefined, itemIds: readonly string[], waiting: boolean): unknown;
  see(queue: string): Promise<Seen>;
}

/** Everything that can be seen of a queue from outside. */
export interface Seen {
  readonly counts: {
    readonly waitingCallers: number;
    readonly waitingItems: number;
    readonly liveTurns: number;
    readonly deadLetters: number;
    readonly paused: boolean;
  };
  readonly keys: readonly Explained[];
  readonly items: readonly { readonly id: string; readonly state: ItemState; readonly attempt: number }[];
}

function itemsOf(calls: Calls, queue: string): Seen['items'] {
  return IDS.map((id) => {
    const call = new Call<AwaitAnswer>();
    calls.awaitItem({ queue, itemId: id, wait: 0 }, call);
    return { id, ...call.value };
  });
}

function told<T>(result: Result<T>): T {
  // In words only then: what a view says at length is read many times in each scenario.
  if (!result.ok) assert.fail(`refused: ${JSON.stringify(result)}`);
  return result.value;
}

export function realPeople(coordinator: Coordinator, ledger: Ledger): People {
  const { admin } = coordinator;
  return {
    async evict(queue, key, discard) {
      ledger.claimEndOf(queue, key, 'EvictHolder');
      const { evicted, token, itemsReturned, itemsDiscarded } = told(
        await admin.ask('evictHolder', { queue, key, discard }),
      );
      return { evicted, token, itemsReturned, itemsDiscarded };
    },
    resumeKey: async (queue, key) => told(await admin.ask('resumeKey', { queue, key })).resumed,
    setPaused: async (queue, paused) =>
      told(await (paused ? admin.ask('pauseQueue', { queue }) : admin.ask('resumeQueue', { queue }))),
    setMaxInFlight: async (queue, most) =>
      void told(await admin.ask('setLimits', { queue, change: { rate: undefined, maxInFlight: most ?? 'none' } })),
    setRate: async (queue, rate) =>
      void told(await admin.ask('setLimits', { queue, change: { rate: rate ?? 'none', maxInFlight: undefined } })),
    redrive: async (queue, key, itemIds) => told(await admin.ask('redrive', { queue, key, itemIds })).done,
    discard: async (queue, key, itemIds, waiting) =>
      told(await admin.ask('discard', { queue, key, itemIds, waiting })).done,
    async see(queue) {
      const view = told(await admin.ask('listQueues', ALL_QUEUES)).queues.find(({ name }) => name === queue);
      const keys: Explained[] = [];
      for (const key of KEYS) keys.push(explained(told(await admin.ask('explainKey', { queue, key }))));
      const items = itemsOf(coordinator, queue);
      for (const { id, state } of items) {
        if (state === 'unknown') ledger.forgotten(queue, id);
        if (state === 'dead') ledger.died(queue, id);
      }
      return { counts: countsOf(view), keys, items };
    },
  };
}

/** A queue that was not used yet may be left out of the list. */
const UNUSED = { waitingCallers: 0, waitingItems: 0, liveTurns: 0, deadLetters: 0, paused: false } as const;

function countsOf(view: QueueView | undefined): Seen['counts'] {
  if (view === undefined) return UNUSED;
  const { waitingCallers, waitingItems, liveTurns, deadLetters, paused } = view;
  return { waitingCallers, waitingItems, liveTurns, deadLetters, paused };
}

function explained({ state, holder, line, deadLetters }: KeyExplanation): Explained {
  return {
    state,
    holder: holder && {
      consumerId: holder.consumerId,
      token: holder.token,
      leaseLeft: holder.leaseLeft,
      renewals: holder.renewals,
      items: holder.items,
      heldForTicket: holder.heldForTicket,
      session: holder.session,
    },
    line: line.map(({ kind, id, attempts, after }) => ({ kind, id, attempts, awaited: after?.count ?? 0 })),
    deadLetters,
  };
}

export function modelPeople(reference: Reference): People {
  return {
    evict: (queue, key, discard) => reference.evictHolder(queue, key, discard),
    resumeKey: (queue, key) => reference.resumeKey(queue, key),
    setPaused: (queue, paused) => reference.setPaused(queue, paused),
    setMaxInFlight: (queue, most) => reference.setMaxInFlight(queue, most),
    setRate: (queue, rate) => reference.setRate(queue, rate),
    redrive: (queue, key, itemIds) => reference.redrive({ queue, key, itemIds }),
    discard: (queue, key, itemIds, waiting) => reference.discard({ queue, key, itemIds }, waiting),
    see: async (queue) => ({
      counts: reference.listQueue(queue),
      keys: KEYS.map((key) => reference.explainKey(queue, key)),
      items: IDS.map((id) => ({ id, ...reference.itemState(queue, id) })),
    }),
  };
}
