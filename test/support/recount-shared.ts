/** Recounts what several cores use together, believing neither the sum nor its parts. */
import assert from 'node:assert/strict';
import type { Core, SharedUse } from '../../src/core/core.js';

/** @param cores all that have joined; between two steps */
export function recountShared(shared: SharedUse, cores: readonly { readonly core: Core }[]): void {
  const sum = {
    payloadBytes: 0,
    roomBytes: 0,
    busyLanes: 0,
    queues: 0,
    dependencies: 0,
    resultBytes: 0,
    idleLanes: 0,
    memoryBytes: 0,
  };
  const leaders = { groups: 0, candidates: 0, watchers: 0 };
  const principals = new Map<string, { turns: number; bytes: number; cores: number }>();
  const waiting = { caller: 0, acquire: 0, room: 0, await_item: 0 };
  for (const { core } of cores) {
    const { inside } = core;
    sum.payloadBytes += inside.payloadBytes;
    sum.roomBytes += inside.roomBytes;
    sum.busyLanes += inside.busyLanes;
    sum.queues += inside.queues.size;
    sum.dependencies += inside.dependencies.size;
    sum.resultBytes += inside.results.bytes;
    sum.idleLanes += inside.idle.size;
    sum.memoryBytes += inside.memoryBytes;
    leaders.groups += inside.leaders.groups.size;
    leaders.candidates += inside.leaders.candidates;
    leaders.watchers += inside.leaders.watchers;
    for (const { principal, turns, bytes } of inside.accounts.all()) {
      const held = principals.get(principal) ?? { turns: 0, bytes: 0, cores: 0 };
      principals.set(principal, {
        turns: held.turns + turns,
        bytes: held.bytes + bytes,
        cores: held.cores + 1,
      });
    }
    for (const kind of ['caller', 'acquire', 'room', 'await_item'] as const) waiting[kind] += inside.waiting[kind];
  }
  assert.equal(shared.cores, cores.length);
  const totals = [...shared.totals].map(([name, total]) => [name, { ...total }] as const);
  assert.deepEqual(new Map(totals), principals, 'what principals hold in all cores');
  const { use } = shared;
  const seen = { ...use, waiting: { ...use.waiting }, leaders: { ...use.leaders } };
  assert.deepEqual(seen, { ...sum, waiting, leaders });
}
