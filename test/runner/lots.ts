/** Which processes of tests a run with a budget of time begins with. */
import { Chance } from '../sim/random.js';

/**
 * All of them by lot, one of each room first: so that a short run has some of everything.
 *
 * @param processes the files of each
 */
export function drawn(processes: readonly (readonly string[])[], seed: number): readonly (readonly string[])[] {
  const chance = new Chance(seed);
  const left = [...processes];
  const lots = processes.map(() => left.splice(chance.int(0, left.length - 1), 1)[0] ?? []);
  const rooms = new Set<string>();
  const isFirst = lots.map(([path = '']) => rooms.size < rooms.add(roomOf(path)).size);
  return [...lots.filter((_, at) => isFirst[at]), ...lots.filter((_, at) => !isFirst[at])];
}

/** `test/cluster/member/x.test.ts` is of `test/cluster`. */
function roomOf(path: string): string {
  return path.split('/').slice(0, 2).join('/');
}
