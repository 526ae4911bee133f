/** The check of floors sees what it should, and nothing else. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { checkFloors, fileCircles, HOUSES } from './floors.js';
import { read } from './repository.js';

const check = (path: string, text: string): string =>
  HOUSES.flatMap((house) => checkFloors(house, [{ path, text }])).join('\n');

const ALLOWED: readonly (readonly [string, string])[] = [
  ['src/core/lane/turns.ts', "import { Turn } from '../state/records.js';"],
  ['src/core/lane/turns.ts', "import { isOver } from './lease.js';"],
  ['src/core/calls/admin/explain.ts', "import { currentLane } from '../../lane/current-lanes.js';"],
  ['src/core/core.ts', "import { ack } from './calls/ack.js';"],
  ['src/local/loop.ts', "import { Core } from '../core/core.js';"],
  ['clients/typescript/src/wire/time.ts', "import type { Duration } from '../gen/google/protobuf/duration.js';"],
];

for (const [path, text] of ALLOWED)
  test(`downhill: ${path}: ${text}`, () => {
    strictEqual(check(path, text), '');
  });

const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  ['src/core/state/records.ts', "import type { Lease } from '../lane/lease.js';", /:1: state may not import lane \(/],
  ['src/core/structures/link.ts', "import { Lane } from '../state/records.js';", /structures may not import state/],
  ['src/core/dispatch/step-end.ts', "import { collect } from '../durability/collect.js';", /may not import durability/],
  ['src/core/durability/collect.ts', "export { pump } from '../dispatch/pump.js';", /may not import dispatch/],
  ['src/core/calls/ack.ts', "type Why = import('./admin/why.js').Why;", /calls may not import calls\/admin/],
  ['src/core/lane/turns.ts', "import { Core } from '../core.js';", /lane may not import the top/],
  ['src/core/attic/old.ts', '', /stands in no room of src\/core/],
  ['clients/typescript/src/words/errors.ts', "import { a } from '../wire/status.js';", /words may not import wire/],
  ['clients/typescript/src/consume/worker.ts', "import { a } from '../produce/submit.js';", /may not import produce/],
];

for (const [path, text, wrong] of REFUSED)
  test(`refused: ${path}: ${text}`, () => {
    match(check(path, text), wrong);
  });

test('a circle of files is found, type imports included, and one that only leads into it is not in it', () => {
  const files = [
    { path: 'src/a.ts', text: "import { b } from './b.js';" },
    { path: 'src/b.ts', text: "import type { C } from './c/c.js';" },
    { path: 'src/c/c.ts', text: "import { b } from '../b.js';" },
    { path: 'src/d.ts', text: "import { d } from './d.js';" },
    { path: 'src/e.ts', text: "import { Buffer } from 'node:buffer';\nimport { b } from './b.js';" },
  ];
  deepStrictEqual(fileCircles(files), ['src/b.ts -> src/c/c.ts -> src/b.ts', 'src/d.ts -> src/d.ts']);
});

test('two ways to one file are no circle', () => {
  const files = [
    { path: 'src/a.ts', text: "import { b } from './b.js';\nimport { c } from './c.js';" },
    { path: 'src/b.ts', text: "import { c } from './c.js';" },
    { path: 'src/c.ts', text: '' },
  ];
  deepStrictEqual(fileCircles(files), []);
});

test('each room begins its page with its rule, and the table has one for each', () => {
  for (const { folder, floors } of HOUSES)
    for (const { rooms, rules } of floors) {
      strictEqual(rules.length, rooms.length);
      for (const [index, room] of rooms.entries()) {
        const page = read(`${folder}/${room === '' ? '' : `${room}/`}README.md`).text;
        strictEqual(page.split('\n')[0], rules[index]);
      }
    }
});
