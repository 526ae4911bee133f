/** Who may import whom. */
import { posix } from 'node:path';
import type { TextFile } from './repository.js';
import { type Import, sourceWords } from './source-words.js';

const ROOMS = [
  'main',
  'cli',
  'config',
  'access',
  'port',
  'core',
  'designs',
  'local',
  'cluster',
  'grpc',
  'gen',
  'http',
  'console',
  'observability',
  'client',
  'client_gen',
  'suite',
  'player',
  'page',
  'page_gen',
] as const;
export type Room = (typeof ROOMS)[number];

/** Rooms that are not called as the folder below `src/` in which they stand. */
const NOT_FOLDERS: ReadonlySet<Room> = new Set([
  'main',
  'port',
  'gen',
  'client',
  'client_gen',
  'suite',
  'player',
  'page',
  'page_gen',
]);

interface Rule {
  /** Besides itself. */
  readonly rooms: readonly Room[];
  /** Packages, and `node:` for all of Node's own modules; `any`: whatever production depends on. */
  readonly packages: readonly string[] | 'any';
}

const RULES: Readonly<Record<Room, Rule>> = {
  main: { rooms: ['cli', 'observability'], packages: ['commander'] },
  cli: {
    rooms: [
      'config',
      'access',
      'port',
      'core',
      'designs',
      'local',
      'cluster',
      'grpc',
      'http',
      'console',
      'observability',
    ],
    packages: 'any',
  },
  config: { rooms: ['access', 'port', 'core', 'cluster'], packages: ['node:', 'yaml'] },
  access: { rooms: ['port'], packages: ['node:', 'jose', 'lru-cache'] },
  port: { rooms: ['core'], packages: [] },
  core: { rooms: [], packages: ['lru-cache'] },
  // A function of the traffic, as the core is one of its calls.
  designs: { rooms: ['core'], packages: ['hdr-histogram-js'] },
  local: { rooms: ['port', 'core'], packages: ['node:', 'lmdb'] },
  // Generated: what etcd is asked.
  cluster: { rooms: ['port', 'core', 'local', 'gen'], packages: ['node:', '@grpc/grpc-js', '@redis/client', 'pg'] },
  grpc: { rooms: ['access', 'port', 'gen'], packages: 'any' },
  gen: { rooms: [], packages: 'any' },
  http: { rooms: ['port'], packages: ['node:'] },
  // Calls go to the port, by the way of gRPC's services: nothing else leads into the coordinator.
  console: {
    rooms: ['access', 'port', 'grpc', 'http', 'observability'],
    packages: ['node:', '@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-node', 'lru-cache'],
  },
  observability: { rooms: ['port'], packages: 'any' },
  // A package of its own, which knows nothing of the sidecar but its proto.
  client: { rooms: ['client_gen'], packages: ['node:', '@grpc/grpc-js'] },
  client_gen: { rooms: [], packages: ['@bufbuild/protobuf', '@grpc/grpc-js'] },
  // The conformance suite starts sidecars and players as strangers do, and sees nothing of their insides.
  suite: { rooms: [], packages: ['node:', 'yaml', '@keyturn/client'] },
  // What an application writes: the client by its name. Redis: what the benchmark compares with.
  player: { rooms: [], packages: ['node:', '@keyturn/client', 'ioredis'] },
  // Runs in a browser, and knows nothing of the sidecar but the types of its messages.
  page: {
    rooms: ['page_gen'],
    packages: ['preact', '@preact/signals', '@tanstack/virtual-core', 'uplot'],
  },
  page_gen: { rooms: [], packages: [] },
};

/** Configuration knows the words and the built-in values of the core, not its machine. */
const CORE_FOR_CONFIG = 'src/core/contract/';
const GENERATED_FOR_CLUSTER = 'src/grpc/gen/etcdserverpb/';
/** And how engines are addressed, not how they are used. */
const CLUSTER_FOR_CONFIG = 'src/cluster/address/';

/** Generated types stop here: what checks and converts, the services, what starts them; the client's transports. */
const MAY_SEE_GENERATED =
  /^(src\/grpc\/(convert|session|session\/codec|services|peer)\/[a-z-]+|src\/grpc\/call\/status|src\/grpc\/server\/server|clients\/typescript\/src\/(wire|unary|session)\/[a-z-]+)\.ts$/;

/** The client's own package, by its name: for the commands, which are made of it, and for what tests it as an application would. */
const CLIENT_PACKAGE = '@keyturn/client';
/** Its insides, by the name that the root's package.json has for tests. */
const CLIENT_INSIDES = '#client/';
const MAY_USE_CLIENT: ReadonlySet<Room> = new Set(['cli', 'suite', 'player']);
/** Where it stands. */
const CLIENT = 'clients/typescript/src/';
const PLAYER = 'clients/typescript/conformance/';
const SUITE = 'clients/conformance/';
const PAGE = 'console/';

