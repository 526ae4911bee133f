/** An item failed for another of a queue that is not one's own: who reads its error does not learn of which (S632). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Grants } from '../../src/access/grants.js';
import { PermittedPort } from '../../src/access/permitted-port.js';
import type { Verb } from '../../src/access/settings.js';
import { withoutForeignNames } from '../../src/core/contract/foreign-names.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { Stage, told } from '../contract/stage.js';
import { open } from '../contract/stream.js';
import { Worker } from '../contract/worker.js';

const ITEM = 'own';
const QUEUE = 'ada.q';
const HIDDEN = 'an item of another queue, which had to be done before it, became a dead letter';
const SHOWN = 'item merger of queue bob.q, which had to be done before it, became a dead letter';
const LETTERS = { queue: QUEUE, key: undefined, pageSize: 10, pageToken: '' };

function begun() {
  const stage = new Stage((given, clock) => new LocalCoordinator(given, { clock, seed: 1 }), { autoCreate: true });
  stage.submit([{ itemId: 'merger', key: 'm' }], { queue: 'bob.q' });
  const after = [{ queue: 'bob.q', itemId: 'merger' }];
  stage.submit([{ itemId: ITEM, key: 'k', after }], { queue: QUEUE });
  const { turn } = stage.take({ queues: ['bob.q'] });
  stage.nack(turn, { queue: 'bob.q', kind: 'dead_letter' });
  return stage;
}

function portFor(stage: Stage, queues: readonly string[], may: readonly Verb[]): PermittedPort {
  const grants = new Grants([{ queues, groups: [], may }]);
  const proof = { by: 'unix' } as const;
  return new PermittedPort(stage.coordinator, undefined, { name: 'ada', grants, allowance: undefined, proof });
}

test('S425: no sentence names the principal of a session', async () => {
  const stage = new Stage((given, clock) => new LocalCoordinator(given, { clock, seed: 1 }), { autoCreate: true });
  const port = portFor(stage, ['q'], ['produce', 'consume', 'view', 'operate']);
  stage.submit(
    [
      { itemId: 'plain', key: '' },
      { itemId: 'keyed', key: 'k' },
      { itemId: 'behind', key: 'k' },
    ],
    { queue: 'q' },
  );
  const session = open(port);
  session.hello({ sessionId: 'mine' });
  session.acquire({ queues: ['q'], maxTurns: 2 });
  const sentences = [
    told(await port.admin.ask('explainKey', { queue: 'q', key: 'k' })).why,
    told(await port.admin.ask('explainKey', { queue: 'q', key: '' })).why,
    told(await port.admin.ask('getItem', { queue: 'q', itemId: 'behind', withPayload: false })).why,
    told(await port.admin.ask('retryNow', { queue: 'q', what: { key: 'k' } })).why,
    told(await port.admin.ask('retryNow', { queue: 'q', what: { itemId: 'plain' } })).why,
  ];
  for (const sentence of sentences) assert.match(sentence, /session "mine"/);
});

test('no name of a hidden item stays, also where one name begins another', async () => {
  const stage = new Stage((given, clock) => new LocalCoordinator(given, { clock, seed: 1 }), { autoCreate: true });
  stage.submit([{ itemId: '1', key: 'a' }], { queue: 'jobs' });
  stage.submit([{ itemId: '11', key: 'b' }], { queue: 'jobs-of-acme' });
  const after = ['jobs', 'jobs-of-acme'].map((queue, at) => ({ queue, itemId: '1'.repeat(at + 1) }));
  stage.submit([{ itemId: 'w', key: 'k', after }], { queue: 'q' });
  const { admin } = portFor(stage, ['q'], ['view']);
  const { why } = told(await admin.ask('explainKey', { queue: 'q', key: 'k' }));
  assert.match(why, /: an item of another queue, an item of another queue$/);
});

describe('the error of an item that had to wait for one of another queue', () => {
  const { admin, calls } = portFor(begun(), ['ada.*'], ['view', 'operate', 'produce']);

  test('as a dead letter', async () => {
    const [letter] = told(await admin.ask('listDeadLetters', LETTERS)).deadLetters;
    assert.equal(letter?.lastError, HIDDEN);
  });

  test('as an item by its id', async () => {
    const report = told(await admin.ask('getItem', { queue: QUEUE, itemId: ITEM, withPayload: false }));
    assert.equal(report.lastError, HIDDEN);
  });

  test('for its producer', () => {
    assert.equal(new Worker(calls).await(ITEM, 0, QUEUE).value.error, HIDDEN);
  });

  test('is not found by what is hidden of it, and by the rest it is', async () => {
    for (const [errorContains, count] of [
      ['bob', 0],
      ['merger', 0],
      ['became a dead letter', 1],
    ] as const) {
      const filter = { causes: [], errorContains, diedAfter: undefined, diedBefore: undefined };
      assert.equal(told(await admin.ask('listDeadLetters', { ...LETTERS, filter })).deadLetters.length, count);
      const choice = { queue: QUEUE, key: undefined, itemIds: [], filter, dryRun: true };
      assert.equal(told(await admin.ask('redrive', choice)).chosen, count);
      assert.equal(told(await admin.ask('discard', { ...choice, waiting: false })).chosen, count);
    }
  });

  test('as the item that it is once it was redriven', async () => {
    told(await admin.ask('redrive', { queue: QUEUE, key: undefined, itemIds: [] }));
    const found = told(await admin.ask('explainKey', { queue: QUEUE, key: 'k' }));
    assert.equal(found.lastError, HIDDEN);
    assert.equal(found.line[0]?.lastError, HIDDEN);
  });

  test('is shown whole to who may view the other queue', async () => {
    const all = portFor(begun(), ['ada.*', 'bob.*'], ['view', 'payload']);
    const [letter] = told(await all.admin.ask('listDeadLetters', LETTERS)).deadLetters;
    assert.equal(letter?.lastError, SHOWN);
  });
});

describe('a text without foreign names', () => {
  const mine = (queue: string) => queue.startsWith('ada.');
  for (const [text, plain] of [
    [
      'follow_ups[0].after[1]: item a b of queue bob.q is not known',
      'follow_ups[0].after[1]: an item of another queue is not known',
    ],
    ['there is no queue bob.q, Redrive sends it there', 'there is no queue (hidden), Redrive sends it there'],
    [
      'item a of queue ada.q waits for item b of queue bob.q',
      'item a of queue ada.q waits for an item of another queue',
    ],
    [`item ${'\u{1f600}'.repeat(48)}… of queue bob.q was`, 'an item of another queue was'],
    ['timeout after 3 s', 'timeout after 3 s'],
    ['SMTP queue is full', 'SMTP queue is full'],
    ['SQS queue does not exist', 'SQS queue does not exist'],
    ['queue bob.q: refused', 'queue bob.q: refused'],
  ] as const)
    test(text.slice(0, 60), () => assert.equal(withoutForeignNames(text, mine), plain));
});
