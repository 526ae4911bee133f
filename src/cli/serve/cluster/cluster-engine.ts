/** A sidecar of a cluster: opens store and registry, joins, links itself to the others, routes every call. */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { finalize } from '../../../cluster/member/finalizing.js';
import { Following } from '../../../cluster/member/following.js';
import { GatewayHomes } from '../../../cluster/member/gateway.js';
import type { Happening } from '../../../cluster/member/happenings.js';
import { ClusterMember } from '../../../cluster/member/member.js';
import { MemberCounts } from '../../../cluster/member/member-counts.js';
import { asRefusal, Moving } from '../../../cluster/member/moving.js';
import { Rerouting } from '../../../cluster/member/rerouting.js';
import { Restoring } from '../../../cluster/member/restoring.js';
import { clusterView } from '../../../cluster/partitions/cluster-view.js';
import { FollowedRoutes } from '../../../cluster/partitions/followed-routes.js';
import { policiesIn, settingsOf } from '../../../cluster/partitions/partition-settings.js';
import type { HomeEntry, Registry } from '../../../cluster/registry/registry.js';
import { ClusterCoordinator } from '../../../cluster/routing/cluster-coordinator.js';
import type { ClusterRecord, ClusterStore } from '../../../cluster/store/cluster-store.js';
import { FORMAT } from '../../../cluster/store/format.js';
import type { ClusterSettings } from '../../../config/cluster-settings.js';
import type { Config } from '../../../config/config.js';
import type {
  Cluster,
  ClusterFunctions,
  ClusterNumbers,
  ClusterView,
  Coordinator,
  Result,
  SlowTurn,
} from '../../../coordinator.js';
import { SharedUse } from '../../../core/core.js';
import type { Audited } from '../../../grpc/call/audit.js';
import { systemClock } from '../../../local/clock.js';
import { HomeCoordinator } from '../../../local/home.js';
import type { Logger } from '../../../observability/logger.js';
import type { Engine } from '../engine.js';
import { agreeOnRegistry } from './agreed-registry.js';
import { failStore } from './fail-store.js';
import { agreeAfterLook } from './first-look.js';
import { Forwarded } from './forwarded.js';
import { logHeldUp } from './held-up-log.js';
import { homelessText } from './homeless.js';
import { lastSeen } from './last-seen.js';
import { openEngines } from './open-engines.js';
import { PartitionLog } from './partition-log.js';
import { clusterCounts } from './partitions-by-state.js';
import { reachedAt } from './peer-address.js';
import { type Peers, startPeers } from './peers.js';
import { readsAhead } from './reads-ahead.js';
import { tellSpread } from './spread-log.js';
import { Standing } from './standing.js';
import { TakingIn, takeInBefore } from './taking-in.js';
import { TroubleLog } from './trouble-log.js';

/** A link to a member that a partition is handed over to, though it is the home of nothing yet, ms. */
const KEEPS_LINK = 10_000;
/** How often it is looked whether it is ready, ms. */
const LOOK_EVERY = 250;

interface ClusterOptions {
  readonly log: Logger;
  readonly version: string;
  /** Unset: there is no audit. */
  readonly audited: Audited | undefined;
  /** Told why it is not ready, whenever that changes; unset: it is. */
  readonly onReadiness: (why: string | undefined) => void;
  readonly onSlow: (turn: SlowTurn) => void;
  readonly onUnusedKey: (queue: string) => void;
}