/** @returns the room of a file below `src/` or `clients/`, or undefined when it stands in none */
export function roomOf(path: string): Room | undefined {
  if (path === 'src/main.ts') return 'main';
  if (path === 'src/coordinator.ts') return 'port';
  if (path.startsWith('src/grpc/gen/')) return 'gen';
  if (path.startsWith(`${CLIENT}gen/`)) return 'client_gen';
  if (path.startsWith(`${PAGE}gen/`)) return 'page_gen';
  if (path.startsWith(PAGE)) return 'page';
  if (path.startsWith(CLIENT)) return 'client';
  if (path.startsWith(PLAYER)) return 'player';
  if (path.startsWith(SUITE)) return 'suite';
  const folder = path.match(/^src\/([a-z]+)\//)?.[1];
  return ROOMS.find((room) => room === folder && !NOT_FOLDERS.has(room));
}

/** @returns what is wrong, one sentence each */
export function checkRooms(files: readonly TextFile[], production: readonly string[]): readonly string[] {
  return files.flatMap((file) => {
    const room = roomOf(file.path);
    if (room === undefined) return [`${file.path}: stands in no room; the rooms are ${ROOMS.join(', ')}`];
    return sourceWords(file.text, file.path).imports.flatMap((found) => {
      const wrong = checkImport(file.path, room, found, production);
      return wrong === undefined ? [] : [`${file.path}:${found.line}: ${wrong}`];
    });
  });
}

function checkImport(from: string, room: Room, { specifier }: Import, production: readonly string[]) {
  return specifier.startsWith('.')
    ? checkFile(from, room, targetOf(from, specifier))
    : checkPackage(room, specifier, production);
}

function checkFile(from: string, room: Room, target: string): string | undefined {
  const there = roomOf(target);
  if (there === undefined) return `${target} stands in no room`;
  if (there !== room && !RULES[room].rooms.includes(there)) return `${room} may not import ${there} (${target})`;
  if (room === 'config' && there === 'core' && !target.startsWith(CORE_FOR_CONFIG))
    return `config may import only the words and built-in values of core, not ${target}`;
  if (room === 'config' && there === 'cluster' && !target.startsWith(CLUSTER_FOR_CONFIG))
    return `config may import only the addresses of cluster, not ${target}`;
  const isGenerated = (there === 'gen' && room === 'grpc') || (there === 'client_gen' && room === 'client');
  if (isGenerated && !MAY_SEE_GENERATED.test(from))
    return `generated code stops at the conversion, the services and the transports; this is none of them`;
  if (room === 'cluster' && there === 'gen' && !target.startsWith(GENERATED_FOR_CLUSTER))
    return `cluster may import only what is generated of engines, not ${target}`;
  return undefined;
}

function checkPackage(room: Room, specifier: string, production: readonly string[]): string | undefined {
  const { packages } = RULES[room];
  const name = packageOf(specifier);
  // What is not public of it is there for its own tests.
  const isClient = name === CLIENT_PACKAGE || specifier.startsWith(CLIENT_INSIDES);
  if (isClient && (!MAY_USE_CLIENT.has(room) || specifier !== CLIENT_PACKAGE))
    return `only ${[...MAY_USE_CLIENT].join(', ')} may import ${CLIENT_PACKAGE}, by that name; this is ${specifier} in ${room}`;
  if (packages !== 'any') return packages.includes(name) ? undefined : `${room} may not import ${specifier}`;
  if (name === 'node:' || production.includes(name)) return undefined;
  return `${specifier} is not among the production dependencies`;
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return 'node:';
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function targetOf(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
}

/** @returns the cycles of rooms that would be there at run time, as `a -> b -> a` */
export function runTimeCycles(files: readonly TextFile[]): readonly string[] {
  const edges = files.map(({ path, text }) => {
    const targets = sourceWords(text, path).imports.filter(
      ({ specifier, typeOnly }) => specifier.startsWith('.') && !typeOnly,
    );
    return { path, targets: targets.map(({ specifier }) => targetOf(path, specifier)) };
  });
  const ofRooms = new Map<string, Set<string>>();
  for (const { path, targets } of edges) {
    const from = roomOf(path) ?? path;
    const known = ofRooms.get(from) ?? new Set();
    for (const target of targets.map((file) => roomOf(file) ?? file)) if (target !== from) known.add(target);
    ofRooms.set(from, known);
  }
  return cyclesOf(ofRooms);
}

/** Depth first; one cycle for each edge that leads back. */
function cyclesOf(graph: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) {
      cycles.push([...path.slice(path.indexOf(node)), node].join(' -> '));
      return;
    }
    if (done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return cycles;
}
