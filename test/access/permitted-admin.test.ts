/** Lists of queues, of which the caller may see some. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Allowance } from '../../src/access/allowance.js';
import { Grants } from '../../src/access/grants.js';
import { PermittedAdministration } from '../../src/access/permitted-admin.js';
import { PermittedDesk } from '../../src/access/permitted-desk.js';
import type { Desk, QueueView, Unavailable, Watcher } from '../../src/coordinator.js';
import { DRAINING } from '../../src/core/contract/refusals.js';
import { FakeCoordinator } from '../grpc/fake-coordinator.js';
import { queueView } from '../observability/stats.js';

const NAMES = Array.from({ length: 10_000 }, (_, n) => `q${String(n).padStart(5, '0')}`);

/** Of each page another partition is away. */
function asked(...queues: readonly string[]) {
  const { admin } = new FakeCoordinator();
  const asks: number[] = [];
  admin.answers.listQueues = ({ after, most }) => {
    const rest = NAMES.filter((name) => name > after);
    const unavailable: readonly Unavailable[] = [{ partition: asks.length % 3, why: 'away' }];
    asks.push(most);
    const views: readonly QueueView[] = rest.slice(0, most).map((name) => queueView(name));
    return Promise.resolve({
      ok: true,
      value: { queues: views, more: rest.length > most, holdUntil: undefined, unavailable },
    });
  };
  const grants = new Grants([{ queues, groups: [], may: ['view'] }]);
  const permitted = new PermittedAdministration(admin, {
    name: 'ada',
    grants,
    allowance: undefined,
    proof: { by: 'unix' },
  });
  return { permitted, asks };
}

test('who may see none of 10,000 queues, and asks for one, is answered in ten steps between which others have their turns', async () => {
  const { permitted, asks } = asked('other');
  let turns = 0;
  const count = setInterval(() => (turns += 1), 0);
  const page = await permitted.ask('listQueues', { nameContains: '', after: '', most: 1 });
  clearInterval(count);
  assert.ok(page.ok);
  assert.deepEqual([page.value.queues, page.value.more, asks], [[], false, Array.from({ length: 10 }, () => 1_000)]);
  assert.ok(turns > 0, 'the event loop turned');
});

test('pages have as many as were asked for, and are complete together', async () => {
  const { permitted } = asked('q*7');
  const seen: string[] = [];
  for (let after = ''; ; ) {
    const page = await permitted.ask('listQueues', { nameContains: '', after, most: 300 });
    assert.ok(page.ok);
    seen.push(...page.value.queues.map(({ name }) => name));
    if (!page.value.more) break;
    assert.equal(page.value.queues.length, 300);
    after = page.value.queues.at(-1)?.name ?? '';
  }
  assert.deepEqual(
    seen,
    NAMES.filter((name) => name.endsWith('7')),
  );
});

test('what could not be asked on the way is told, each partition once', async () => {
  const { permitted } = asked('other');
  const page = await permitted.ask('listQueues', { nameContains: '', after: '', most: 1 });
  assert.ok(page.ok);
  assert.deepEqual(
    page.value.unavailable?.map(({ partition }) => partition),
    [0, 1, 2],
  );
});

const TARGET = { queue: 'ada.q', itemId: 'own' };
const SECRET = { queue: 'bob.q', itemId: 'merger' };

test('an item that waits for those of queues that one may not view does not name them', async () => {
  const { admin } = new FakeCoordinator();
  const nobody = {
    state: 'DELAY',
    since: 1,
    holder: undefined,
    waitingCallers: 0,
    waitingItems: 1,
    until: undefined,
  } as const;
  const entry = { kind: 'item', id: 'i', since: 1, attempts: 0, lastError: undefined } as const;
  admin.answers.explainKey = async () => ({
    ok: true,
    value: {
      ...nobody,
      line: [{ ...entry, after: { first: [TARGET, SECRET], count: 2 } }],
      attempts: 0,
      lastError: undefined,
      why: 'waits for others: own of queue ada.q, merger of queue bob.q',
      named: [TARGET, SECRET].map((one) => ({ ...one, as: `${one.itemId} of queue ${one.queue}` })),
      deadLetters: 0,
    },
  });
  admin.answers.retryNow = async () => ({
    ok: false,
    refusal: {
      kind: 'not_delayed',
      because: 'waits_for_items',
      queue: 'ada.q',
      key: 'k',
      itemId: 'i',
      after: [TARGET, SECRET],
      afterCount: 2,
    },
  });
  const grants = new Grants([{ queues: ['ada.*'], groups: [], may: ['view', 'operate'] }]);
  const proof = { by: 'unix' } as const;
  const permitted = new PermittedAdministration(admin, { name: 'ada', grants, allowance: undefined, proof });
  const found = await permitted.ask('explainKey', { queue: 'ada.q', key: 'k' });
  assert.ok(found.ok);
  assert.equal(found.value.why, 'waits for others: own of queue ada.q, an item of another queue');
  assert.deepEqual(found.value.line[0]?.after, { first: [TARGET], count: 2 });
  assert.doesNotMatch(JSON.stringify(found.value), /merger|bob/);
  const retried = await permitted.ask('retryNow', { queue: 'ada.q', what: { key: 'k' } });
  assert.doesNotMatch(JSON.stringify(retried), /merger|bob/);
  assert.match(JSON.stringify(retried), /"afterCount":2/);
});

