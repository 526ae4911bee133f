/** Scenarios that share a sidecar do not meet there. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { languageOf, SCENARIOS } from '../../clients/conformance/languages.js';
import type { Verdict } from '../../clients/conformance/play/play.js';
import { QueueNames } from '../../clients/conformance/play/queue-names.js';
import { mayShare } from '../../clients/conformance/play/shared-sidecar.js';
import { playAll } from '../../clients/conformance/play/suite.js';
import { loadFolder, loadText } from '../../clients/conformance/scenario/load.js';
import type { Scenario } from '../../clients/conformance/scenario/model.js';

const NAMES = new QueueNames('s7.');

test('queues are renamed wherever a request or an answer names one, and nothing else is', () => {
  const request = {
    queue: 'q',
    queues: ['q', ''],
    key: 'q',
    turns: [{ queue: 'q', key: 'k' }],
    next: { queues: ['r'] },
    items: [{ key: 'queue', after: [{ queue: 'q', item_id: 'i' }] }],
    work: { does: { follow_ups: [{ queue: 'r', item: {} }] } },
  };
  const sent = NAMES.out(request);
  deepStrictEqual(sent, {
    queue: 's7.q',
    queues: ['s7.q', ''],
    key: 'q',
    turns: [{ queue: 's7.q', key: 'k' }],
    next: { queues: ['s7.r'] },
    items: [{ key: 'queue', after: [{ queue: 's7.q', item_id: 'i' }] }],
    work: { does: { follow_ups: [{ queue: 's7.r', item: {} }] } },
  });
  deepStrictEqual(NAMES.in(sent), request);
  deepStrictEqual(NAMES.own([{ name: 's7.q', n: 1 }, { name: 's71.q' }, { name: 's8.q' }]), [{ name: 'q', n: 1 }]);
});

function scenarios(text: string): readonly Scenario[] {
  return loadText('file', `about: x\nscenarios:\n${text}`);
}

const TWO = scenarios(
  ['one', 'two']
    .map(
      (name) => `  - name: ${name}
    contract: c
    sidecar: { settings: { queues: { q: { idempotency_ttl: 1m } } } }
    steps:
      - submit: { queue: q, items: [{ key: k, item_id: same, payload: ${name}, idempotency_key: same }] }
        expect: { results: [{ decision: accept }] }
      - acquire: { queues: [q] }
        expect: { deliveries: [{ turn: { queue: q, token: { $bind: token } }, items: [{ payload: ${name} }] }] }
      - ack: { queue: q, key: k, token: $token }
      - ask: { list_queues: {} }
        expect: { queues: [{ name: q, policy: { idempotency_ttl: 60000 } }] }
`,
    )
    .join('\n'),
);

test('two scenarios with the same queue, key and ids play on one sidecar, each with its policies', async () => {
  ok(TWO.every(mayShare));
  const verdicts: Verdict[] = [];
  await playAll(TWO, [languageOf('typescript')], { atOnce: 2, onVerdict: (verdict) => verdicts.push(verdict) });
  deepStrictEqual(
    verdicts.map(({ failure }) => failure),
    [undefined, undefined],
  );
});

const ALONE: readonly (readonly [string, string])[] = [
  ['another setting', 'sidecar: { settings: { auto_create: false } }, steps: []'],
  ['a data directory', 'sidecar: { data: true }, steps: []'],
  ['a socket', 'sidecar: { listen: unix }, steps: []'],
  ['files', 'files: { a: text }, steps: []'],
  ['certificates', 'certificates: true, steps: []'],
  ['what is done to it', 'steps: [{ sidecar: stop }]'],
  ['what is done to it again and again', 'steps: [{ repeat: { times: 2, steps: [{ sidecar: kill }] } }]'],
];

for (const [what, more] of ALONE) {
  test(`a scenario has a sidecar of its own for ${what}`, () => {
    const [one] = scenarios(`  - { name: a, contract: c, ${more} }`);
    ok(one !== undefined);
    strictEqual(mayShare(one), false);
  });
}

test('no two scenarios that share a sidecar have a consumer or a session by the same name', () => {
  const seen = new Map<string, string>();
  for (const { id, clients, steps } of loadFolder(SCENARIOS).filter(mayShare)) {
    const text = JSON.stringify([clients, steps]);
    for (const name of new Set([...text.matchAll(/"(consumer_id|session_id)":"([^"]+)"/g)].map(([found]) => found))) {
      strictEqual(seen.get(name), undefined, `${name} is in ${id} and in ${seen.get(name)}`);
      seen.set(name, id);
    }
  }
  ok(seen.size > 0);
});
