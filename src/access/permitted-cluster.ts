/** The calls about a cluster, as far as their principal may ask them. */
import type { Cluster, ClusterAnswer, ClusterKind, ClusterRequest, Result } from '../coordinator.js';
import { CLUSTER_CALLS } from '../coordinator.js';
import { operatorRefusal } from './permitted-admin.js';
import type { Principal } from './principal.js';

export class PermittedCluster implements Cluster {
  constructor(
    private readonly cluster: Cluster,
    private readonly principal: Principal,
  ) {}

  async ask<K extends ClusterKind>(kind: K, request: ClusterRequest<K>): Promise<Result<ClusterAnswer<K>>> {
    const refusal = operatorRefusal(this.principal, CLUSTER_CALLS[kind], request);
    return refusal === undefined ? this.cluster.ask(kind, request) : { ok: false, refusal };
  }
}