/** @throws CommandFailure; nothing is left open then */
export async function openCluster(config: Config, cluster: ClusterSettings, options: ClusterOptions): Promise<Engine> {
  const opened: { close(): unknown }[] = [];
  try {
    const { store, registry } = await openEngines(cluster, options.log);
    opened.push(store, registry);
    const members = () => registry.members().catch(failStore('registry'));
    const first = { store, registry: { members }, cluster, settings: config.coordinator, clock: systemClock };
    const found = await agreeAfterLook(first).catch(failStore('store'));
    const record = await agreeOnRegistry({ ...first, record: found }).catch(failStore('store'));
    const standing = new Standing();
    const routes = new FollowedRoutes(record);
    tellSpread(record.routes, options.log);
    const living = await members();
    if (living.length > 0) {
      const settings = config.coordinator;
      await takeInBefore({ clock: systemClock, store, registry, routes, settings, log: options.log });
    }
    const peers = await startPeers({ cluster, routes, standing, limits: config.coordinator.limits, ...options });
    opened.push(peers);
    return new ClusterEngine({ config, cluster, routes, store, registry, peers, standing, ...options });
  } catch (error) {
    await Promise.all(opened.map((one) => one.close()));
    throw error;
  }
}

interface Parts extends ClusterOptions {
  readonly config: Config;
  readonly cluster: ClusterSettings;
  readonly routes: FollowedRoutes;
  readonly store: ClusterStore;
  readonly registry: Registry;
  readonly peers: Peers;
  readonly standing: Standing;
}

class ClusterEngine implements Engine {
  readonly isNew = false;
  readonly coordinator: ClusterCoordinator;
  readonly cluster: Cluster;
  readonly #takingIn: TakingIn;
  /** Members that partitions are handed over to, until when they are kept a link, by the clock. */
  readonly #next = new Map<string, number>();
  readonly #homes: ClusterMember | GatewayHomes;
  /** Where clients reach it; empty: not yet. */
  #grpc = '';
  readonly #shared = new SharedUse();
  readonly #counts = new MemberCounts();
  readonly #forwarded = new Forwarded();
  readonly #partitionLog: PartitionLog;
  readonly #troubleLog: TroubleLog;
  #begun: Promise<void> | undefined;
  #look: NodeJS.Timeout | undefined;
  /** Null: nothing yet. */
  #told: string | undefined | null = null;
  #isClosed = false;
  /** The version of the routes that the log was told of. */
  #routesTold: number;
  #onReady: (() => void) | undefined;

