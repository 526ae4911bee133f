/** Which test files `npm test` runs, in which order, and which of them share a process. */

/**
 * Rooms whose tests leave nothing behind in their process: a Node for each file costs more than most of these files.
 * `test/project/shared-processes.test.ts` checks the rule.
 */
export const SHARED_ROOMS: readonly string[] = [
  'access',
  'bench',
  'clients/typescript',
  'config',
  'conformance',
  'core',
  'cluster/member',
  'cluster/partitions',
  'cluster/routing',
  'designs',
  'grpc',
  'local/durable',
  'local/journal',
  'mixed',
  'model',
  'project',
  'release',
  'support',
  'wire',
].map((room) => `test/${room}/`);

/** The same of files whose rooms start processes: they start none, and take little time. */
export const SHARED_FILES: ReadonlySet<string> = new Set(
  [
    'architecture',
    'cli/output',
    'cli/replay/ledger',
    'cli/replay/readers',
    'cli/replay/summary',
    'cli/serve/access',
    'cli/serve/cluster/agreed-registry',
    'cli/serve/cluster/own-address',
    'cli/serve/cluster/spread-log',
    'cli/serve/cluster-first-look',
    'cli/serve/cluster-record',
    'cli/serve/cluster-told',
    'cli/serve/homeless',
    'cli/serve/memory-budget',
    'cli/serve/new-routes',
    'cli/serve/open-files',
    'cli/serve/partitions-by-state',
    'cli/serve/readiness',
    'cli/serve/unused-keys',
    'cli/sidecar-errors',
    'cli/traffic',
    'clients/cluster/left-out',
    'cluster/fake-registry',
    'cluster/fake-store',
    'cluster/import-cuts',
    'cluster/postgres-says',
    'cluster/redis-rights',
    'cluster/redis-says',
    'cluster/redis-slots',
    'cluster/ring',
    'cluster/rows-ahead',
    'cluster/store-random',
    'cluster/zookeeper/codec',
    'console/server/api',
    'console/server/events',
    'console/server/feed',
    'console/server/login',
    'console/server/origin',
    'console/server/page',
    'console/server/streams',
    'console/size',
    'console/words',
    'crash/ledger',
    'http/places',
    'http/server',
    'local/closing',
    'local/loop',
    'local/stats-in-slices',
    'local/watches',
    'observability/queue-label',
  ].map((file) => `test/${file}.test.ts`),
);

const CERTIFICATES = 'makes its certificates once, in a hook of the whole file';
const WAITS = 'waits for processes of its own, and would hold up the files behind it';

/** Of these rooms: files that need a process of their own, and why. */
export const APART: Readonly<Record<string, string>> = {
  'test/core/memory.test.ts': 'looks at the heap of its process',
  'test/clients/typescript/session-codec.test.ts': 'a sidecar changes how text is decoded in its whole process',
  'test/clients/typescript/tls.test.ts': CERTIFICATES,
  'test/config/tls.test.ts': CERTIFICATES,
  'test/grpc/access/certificates.test.ts': CERTIFICATES,
  'test/grpc/server/tls.test.ts': CERTIFICATES,
  'test/support/certificates.test.ts': CERTIFICATES,
  'test/bench/failover.test.ts': WAITS,
  'test/bench/load.test.ts': WAITS,
  'test/bench/new-rows.test.ts': WAITS,
  'test/clients/typescript/address.test.ts': 'changes the environment of its process',
  'test/clients/typescript/application.test.ts': WAITS,
  'test/clients/typescript/crash.test.ts': WAITS,
  'test/clients/typescript/processes/clocks.test.ts': WAITS,
  'test/clients/typescript/processes/sidecar-killed.test.ts': WAITS,
  'test/clients/typescript/processes/worker-killed.test.ts': WAITS,
  'test/clients/typescript/readme.test.ts': WAITS,
  'test/conformance/play.test.ts': WAITS,
  'test/local/journal/crash.test.ts': WAITS,
  'test/mixed/mixed.test.ts': WAITS,
  'test/model/property.test.ts': 'computes for as long as its budget lasts',
};

/** Files of one process at most: several processes, so that all processors have work until the end. */
const MOST_TOGETHER = 12;

/** What waits for processes and stores comes first, so that the rest fills the processors beside it. */
const FIRST = ['test/cluster/', 'test/cli/', 'test/crash/', 'test/clients/', 'test/console', 'test/contract/'];

export function sharesProcess(path: string): boolean {
  if (SHARED_FILES.has(path)) return true;
  return SHARED_ROOMS.some((room) => path.startsWith(room)) && !Object.hasOwn(APART, path);
}

/** @param words parts of paths; those that begin with `!` leave files out */
export function chosen(paths: readonly string[], words: readonly string[]): readonly string[] {
  const wanted = words.filter((word) => !word.startsWith('!'));
  const left = words.filter((word) => word.startsWith('!')).map((word) => word.slice(1));
  return paths
    .filter((path) => path.endsWith('.test.ts') && (wanted.length === 0 || wanted.some((word) => path.includes(word))))
    .filter((path) => !left.some((word) => path.includes(word)));
}

/** Each element is the files of one process, in the order in which the processes start. */
export function processesOf(paths: readonly string[]): readonly (readonly string[])[] {
  const alone = paths.filter((path) => !sharesProcess(path)).sort((a, b) => rank(a) - rank(b));
  const together = paths.filter(sharesProcess);
  const count = Math.ceil(together.length / MOST_TOGETHER);
  // Dealt out in turn: files that take long stand beside each other in one room.
  const groups = Array.from({ length: count }, (_, at) => together.filter((__, other) => other % count === at));
  return [...alone.map((path) => [path]), ...groups];
}

function rank(path: string): number {
  const at = FIRST.findIndex((room) => path.startsWith(room));
  return at === -1 ? FIRST.length : at;
}
