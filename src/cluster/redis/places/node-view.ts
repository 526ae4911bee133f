/** What one node of a Redis Cluster says of all of them. */
import { type EngineHost, hostName } from '../../address/engine-address.js';

export interface SeenNode extends EngineHost {
  readonly id: string;
  readonly isMaster: boolean;
  /** Of two masters that claim a slot the one with the larger one has it: so Redis itself decides. */
  readonly epoch: number;
  readonly slots: readonly (readonly [from: number, to: number])[];
}

export interface NodeView {
  /** The id of the node that said it. */
  readonly by: string;
  readonly nodes: readonly SeenNode[];
  /** The same text: the same view. */
  readonly text: string;
}

/**
 * `CLUSTER NODES` has the epochs, which `CLUSTER SHARDS` and `CLUSTER SLOTS` have not; `CLUSTER SLOTS` has where clients are to
 * connect (a name for TLS, or the host that was asked).
 *
 * @param asked who said it; @param ends answer of `CLUSTER SLOTS`
 * @returns undefined: it is no such answer
 */
export function nodeView(asked: EngineHost, lines: string, ends: unknown): NodeView | undefined {
  const clientEnds = clientEndsIn(asked, ends);
  let by: string | undefined;
  const nodes = lines.split('\n').flatMap((line) => {
    const [id, place = '', flagList = '', , , , epoch, , ...slots] = line.trim().split(' ');
    if (id === undefined || epoch === undefined) return [];
    const flags = flagList.split(',');
    const isSelf = flags.includes('myself');
    if (isSelf) by = id;
    const at = clientEnds.get(id) ?? placeIn(place, isSelf ? asked.host : undefined);
    if (at === undefined || flags.includes('handshake')) return [];
    return [{ ...at, id, isMaster: flags.includes('master'), epoch: Number(epoch), slots: slots.flatMap(rangeIn) }];
  });
  if (by === undefined) return undefined;
  const text = nodes
    .map((node) => `${node.id} ${hostName(node)} ${node.isMaster} ${node.epoch} ${node.slots.join(' ')}`)
    .join('\n');
  return { by, nodes, text };
}

/** Of `10.0.0.1:7000@17000,name`. A node that has heard from nobody yet does not know its own host. */
function placeIn(place: string, own: string | undefined): EngineHost | undefined {
  const [, said = '', port] = /^(.*):(\d+)@\d+/.exec(place) ?? [];
  const host = said === '' ? own : said;
  return host === undefined || port === undefined || port === '0' ? undefined : { host, port: Number(port) };
}

/** One that is under way stands in brackets: it is still here. */
function rangeIn(word: string): readonly (readonly [number, number])[] {
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(word) ?? [];
  return from === undefined ? [] : [[Number(from), Number(to)]];
}

/** By id. Of each range: from, to, and nodes with host, port and id. */
function clientEndsIn(asked: EngineHost, answer: unknown): ReadonlyMap<string, EngineHost> {
  const ends = new Map<string, EngineHost>();
  for (const range of listOf(answer)) {
    for (const node of listOf(range).slice(2)) {
      const [said, port, id] = listOf(node);
      // Without a host it is the one by which the node was asked.
      const host = said === null || said === '' ? asked.host : String(said);
      if (typeof id === 'string' && host !== '?') ends.set(id, { host, port: Number(port) });
    }
  }
  return ends;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
