/** The house keeps its rules: who imports whom, what the core must not know, how files are named and how long they are. */
import { strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { isGenerated } from './clients/generated.js';
import { unusedExports } from './project/exports.js';
import { checkFloors, fileCircles, HOUSES } from './project/floors.js';
import { read, sources, tracked } from './project/repository.js';
import { checkRooms, runTimeCycles } from './project/rooms.js';
import { checkNames, checkNoAny, checkPurity, checkSizes, checkTime, checkWriter } from './project/style.js';
import { checkTraces } from './project/traces.js';

const src = sources('src');
const client = sources('clients/typescript/src');
const conformance = [...sources('clients/conformance'), ...sources('clients/typescript/conformance')];
const page = sources('console');
const tests = [...sources('test'), ...sources('bench'), ...sources('deploy')];
const all = [...src, ...client, ...conformance, ...page, ...tests];

function nothingWrong(found: readonly string[]): void {
  strictEqual(found.join('\n'), '');
}

test('there is something to look at', () => {
  strictEqual(src.length > 60, true, `${src.length} files below src`);
  strictEqual(tracked().length > 80, true, `${tracked().length} tracked files`);
});

test('every room imports only what it may', () => {
  nothingWrong(checkRooms([...src, ...client, ...conformance, ...page], productionDependencies()));
});

test('no cycle of rooms at run time', () => {
  nothingWrong(runTimeCycles([...src, ...client, ...conformance, ...page]));
});

test('rooms stand on floors and import downhill', () => {
  nothingWrong(HOUSES.flatMap((house) => checkFloors(house, [...src, ...client])));
});

test('no circle of files, type imports included', () => {
  nothingWrong(fileCircles([...src, ...client, ...page]));
});

/** What is there for tests, and why. It shrinks. */
const FOR_TESTS = {
  'console/wire/clock.ts narrowed': 'what dates say together, without a clock that moves',
  'console/wire/stream.ts Frames': 'messages in pieces of every size, which no connection makes on demand',
  'src/grpc/call/transport.ts serverOptions':
    'a connection grows old within a test, with all other options as they are',
  'src/cluster/member/deadline.ts MARGIN': 'what a deadline is before the end of a session, to the millisecond',
  'src/cluster/store/partition/encode.ts copyOf': 'the engine in memory keeps what it is given, as one elsewhere does',
  'src/cluster/store/partition/guard.ts nextEpoch': 'the engine in memory counts epochs as all engines do',
};

test('nothing is exported that nobody imports', () => {
  const entries = new Set(['clients/typescript/src/index.ts']);
  nothingWrong(unusedExports({ files: [...src, ...client, ...page], tests, entries, forTests: FOR_TESTS }));
});

test('the core knows no clock, chance, promise, timer, process or console', () => {
  nothingWrong(checkPurity(src.filter(({ path }) => path.startsWith('src/core/'))));
});

const ITEM_PHASE = 'src/core/items/item-phase.ts';

test('one file writes the phase of an item, and the indexes that go with it', () => {
  const writes = /(\bitem\.phase = |\bqueue\.(items|deadLetters)\.(set|setAgain|setOld|delete)\()/;
  const core = src.filter(({ path }) => path.startsWith('src/core/'));
  const writers = core.filter(({ text }) => writes.test(text)).map(({ path }) => path);
  strictEqual(writers.join('\n'), ITEM_PHASE);
});

test('the client knows time and chance by its clock only', () => {
  nothingWrong(checkTime(client.filter(({ path }) => path !== 'clients/typescript/src/time/clock.ts')));
});

test("one file writes a lane's phase", () => {
  const others = src.filter(({ path }) => path !== ITEM_PHASE);
  nothingWrong(checkWriter(others, 'phase', 'src/core/lane/phase.ts'));
});

test('no any', () => {
  nothingWrong(checkNoAny(all));
});

test('no file of src, of the client, of the page or of the conformance suite has 400 lines', () => {
  nothingWrong(checkSizes([...src, ...client, ...conformance, ...page]));
});

test('no file is called utils, common or index', () => {
  nothingWrong(checkNames(all.map(({ path }) => path)));
});

test('no tracked file names a path of a machine or the host of a package registry', () => {
  // What a generator writes is its own.
  const written = tracked().filter(({ path, text }) => !path.endsWith('.go') || !isGenerated(text));
  nothingWrong(checkTraces(written, process.env['npm_config_registry']));
});

function productionDependencies(): readonly string[] {
  const manifest: unknown = JSON.parse(read('package.json').text);
  const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null;
  const dependencies = isRecord(manifest) ? manifest['dependencies'] : undefined;
  return isRecord(dependencies) ? Object.keys(dependencies) : [];
}
