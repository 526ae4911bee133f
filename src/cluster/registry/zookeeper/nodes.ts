/** Where the registry of a cluster stands in ZooKeeper. */

export interface Places {
  /** Above what is ours: it has to be there. Empty: nothing is. */
  readonly chroot: string;
  /** What has to be there before anything else, one below the other. */
  readonly made: readonly string[];
  /** Below it a node for each member, that ends with its session. */
  readonly members: string;
  /** Below it a node for each partition. */
  readonly homes: string;
}

export function placesOf(chroot: string, cluster: string): Places {
  const root = `${chroot}/${nodeName(cluster)}`;
  const [members, homes] = [`${root}/members`, `${root}/homes`];
  return { chroot, made: [root, members, homes], members, homes };
}

/** `.` and `..` are names of nodes nowhere. */
function nodeName(text: string): string {
  return encodeURIComponent(text).replace(/^\.{1,2}$/, (dots) => dots.replaceAll('.', '%2E'));
}

/** A member's node, as its name says. */
interface MemberNode {
  readonly name: string;
  /** Of the member. */
  readonly id: string;
  /** The later it joined the larger. */
  readonly number: number;
}

/** What the name of a member's node begins with; the server adds the number. */
export function beginOf(id: string): string {
  return `${nodeName(id)}-`;
}

const NAME = /^(.*)-(-?\d{10})$/s;

/** @returns undefined: it is none of ours */
export function memberNode(name: string): MemberNode | undefined {
  const [, begin, number] = NAME.exec(name) ?? [];
  if (begin === undefined || number === undefined) return undefined;
  try {
    return { name, id: decodeURIComponent(begin), number: Number(number) };
  } catch {
    return undefined;
  }
}

/** Of each member its last node, in the order of their ids, so many at most. */
export function membersAmong(names: readonly string[], most: number): readonly MemberNode[] {
  const byId = new Map<string, MemberNode>();
  for (const name of names) {
    const node = memberNode(name);
    if (node !== undefined && node.number >= (byId.get(node.id)?.number ?? node.number)) byId.set(node.id, node);
  }
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, most);
}

/**
 * Whom a member watches: the one that joined last before it; the first one the last. So each is watched by one other, and the end of
 * one wakes one.
 *
 * @returns undefined: there is nobody else, or it is not there itself
 */
export function watchedBy(own: string, names: readonly string[]): string | undefined {
  const nodes = names.flatMap((name) => memberNode(name) ?? []).sort((a, b) => a.number - b.number);
  const at = nodes.findIndex(({ name }) => name === own);
  return at < 0 || nodes.length < 2 ? undefined : nodes.at(at - 1)?.name;
}
