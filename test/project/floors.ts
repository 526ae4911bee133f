/** The floors of the house: who may stand on whom, and that nothing goes round in a circle. */
import { posix } from 'node:path';
import type { TextFile } from './repository.js';
import { sourceWords } from './source-words.js';

export interface Floor {
  /** Folders below the house; '' are the files at its top. On one floor, they do not know each other. */
  readonly rooms: readonly string[];
  /** Of each room, in their order: what it is for. It is the first line of the room's README.md. */
  readonly rules: readonly string[];
}

export interface House {
  readonly folder: string;
  /** From the ground up: a room imports rooms further down, and its own files. */
  readonly floors: readonly Floor[];
}

export const CORE: House = {
  folder: 'src/core',
  floors: [
    {
      rooms: ['contract'],
      rules: [
        'The words: requests, answers, views, policy, limits, settings, refusals, rows. Types and frozen values.',
      ],
    },
    {
      rooms: ['structures'],
      rules: ['Data structures that would serve any program: they know no queue, lane, turn or item.'],
    },
    { rooms: ['state'], rules: ['What the core knows: records, counts, indexes, marks. It decides nothing.'] },
    { rooms: ['items'], rules: ['What becomes of a message: finished, failed, put back, dead, remembered.'] },
    {
      rooms: ['lane', 'leaders'],
      rules: [
        "One key's machine: turns, leases, tickets, arrivals, gates, take-over.",
        "One group's machine: who stands, who leads, in which phase of its career, and what it leaves.",
      ],
    },
    { rooms: ['admission'], rules: ['How a batch gets in: capacity, acceptance, waiting for room, dependencies.'] },
    {
      rooms: ['durability', 'dispatch'],
      rules: [
        'Changes to rows, and rows back to state. Rooms further down know the ChangeLog of state/ only.',
        'How turns that are ready get out, and what the end of a step does.',
      ],
    },
    { rooms: ['calls'], rules: ['One call a file: check, do, answer.'] },
    { rooms: ['calls/admin'], rules: ['What people ask and do: explain, list, operate, dead letters, statistics.'] },
    { rooms: [''], rules: ['Whose moment has come (time.ts), and the face of it all (core.ts).'] },
  ],
};

export const GRPC: House = {
  folder: 'src/grpc',
  floors: [
    { rooms: ['convert'], rules: ['Messages to words of the port and back; what is wrong in a message.'] },
    { rooms: ['call'], rules: ['What is around every call: transport, deadlines, status, streams, handlers.'] },
    { rooms: ['session/codec'], rules: ['Messages of a session, read and written without what costs time.'] },
    { rooms: ['session'], rules: ['One stream of a worker: its commands, its answers, how much of it is under way.'] },
    { rooms: ['services'], rules: ['One service a file: coordinator, admin, leader, health, reflection.'] },
    { rooms: ['server'], rules: ['Where it listens, with which certificates, for how many connections.'] },
    { rooms: ['peer/codec'], rules: ['What travels between sidecars, to bytes and back, with nothing of it lost.'] },
    { rooms: ['peer'], rules: ['Links between sidecars: a coordinator of another process, used as if it were here.'] },
  ],
};

export const JOURNAL: House = {
  folder: 'src/local/journal',
  floors: [
    { rooms: [''], rules: ['What is asked of a journal (journal.ts), and how one fails (failures.ts).'] },
    {
      rooms: ['codec', 'checks'],
      rules: [
        'Rows to bytes and back.',
        'What a data file looks like from outside, before the library is trusted with it.',
      ],
    },
    { rooms: ['lmdb'], rules: ['The journal on LMDB: its directory, its tables, its batches.'] },
  ],
};

export const CLUSTER: House = {
  folder: 'src/cluster',
  floors: [
    {
      rooms: ['address'],
      rules: [
        'How an engine is addressed that a cluster uses: one URL, with several hosts where the engine has several.',
      ],
    },
    {
      rooms: ['store', 'registry'],
      rules: [
        'What is kept for a cluster: rows of all partitions, and the guard that keeps two homes apart.',
        'Who is a member of the cluster. It gives liveness only: what keeps two homes apart is the guard in the store.',
      ],
    },
    {
      rooms: ['store/partition'],
      rules: ['The journal of one partition over any engine: numbered batches, what became of them, and repair.'],
    },
    {
      rooms: ['connections'],
      rules: [
        'Connections with a server: as many as are needed, each of them opened again when it is lost, and what is asked on them.',
      ],
    },
    {
      rooms: ['redis'],
      rules: ['A Redis as the store and the registry use it: its address, its connections, its scripts, its errors.'],
    },
    {
      rooms: ['redis/places'],
      rules: [
        'Where keys stand: all at one Redis, or each at the master of a Redis Cluster that has its slot, wherever that moves.',
      ],
    },
    { rooms: ['etcd'], rules: ['An etcd as the registry uses it: its address, its calls, its errors.'] },
    {
      rooms: ['zookeeper'],
      rules: [
        'ZooKeeper as the registry uses it: its address, the part of its protocol that is needed, connections, sessions, errors.',
      ],
    },
    {
      rooms: ['postgres'],
      rules: [
        'A PostgreSQL as the store and the registry use it: its address, its connections, its tables, its errors.',
      ],
    },
    {
      rooms: [
        'store/redis',
        'registry/redis',
        'store/postgres',
        'registry/postgres',
        'registry/etcd',
        'registry/zookeeper',
      ],
      rules: [
        'The store on Redis: scripts that look at the guard, where rows stand, and how they are read back.',
        'The registry on Redis: a key for each member, which ends by itself.',
        'The store on PostgreSQL: a statement for each batch, with the guard in it, where rows stand, and how they are read back.',
        "The registry on PostgreSQL: a row for each member, with the moment until which it counts by the server's clock.",
        'The registry on etcd: a key for each member, with a lease that it keeps alive.',
        'The registry on ZooKeeper: an ephemeral sequential node for each member, of which each watches the next smaller one.',
      ],
    },
    { rooms: ['engines'], rules: ['Which engine an address means: store and registry, opened.'] },
    {
      rooms: ['partitions'],
      rules: ['Which partition something belongs to, which member is wanted as its home, and whose it is.'],
    },
    {
      rooms: ['routing', 'member'],
      rules: [
        'Where a call goes: all partitions as one coordinator, wherever their homes are.',
        'A sidecar as a member of the cluster: joins, claims partitions, is their home, hands them over.',
      ],
    },
    { rooms: [''], rules: ['Many sidecars as one: who is home of which partition, and where a call goes.'] },
  ],
};