  constructor(private readonly parts: Parts) {
    const { config, cluster, routes, standing, log } = parts;
    const { record, map } = routes.now;
    this.#routesTold = record.version;
    this.#partitionLog = new PartitionLog(log, systemClock);
    this.#troubleLog = new TroubleLog(log, systemClock);
    this.#homes = cluster.weight === 0 ? this.#gateway() : this.#member();
    standing.member = this.#homes instanceof ClusterMember ? this.#homes : undefined;
    const { member } = standing;
    this.coordinator = new ClusterCoordinator({
      homes: this.#homes,
      map,
      clock: systemClock,
      settings: config.coordinator,
      incarnation: randomUUID(),
      failed: (error) => {
        const id = randomUUID();
        log.error({ id, err: error }, 'a call that waited for a home failed inside the sidecar');
        return id;
      },
      ...(member && { leaving: member }),
    });
    this.#homes.onChange(() => this.#releaseGone());
    const { store, registry } = parts;
    const people = { clock: systemClock, store, registry, record, isEnded: () => this.#isClosed };
    const moving = new Moving(people);
    const settings = config.coordinator;
    const rerouting = new Rerouting({ ...people, settings });
    this.#takingIn = new TakingIn({ ...people, settings, routes, rerouting, log, look: () => this.#homes.look() });
    const restoring = new Restoring({ ...people, record: () => this.#record, ttl: cluster.session });
    const calls: ClusterFunctions = {
      getCluster: () => this.#view(),
      movePartition: (request) => moving.move(request).catch(asRefusal),
      restorePartitions: (request) => restoring.restore(request).catch(asRefusal),
      finalizeCluster: () => finalize({ store, registry, cluster: this.#record.id, format: FORMAT }).catch(asRefusal),
      routeQueue: (request) => rerouting.route(request).catch(asRefusal),
    };
    this.cluster = { ask: (kind, request) => calls[kind](request) };
  }

  begin(): Promise<void> {
    this.#begun ??= this.#begin();
    return this.#begun;
  }

  async #begin(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onReady = resolve;
      this.#homes.start();
      this.#look = setInterval(() => this.#tell(), LOOK_EVERY);
      this.#tell();
    });
    await this.#takingIn.run();
    this.#tell();
    await this.parts.peers.proveAddress(() => this.#isClosed);
  }

  get remark(): string | undefined {
    const homeless = this.#homeless();
    if (homeless.size === 0) return undefined;
    return `${homeless.size} of ${this.#homes.partitions} partitions have no home that takes calls: ${homelessText(homeless)}`;
  }

  /** Partitions whose calls nobody takes now, as far as is known here, and why: a home that is not reached takes none, either. */
  #homeless(): ReadonlyMap<number, string> {
    const homes = this.#homes;
    const { links } = this.parts.peers;
    const homeless = new Map<number, string>();
    for (let partition = 0; partition < homes.partitions; partition += 1) {
      if (homes.isHere(partition)) continue;
      const home = homes.memberOf(partition);
      const why = home === undefined ? homes.whyNone(partition) : links.problemOf(home);
      if (why !== undefined) homeless.set(partition, why);
    }
    return homeless;
  }

  readonly listens = (grpc: string): void => {
    this.#grpc = reachedAt(grpc, this.parts.peers.address);
    if (this.#homes instanceof ClusterMember) this.#homes.listens(this.#grpc);
  };

  readonly numbers = (): ClusterNumbers => {
    const forwarded = this.#forwarded.counts(this.parts.peers.links.standing());
    return { ...this.#counts.numbers, ...clusterCounts(this.#homes, this.#homeless()), forwarded };
  };

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#look);
    this.#onReady?.();
    await this.coordinator.close();
    await this.#homes.close();
    this.#partitionLog.flush();
    this.#troubleLog.flush();
    this.parts.peers.links.close();
    await this.parts.peers.close();
    await this.parts.registry.close();
    await this.parts.store.close();
  }

  async #view(): Promise<Result<ClusterView>> {
    const { cluster, store, registry } = this.parts;
    const homes = this.#homes;
    const own = (partition: number) => (homes instanceof ClusterMember ? homes.standing(partition) : 'free');
    try {
      // The answer may be that of the next home, which was waited for: who that is is known afterwards.
      const answers = await this.coordinator.countQueues();
      const seen = await lastSeen(homes, store, registry, this.#record);
      const names = { name: cluster.name, store: store.name, registry: registry.name };
      return { ok: true, value: clusterView({ ...names, ...seen, answers, own }) };
    } catch (error) {
      return asRefusal(error);
    }
  }

  /** Joined, and the homes of partitions are known, as far as there are any. */
  get #notReady(): string | undefined {
    const homes = this.#homes;
    if (homes instanceof ClusterMember) {
      if (!homes.isLive) return `not a member of the cluster ${this.parts.cluster.name} now${this.#why}`;
      if (homes.view.guards.length === 0) return `the partitions were not read yet${this.#why}`;
    } else if (!homes.isKnown) return `the map of homes was not read yet${this.#why}`;
    // Whatever is sent here would be refused: after the store was emptied, say. A load balancer takes it out for nothing less.
    const homeless = this.#homeless();
    if (homeless.size < homes.partitions) return undefined;
    return `no partition has a home that takes calls: ${homelessText(homeless)}`;
  }

  get #why(): string {
    const { trouble } = this.#troubleLog;
    return trouble === undefined ? '' : `: ${trouble}`;
  }

  #tell(): void {
    const unready = this.#notReady;
    const why = unready ?? this.#takingIn.pending;
    if (why !== this.#told) this.parts.onReadiness(why);
    this.#told = why;
    if (unready !== undefined) return;
    this.#onReady?.();
    this.#onReady = undefined;
  }

  #gateway(): GatewayHomes {
    const { registry, store, routes } = this.parts;
    const following = new Following({
      clock: systemClock,
      store,
      routes,
      homes: () => [],
      rerouted: () => this.#rerouted(),
      trouble: (error) => this.#troubled(error, undefined),
    });
    return new GatewayHomes({
      clock: systemClock,
      registry,
      partitions: this.#record.partitions,
      catchUp: () => following.catchUp(),
      connect: (home) => this.#link(home, undefined),
      unlinked: (member) => this.parts.peers.links.problemOf(member),
      trouble: (error) => this.#troubled(error, undefined),
    });
  }

