/** Queues that are new to a cluster, at the start of a sidecar. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bringIn, newRoutes } from '../../../src/cli/serve/cluster/new-routes.js';
import { agree } from '../../../src/cli/serve/cluster/record.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import { CLUSTER_DEFAULTS } from '../../../src/config/cluster-settings.js';
import type { Refusal, Result, RouteView } from '../../../src/coordinator.js';
import { settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';

const RECORD: ClusterRecord = {
  id: 'c',
  partitions: 8,
  secret: 's',
  version: 2,
  routes: { orders: { group: 'shop', spread: 1 }, back: { group: 'back', spread: 1, above: 7 } },
};

function said(queues: Readonly<Record<string, { group?: string; spread?: number }>>) {
  return settings({ queues });
}

function storeOf(record: ClusterRecord) {
  return {
    name: 'redis://store:6379',
    hasRecord: async () => true,
    importUnderWay: async () => undefined,
    record: async () => record,
  };
}

const ROUTE = { queue: 'q', group: 'shop', spread: 1, partitions: [3], isChanging: false };

async function brought(answers: readonly Result<RouteView>[]) {
  const clock = new FakeClock();
  let asked = 0;
  const took: string[] = [];
  const rerouting = {
    bringIn: async () =>
      answers[Math.min(asked++, answers.length - 1)] ?? { ok: true, value: { route: ROUTE, isChanged: false } },
  };
  const around = { rerouting, clock, isEnded: () => false, took: (queue: string) => void took.push(queue) };
  let done: { readonly trouble: string | undefined } | undefined;
  let failure: unknown;
  bringIn(new Map([['q', { group: 'shop', spread: 1 }]]), around).then(
    (trouble) => (done = { trouble }),
    (error: unknown) => (failure = error),
  );
  for (let left = 200; done === undefined && failure === undefined && left > 0; left -= 1) {
    await new Promise(setImmediate);
    clock.advance(250);
  }
  if (failure !== undefined) throw failure;
  return { asked, took, trouble: done?.trouble };
}

function refused(refusal: Refusal): Result<RouteView> {
  return { ok: false, refusal };
}

const BUSY = refused({ kind: 'limit', subject: 'rerouting', limit: 1, description: 'one at a time', retryAfter: 500 });

describe('a queue that is new to a cluster', () => {
  it('S382: is one of which the record says nothing, whoever has it by default', () => {
    const all = newRoutes(
      said({ orders: { group: 'shop' }, back: { group: 'shop' }, fresh: { spread: 4 }, own: {} }),
      RECORD,
    );
    assert.deepEqual([...all], [['fresh', { group: 'fresh', spread: 4 }]]);
  });

  it('S382: does not keep the sidecar from starting; another word of a queue that is known does, with both', async () => {
    await agree(storeOf(RECORD), [], CLUSTER_DEFAULTS, said({ fresh: { spread: 4 } }));
    await assert.rejects(agree(storeOf(RECORD), [], CLUSTER_DEFAULTS, said({ orders: { spread: 2 } })), {
      name: 'CommandFailure',
      message:
        /^queues\.orders: has spread 2, but in the cluster it has group shop; .* "keyturn cluster route -- orders" changes it/,
    });
    await assert.rejects(agree(storeOf(RECORD), [], CLUSTER_DEFAULTS, said({ back: { group: 'shop' } })), {
      message: /^queues\.back: has group shop, but in the cluster it has a group of its own/,
    });
  });

  it('S382: is taken in, and that is said', async () => {
    const { took, asked, trouble } = await brought([
      BUSY,
      BUSY,
      { ok: true, value: { route: ROUTE, isChanged: true } },
    ]);
    assert.deepEqual([took, asked, trouble], [['q'], 3, undefined]);
  });

  it('S382: of which another sidecar said something else at the same moment keeps this one from starting', async () => {
    const other = { route: { ...ROUTE, group: 'q', spread: 4 }, isChanged: false };
    await assert.rejects(brought([BUSY, { ok: true, value: other }]), {
      name: 'CommandFailure',
      message: /^queues\.q: has group shop, but in the cluster it has spread 4/,
    });
  });

  it('S382: and is in use where it is, is not moved: the sidecar does not start, and says why', async () => {
    const description = 'queue "q" cannot be routed anew: it has 3 items';
    await assert.rejects(brought([refused({ kind: 'not_possible', because: 'not_routable', description })]), {
      name: 'CommandFailure',
      message: /^queues\.q: the cluster does not know its group or spread yet, .* it has 3 items; or leave it out/,
    });
  });

  it('S382: of which homes do not answer now is tried again', async () => {
    const away = refused({
      kind: 'no_home',
      partition: 1,
      description: 'the home of partition 1 is away',
      retryAfter: 1,
    });
    assert.deepEqual(await brought([away]), { asked: 1, took: [], trouble: 'the home of partition 1 is away' });
    const busy = await brought([BUSY]);
    assert.equal(busy.trouble, 'one at a time');
  });
});