export const CLIENT: House = {
  folder: 'clients/typescript/src',
  floors: [
    { rooms: ['time'], rules: ['The clock and chance, and what waits by the clock or for a signal.'] },
    { rooms: ['words'], rules: ['Calls, answers, errors and options: types, and what is wrong with a value.'] },
    {
      rooms: ['retry', 'tracing', 'wire'],
      rules: [
        'When a call is tried again, and for how long.',
        'Spans of OpenTelemetry, where an application has its API; nothing where it has not.',
        'Words to messages of the proto and back, statuses of gRPC to errors.',
      ],
    },
    {
      rooms: ['connection', 'turns'],
      rules: [
        'The connection to a sidecar, and its TLS.',
        'A turn that is held: renewed, confirmed, and lost in time; a handler that runs under it.',
      ],
    },
    {
      rooms: ['session', 'unary'],
      rules: [
        'The calls of a worker on one stream that breaks and comes back.',
        'Calls each by itself: those of a worker without a session, and those of the administrator.',
      ],
    },
    { rooms: ['produce/spool'], rules: ['Items safe on disk until a sidecar takes them.'] },
    {
      rooms: ['consume', 'lead', 'produce'],
      rules: [
        'Handlers under a turn: withTurn, and consumers of queues.',
        'Careers of leaders: candidacies on one stream, and the worker that is inaugurated, executes and hands over.',
        'Items on their way in: submit, producers, and the result of an item.',
      ],
    },
    { rooms: [''], rules: ['What is public (index.ts), and the client that puts the rooms together (client.ts).'] },
  ],
};

/** Every house of which the rooms stand on floors. */
export const HOUSES: readonly House[] = [CORE, GRPC, JOURNAL, CLUSTER, CLIENT];

/** @returns what is wrong, one sentence each */
export function checkFloors(house: House, files: readonly TextFile[]): readonly string[] {
  const floorOf = new Map(house.floors.flatMap(({ rooms }, floor) => rooms.map((room) => [room, floor] as const)));
  return files
    .filter(({ path }) => path.startsWith(`${house.folder}/`) && !isGenerated(path))
    .flatMap((file) => {
      const room = roomIn(house, file.path);
      const floor = floorOf.get(room);
      if (floor === undefined) return [`${file.path}: stands in no room of ${house.folder}`];
      return targetsOf(file).flatMap(({ target, line }) => {
        if (!target.startsWith(`${house.folder}/`) || isGenerated(target)) return [];
        const there = roomIn(house, target);
        const below = floorOf.get(there);
        if (there === room || (below !== undefined && below < floor)) return [];
        return [`${file.path}:${line}: ${room || 'the top'} may not import ${there || 'the top'} (${target})`];
      });
    });
}

/** It stands beside the rooms: who may see it is told by the check of rooms. */
function isGenerated(path: string): boolean {
  return path.startsWith('src/grpc/gen/') || path.startsWith('clients/typescript/src/gen/');
}

function roomIn(house: House, path: string): string {
  const folder = posix.dirname(path.slice(house.folder.length + 1));
  return folder === '.' ? '' : folder;
}

/** @returns circles of files, type imports included, as `a -> b -> a`; of each knot of files one */
export function fileCircles(files: readonly TextFile[]): readonly string[] {
  const graph = new Map(
    files.map((file) => [file.path.replace(/\.tsx$/, '.ts'), targetsOf(file).map(({ target }) => target)]),
  );
  const circles: string[] = [];
  const done = new Set<string>();
  for (const start of graph.keys()) {
    const circle = done.has(start) ? undefined : circleFrom(graph, start, done);
    if (circle !== undefined) circles.push(circle.join(' -> '));
  }
  return circles;
}

/** Depth first, without recursion of its own depth in files. Everything that was seen is done afterwards. */
function circleFrom(
  graph: ReadonlyMap<string, readonly string[]>,
  start: string,
  done: Set<string>,
): readonly string[] | undefined {
  const path: string[] = [start];
  const next: number[] = [0];
  let found: readonly string[] | undefined;
  while (path.length > 0) {
    const at = path[path.length - 1] ?? '';
    const index = next[next.length - 1] ?? 0;
    const target = graph.get(at)?.[index];
    next[next.length - 1] = index + 1;
    if (target === undefined) {
      done.add(at);
      path.pop();
      next.pop();
    } else if (path.includes(target)) found ??= [...path.slice(path.indexOf(target)), target];
    else if (graph.has(target) && !done.has(target)) {
      path.push(target);
      next.push(0);
    }
  }
  return found;
}

function targetsOf({ path, text }: TextFile): readonly { readonly target: string; readonly line: number }[] {
  return sourceWords(text, path)
    .imports.filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier, line }) => ({
      target: posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts'),
      line,
    }));
}
