import { it } from 'node:test';

/**
 * What stands behind the port: one coordinator, or a cluster of many partitions. There, what one step does over several queues
 * is promised within a group, and items are never kept in memory alone.
 */
export type World = 'alone' | 'one group' | 'many groups';

type Case = (name: string, run: () => void | Promise<void>) => void;

/** Cases that hold for queues of one group. */
export function casesOfGroup(world: World): Case {
  return world === 'many groups' ? () => undefined : inAll;
}

/** Cases about what a cluster does not have. */
export function casesAlone(world: World): Case {
  return world === 'alone' ? inAll : () => undefined;
}

const inAll: Case = (name, run) => void it(name, run);