test('what an item carries is for those who may see payloads; what it waits for elsewhere is not named', async () => {
  const { admin } = new FakeCoordinator();
  const asked: unknown[] = [];
  admin.answers.getItem = async (request) => {
    asked.push(request);
    const none = {
      key: 'k',
      item: undefined,
      attempts: 0,
      lastError: undefined,
      notBefore: undefined,
      holder: undefined,
    };
    const named = [{ ...SECRET, as: 'merger of queue bob.q' }];
    const why = 'waits for merger of queue bob.q';
    const rest = { died: undefined, result: undefined, payloadBytes: 0, after: { first: [SECRET], count: 1 } };
    return { ok: true, value: { state: 'waiting', ...none, ...rest, why, named } };
  };
  const grants = new Grants([{ queues: ['ada.*'], groups: [], may: ['view'] }]);
  const proof = { by: 'unix' } as const;
  const permitted = new PermittedAdministration(admin, { name: 'ada', grants, allowance: undefined, proof });
  const found = await permitted.ask('getItem', { queue: 'ada.q', itemId: 'i', withPayload: false });
  assert.ok(found.ok);
  assert.doesNotMatch(JSON.stringify(found), /merger|bob/);
  for (const [queue, withPayload] of [
    ['ada.q', true],
    ['bob.q', false],
  ] as const) {
    const refused = await permitted.ask('getItem', { queue, itemId: 'i', withPayload });
    assert.equal(refused.ok ? 'ok' : refused.refusal.kind, 'not_allowed');
  }
  assert.equal(asked.length, 1);
});

test('everybody learns who they are and what they may; settings and figures are for those who may view everything', async () => {
  const desk: Desk = {
    view: async () => ({
      ok: true,
      value: {
        version: '1',
        runtime: 'Node',
        startedAt: 1,
        now: 2,
        auth: true,
        tls: false,
        audit: false,
        cluster: undefined,
        keeps: 'memory',
        addresses: { grpc: 'a', http: 'b', page: undefined },
        settings: 'queues: { hidden: {} }',
        limits: [{ limit: 'sessions', used: 1, most: 2 }],
      },
    }),
  };
  const seenBy = async (queues: readonly string[]) => {
    const rights = [{ queues, groups: [], may: ['view'] as const }];
    const proof = { by: 'unix' } as const;
    const principal = { name: 'ada', grants: new Grants(rights), allowance: undefined, proof };
    const told = await new PermittedDesk(desk, principal).view();
    assert.ok(told.ok);
    assert.deepEqual(told.value.asker, { name: 'ada', rights });
    return [told.value.settings, told.value.limits.length];
  };
  assert.deepEqual(await seenBy(['*']), ['queues: { hidden: {} }', 1]);
  assert.deepEqual(await seenBy(['ada.*']), [undefined, 0]);
});

test('who may not view everything sees their own sessions alone, and of them no turn of a queue that they may not view', async () => {
  const { admin } = new FakeCoordinator();
  const asked: string[] = [];
  const turn = { key: 'k', token: 1, since: 1, consumerId: 'w' };
  const held = ['ada.q', 'bob.q'].map((queue) => ({ ...turn, queue }));
  admin.answers.listSessions = async ({ prefix }) => {
    asked.push(prefix);
    const one = { id: 'ada\u001fs', brokenSince: undefined, endsAt: undefined, turns: 2, held };
    return { ok: true, value: { sessions: [one], more: false } };
  };
  const listedBy = async (queues: readonly string[]) => {
    const grants = new Grants([{ queues, groups: [], may: ['view'] }]);
    const proof = { by: 'unix' } as const;
    const permitted = new PermittedAdministration(admin, { name: 'ada', grants, allowance: undefined, proof });
    // What a stranger says for the prefix is not heard.
    const found = await permitted.ask('listSessions', { idContains: '', prefix: 'bob', after: '', most: 10 });
    assert.ok(found.ok);
    return found.value.sessions.map(({ turns, held: seen }) => [turns, seen.map(({ queue }) => queue)]);
  };
  assert.deepEqual(await listedBy(['ada.*']), [[2, ['ada.q']]]);
  assert.deepEqual(await listedBy(['*']), [[2, ['ada.q', 'bob.q']]]);
  assert.deepEqual(asked, ['ada\u001f', '']);
});

test('S590: watches are bounded for each principal, and counted once however they end', () => {
  const { admin } = new FakeCoordinator();
  const opened: Watcher[] = [];
  admin.watch = (_queue, _key, watcher) => {
    opened.push(watcher);
    return { ok: true, value: { take: () => ({ events: [], missed: 0 }), stop() {} } };
  };
  const grants = new Grants([{ queues: ['q'], groups: [], may: ['view'] }]);
  const bounds = { callsPerSecond: undefined, waiting: undefined, watches: 2 };
  const allowance = new Allowance(bounds, 'ada', () => 0);
  const permitted = new PermittedAdministration(admin, { name: 'ada', grants, allowance, proof: { by: 'unix' } });
  const watch = () => permitted.watch('q', undefined, { wake() {}, end() {} });
  const [first, second] = [watch(), watch()];
  assert.ok(first.ok && second.ok);
  assert.ok(opened[0]?.isGuest, 'it may not operate everything');
  const full = watch();
  assert.ok(!full.ok && full.refusal.kind === 'limit' && full.refusal.subject === 'auth.per_client.watches');
  first.value.stop();
  first.value.stop();
  opened[0]?.end();
  assert.ok(watch().ok, 'one place is free');
  assert.ok(!watch().ok, 'and no more');
  opened[1]?.end();
  assert.ok(watch().ok);
  admin.watch = () => ({ ok: false, refusal: DRAINING });
  opened.at(-1)?.end();
  assert.ok(!watch().ok);
  assert.equal(allowance.watches(), undefined, 'what was refused has no place');
});
