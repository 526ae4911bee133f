/** What one sidecar tells of its cluster: from what it saw, and what homes answered. */
import type { ClusterView, HomeState, HomeView, MemberView } from '../../coordinator.js';
import type { Member } from '../registry/registry.js';
import type { ClusterRecord, Guard } from '../store/cluster-store.js';
import type { Ownership } from './ownership.js';
import { type Pins, pinText } from './pins.js';
import { routeViews } from './route-view.js';

/** What the home of a partition answered. */
export interface HomeAnswer {
  readonly queues: number;
  /** Unset: it answered. */
  readonly why: string | undefined;
}

export interface SeenCluster {
  readonly name: string;
  readonly store: string;
  readonly registry: string;
  readonly format: number;
  readonly members: readonly Member[];
  /** By partition. */
  readonly guards: readonly Guard[];
  readonly pins: Pins;
  readonly record: ClusterRecord;
  /** By partition. */
  readonly answers: readonly HomeAnswer[];
  /** What this sidecar is to a partition. */
  own(partition: number): Ownership['at'];
}

export function clusterView(seen: SeenCluster): ClusterView {
  const { name, store, registry, format, members, guards, pins, answers } = seen;
  const live = new Set(members.map(({ id }) => id));
  const homes = guards.map((guard): HomeView => {
    const { partition, epoch } = guard;
    const state = stateOf(seen, guard, live);
    const member = state === 'none' ? '' : guard.member;
    const pin = pins.get(partition);
    const pinned = pin === undefined ? '' : pinText(pin);
    return { partition, member, epoch, state, queues: answers[partition]?.queues ?? 0, pinned };
  });
  const unavailable = answers.flatMap(({ why }, partition) => (why === undefined ? [] : { partition, why }));
  const counts = new Map<string, number>();
  for (const { member } of homes) counts.set(member, (counts.get(member) ?? 0) + 1);
  return {
    name,
    partitions: guards.length,
    store,
    registry,
    format,
    members: members.map((member) => memberView(member, counts.get(member.id) ?? 0)),
    homes,
    unavailable,
    routes: routeViews(seen.record),
    routesVersion: seen.record.version,
  };
}

function stateOf(
  { own, answers }: SeenCluster,
  { partition, owner, member }: Guard,
  live: ReadonlySet<string>,
): HomeState {
  const at = own(partition);
  if (at !== 'free') return at;
  if (owner === '' || !live.has(member)) return 'none';
  const answer = answers[partition];
  return answer !== undefined && answer.why === undefined ? 'open' : 'unreachable';
}

function memberView(member: Member, partitions: number): MemberView {
  const { id, name, address, grpc, version, weight, isLeaving } = member;
  return { id, name, peer: address, address: grpc, version, weight, state: isLeaving ? 'leaving' : 'live', partitions };
}
