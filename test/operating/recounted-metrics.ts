/** Whether what is exposed is true: counted again over the calls of AdminService, and by what must add up. */
import assert from 'node:assert/strict';
import type { Keyturn } from '@keyturn/client';
import type { Family } from '../observability/exposition.js';

export type Families = ReadonlyMap<string, Family>;
type Labels = Readonly<Record<string, string>>;

/** Of all samples of a name with at least these labels. */
export function total(families: Families, name: string, labels: Labels = {}): number {
  let sum = 0;
  for (const family of families.values()) {
    for (const sample of family.samples) {
      const fits = Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
      if (sample.name === name && fits) sum += sample.value;
    }
  }
  return sum;
}

export function queuesOf(families: Families): readonly string[] {
  const { samples = [] } = families.get('keyturn_turns_live') ?? {};
  return samples.map(({ labels }) => labels['queue'] ?? '');
}

/** How queues stand, to be compared: while it is the same, what is asked one after the other is of one moment. */
export function standing(families: Families): string {
  const gauges = ['keyturn_turns_live', 'keyturn_lanes', 'keyturn_waiting', 'keyturn_dead_letters_kept'];
  return JSON.stringify(gauges.map((name) => families.get(name)?.samples));
}

/** What must add up, whatever has happened. */
export function checkSums(families: Families): void {
  for (const queue of queuesOf(families)) {
    const of = (name: string, labels: Labels = {}) => total(families, name, { queue, ...labels });
    const ended = of('keyturn_settlements_total');
    assert.equal(of('keyturn_hold_seconds_count'), ended, `${queue}: every turn that ended was held`);
    assert.equal(of('keyturn_wait_seconds_count'), ended + of('keyturn_turns_live'), `${queue}: turns end, or live`);
    const there = of('keyturn_waiting', { kind: 'item' }) + of('keyturn_dead_letters_kept');
    const left = of('keyturn_items_submitted_total') - of('keyturn_items_finished_total');
    assert.equal(left, there, `${queue}: items are finished, wait, or are dead letters`);
  }
}

/** How it stands, asked for call by call. */
export async function checkStanding(families: Families, client: Keyturn): Promise<void> {
  const { queues } = await client.admin.listQueues();
  assert.deepEqual(queuesOf(families).toSorted(), queues.map(({ name }) => name).toSorted());
  for (const { name: queue, waiting, liveTurns, paused, policy } of queues) {
    const of = (name: string, labels: Labels = {}) => total(families, name, { queue, ...labels });
    assert.equal(of('keyturn_waiting'), waiting, queue);
    assert.equal(of('keyturn_turns_live'), liveTurns, queue);
    assert.equal(of('keyturn_queue_paused'), Number(paused), queue);
    assert.equal(of('keyturn_queue_limit', { limit: 'max_in_flight' }), policy.maxInFlight ?? 0, queue);
    for (const state of ['PROCESS', 'BLOCK', 'READY', 'DELAY', 'PARK', 'INIT'] as const)
      assert.equal(of('keyturn_lanes', { state }), await keysIn(client, queue, state), `${queue} ${state}`);
    assert.equal(of('keyturn_dead_letters_kept'), await deadLettersOf(client, queue), queue);
  }
}

async function keysIn(
  client: Keyturn,
  queue: string,
  state: 'PROCESS' | 'BLOCK' | 'READY' | 'DELAY' | 'PARK' | 'INIT',
) {
  return countPages(async (pageToken) => {
    const page = await client.admin.listKeys({ queue, state, pageSize: 1_000, pageToken });
    return { count: page.keys.length, next: page.nextPageToken };
  });
}

async function deadLettersOf(client: Keyturn, queue: string) {
  return countPages(async (pageToken) => {
    const page = await client.admin.listDeadLetters({ queue, pageSize: 1_000, pageToken });
    return { count: page.deadLetters.length, next: page.nextPageToken };
  });
}

async function countPages(page: (token: string) => Promise<{ readonly count: number; readonly next: string }>) {
  let counted = 0;
  let token = '';
  do {
    const { count, next } = await page(token);
    counted += count;
    token = next;
  } while (token !== '');
  return counted;
}