  get #record(): ClusterRecord {
    return this.parts.routes.now.record;
  }

  #rerouted(): void {
    this.coordinator.map = this.parts.routes.now.map;
    const { version } = this.#record;
    // Else another format of rows was fixed: the map knows what those may say.
    if (version !== this.#routesTold) this.parts.log.info({ version }, 'queues are routed anew');
    this.#routesTold = version;
  }

  #member(): ClusterMember {
    const { config, cluster, routes, registry, store, peers, version } = this.parts;
    const { record } = routes.now;
    const member: ClusterMember = new ClusterMember({
      clock: systemClock,
      store,
      registry,
      partitions: record.partitions,
      ttl: cluster.session,
      incarnation: () => ({
        id: randomUUID(),
        name: hostname(),
        address: peers.address,
        grpc: this.#grpc,
        version,
        format: FORMAT,
        weight: cluster.weight,
        isLeaving: false,
        routes: routes.version,
        reroutes: true,
        revision: routes.revision,
        cluster: record.id,
      }),
      makeHome: (options) =>
        new HomeCoordinator(settingsOf(config.coordinator, routes.now.map, options.partition.number), {
          ...options,
          shared: this.#shared,
          onSlow: this.parts.onSlow,
          onUnusedKey: this.parts.onUnusedKey,
        }),
      routes,
      ...policiesIn(config.coordinator, () => routes.now.map),
      rerouted: () => this.#rerouted(),
      heldUp: (heldUp) => logHeldUp(this.parts.log, heldUp),
      handingOver: ({ id, address }) => {
        this.#next.set(id, systemClock.now() + KEEPS_LINK);
        peers.links.prepare(address, id);
      },
      handedOver: (partition, { id, address }, shutFor) => peers.links.handedOver(address, id, partition, shutFor),
      readsAhead: readsAhead(peers.links, record.partitions, (number) =>
        settingsOf(config.coordinator, routes.now.map, number),
      ),
      unlinked: (home) => peers.links.problemOf(home),
      connect: (home) => this.#link(home, member.view.members.get(home.member)?.name),
      trouble: (error, partition) => this.#troubled(error, partition),
      watcher: {
        happened: (partition, what) => {
          this.#counts.happened(partition, what);
          this.#partitionLog.happened(partition, what);
          // It is served again, by whom that may be.
          if (what.kind === 'opened' || what.kind === 'succeeded' || isBack(what)) this.#troubleLog.ended(partition);
        },
        wrote: (ms, rows) => this.#counts.wrote(ms, rows),
      },
    });
    return member;
  }

  #link({ address, member, partition }: HomeEntry, name: string | undefined): Coordinator {
    this.#forwarded.linked(member, name);
    return this.parts.peers.links.connect(address, member, partition);
  }

  #troubled(error: Error | undefined, partition: number | undefined): void {
    if (error === undefined) this.#troubleLog.ended(partition);
    else this.#troubleLog.began(error, partition);
  }

  /** Links to incarnations that are the home of nothing any more. */
  #releaseGone(): void {
    const linked = this.parts.peers.links;
    const homes = this.#homes.elsewhere();
    const now = systemClock.now();
    for (const [id, until] of this.#next) if (until < now) this.#next.delete(id);
    for (const link of [...linked.standing()]) {
      if (homes.has(link.incarnation) || this.#next.has(link.incarnation)) continue;
      this.#forwarded.released(link);
      linked.release(link.incarnation);
    }
  }
}

function isBack(what: Happening): boolean {
  return what.kind === 'claimed' && what.how === 'warm';
}
