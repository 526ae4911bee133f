/** What is left out of the suite in a cluster is there, and the rest is played. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PLAYED, SCENARIOS } from '../../../clients/conformance/languages.js';
import { loadFolder } from '../../../clients/conformance/scenario/load.js';
import { ROOT } from '../../project/repository.js';
import { CANNOT_HOLD, leftOut } from './left-out.js';
import { linkedQueues } from './linked-queues.js';

const IDS = loadFolder(SCENARIOS).map(({ id }) => id);

test('every scenario that cannot hold in a cluster is one that there is, and names a rule that there is', () => {
  const spec = readFileSync(join(ROOT, 'docs', 'SPEC.md'), 'utf8');
  for (const [id, why] of Object.entries(CANNOT_HOLD)) {
    ok(IDS.includes(id), id);
    const rule = /\((S\d+)\)$/.exec(why)?.[1];
    ok(rule !== undefined && spec.includes(`| ${rule} |`), `${id}: ${why}`);
  }
});

test('by hand all others are played, and in continuous integration most of them, with every language', () => {
  for (const language of PLAYED) {
    const played = (everything: boolean) => IDS.filter((id) => leftOut(id, language, everything) === undefined).length;
    strictEqual(played(true), IDS.length - Object.keys(CANNOT_HOLD).length);
    const part = language === 'typescript' ? 0.75 : 0.4;
    ok(played(false) > part * IDS.length, `${language} plays ${played(false)}`);
  }
});

test('queues that one step reaches are found: they need one group', () => {
  const linked = loadFolder(SCENARIOS).flatMap((scenario) => {
    const queues = linkedQueues(scenario);
    return queues.length === 0 ? [] : [[scenario.id, [...queues].sort()]];
  });
  const named = new Map(linked.map(([id, queues]) => [String(id), queues]));
  deepStrictEqual(named.get('consumers: a handler chains tasks without a gap'), ['first', 'second']);
  deepStrictEqual(named.get('items: an Ack submits what follows in the same step, or neither'), ['last', 'next', 'q']);
  const [home] = loadFolder(SCENARIOS).filter(
    ({ cluster, steps }) => cluster && JSON.stringify(steps).includes('follow_ups'),
  );
  ok(home !== undefined && !named.has(home.id), 'one that is about the homes says itself which queues have one group');
  ok(named.size < IDS.length / 10, 'others are groups of their own');
});
