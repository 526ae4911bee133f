/** The check of rooms sees what it should, and nothing else. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { checkRooms, runTimeCycles } from './rooms.js';

const PRODUCTION = ['@grpc/grpc-js', '@keyturn/client', 'commander', 'lru-cache', 'yaml'];

function check(path: string, text: string): string {
  return checkRooms([{ path, text }], PRODUCTION).join('\n');
}

const ALLOWED: readonly (readonly [string, string])[] = [
  [
    'console/pages/key.tsx',
    "import { render } from 'preact';\nimport type { Event } from '../gen/keyturn/v1/admin.js';",
  ],
  ['src/main.ts', "import { registerServe } from './cli/serve.js';"],
  ['src/main.ts', "import { Command } from 'commander';"],
  ['src/cli/serve/sidecar.ts', "import { LocalCoordinator } from '../../local/coordinator.js';"],
  ['src/cli/serve.ts', "await import('./serve/serve.js');"],
  ['src/coordinator.ts', "export type * from './core/model.js';"],
  ['src/core/queue.ts', "import { LRUCache } from 'lru-cache';\nimport { Link } from './link.js';"],
  ['src/local/loop.ts', "import { hrtime } from 'node:process';\nimport { Core } from '../core/core.js';"],
  ['src/grpc/convert/time.ts', "import type { Duration } from '../gen/google/protobuf/duration.js';"],
  ['src/grpc/server.ts', "import { Server } from '@grpc/grpc-js';"],
  ['src/cli/run.ts', "import { connect } from '@keyturn/client';"],
  ['clients/conformance/main.ts', "import { parse } from 'yaml';\nimport { connect } from '@keyturn/client';"],
  ['clients/typescript/conformance/pairs.ts', "import { connect } from '@keyturn/client';\nawait import('ioredis');"],
  ['clients/typescript/src/wire/time.ts', "import type { Duration } from '../gen/google/protobuf/duration.js';"],
  [
    'clients/typescript/src/channel.ts',
    "import { Channel } from '@grpc/grpc-js';\nimport { hrtime } from 'node:process';",
  ],
  ['src/config/config.ts', "import { DEFAULT_LIMITS } from '../core/contract/limits.js';"],
  [
    'src/http/server.ts',
    "// import { Core } from '../core/core.js';\nconst text = `import { Core } from '../core/core.js'`;",
  ],
];

for (const [path, text] of ALLOWED) {
  test(`allowed: ${path}: ${text.split('\n')[0]}`, () => strictEqual(check(path, text), ''));
}

const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  ['src/main.ts', "import { Core } from './core/core.js';", /main may not import core/],
  ['src/core/lane.ts', "import { hrtime } from 'node:process';", /core may not import node:process/],
  ['src/core/lane.ts', "import type { Coordinator } from '../coordinator.js';", /core may not import port/],
  ['src/core/lane.ts', "import { parse } from 'yaml';", /core may not import yaml/],
  ['src/coordinator.ts', "import { LocalCoordinator } from './local/coordinator.js';", /port may not import local/],
  ['src/local/loop.ts', "import { Server } from '@grpc/grpc-js';", /local may not import @grpc\/grpc-js/],
  ['src/local/loop.ts', "import type { Config } from '../config/config.js';", /local may not import config/],
  ['src/grpc/server.ts', "import { Core } from '../core/core.js';", /grpc may not import core/],
  ['src/grpc/server.ts', "import type { LaneState } from '../core/model.js';", /grpc may not import core/],
  ['src/grpc/server.ts', "export { Core } from '../core/core.js';", /grpc may not import core/],
  ['src/grpc/server.ts', "export * from '../core/core.js';", /grpc may not import core/],
  ['src/grpc/server.ts', "const core = await import('../core/core.js');", /grpc may not import core/],
  ['src/grpc/server.ts', "type Core = import('../core/core.js').Core;", /grpc may not import core/],
  ['src/grpc/server.ts', "import { parse } from '@babel/parser';", /not among the production dependencies/],
  [
    'src/cluster/member/member.ts',
    "import type { Turn } from '../../grpc/gen/keyturn/v1/coordinator.js';",
    /only what is generated of engines/,
  ],
  ['src/grpc/deadline.ts', "import type { Any } from './gen/google/protobuf/any.js';", /generated code stops/],
  ['src/cli/run.ts', "import type { Turn } from '../grpc/gen/keyturn/v1/coordinator.js';", /cli may not import gen/],
  ['src/http/server.ts', "import { createMetrics } from '../observability/metrics.js';", /http may not import obs/],
  ['src/http/server.ts', "import express from 'express';", /http may not import express/],
  ['src/config/config.ts', "import { Core } from '../core/core.js';", /only the words and built-in values of core/],
  ['src/config/config.ts', "import { openStore } from '../cluster/engines/open.js';", /only the addresses of cluster/],
  [
    'src/observability/metrics.ts',
    "import type { Queue } from '../core/queue.js';",
    /observability may not import core/,
  ],
  [
    'src/grpc/server.ts',
    "import { connect } from '@keyturn/client';",
    /only cli, suite, player may import @keyturn\/client/,
  ],
  ['src/cli/run.ts', "import { Held } from '#client/turns/held-turn';", /by that name/],
  [
    'src/cli/run.ts',
    "import { Held } from '../../clients/typescript/src/turns/held-turn.js';",
    /may not import client/,
  ],
  [
    'clients/typescript/src/client.ts',
    "import type { Turn } from '../../../src/coordinator.js';",
    /client may not import port/,
  ],
  [
    'clients/typescript/src/client.ts',
    "import type { Turn } from './gen/keyturn/v1/coordinator.js';",
    /generated code stops/,
  ],
  ['clients/typescript/src/client.ts', "import { parse } from 'yaml';", /client may not import yaml/],
  ['clients/conformance/main.ts', "import { EXIT } from '../../src/cli/exit-codes.js';", /suite may not import cli/],
  [
    'clients/typescript/conformance/player.ts',
    "import { connect } from '../src/client.js';",
    /player may not import client/,
  ],
  ['clients/typescript/conformance/player.ts', "import { Held } from '#client/turns/held-turn';", /by that name/],
  ['src/utils/strings.ts', '', /stands in no room/],
  ['src/grpc/server.ts', "import { join } from '../strings.js';", /src\/strings.ts stands in no room/],
];

for (const [path, text, wrong] of REFUSED) {
  test(`refused: ${path}: ${text}`, () => match(check(path, text), wrong));
}

test('the line of the import is told', () => {
  match(check('src/core/lane.ts', "\n\nimport { parse } from 'yaml';"), /^src\/core\/lane\.ts:3: /);
});

test('a cycle of rooms at run time is found, one of types is none', () => {
  const port = { path: 'src/coordinator.ts', text: "import { Loop } from './local/loop.js';" };
  const local = { path: 'src/local/loop.ts', text: "import { DEFAULT } from '../coordinator.js';" };
  deepStrictEqual(runTimeCycles([port, local]), ['port -> local -> port']);
  const typesOnly = { path: local.path, text: "import type { Coordinator } from '../coordinator.js';" };
  deepStrictEqual(runTimeCycles([port, typesOnly]), []);
});
