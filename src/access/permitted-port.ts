/** All that one principal may ask. */
import type {
  Administration,
  Calls,
  Cluster,
  Coordinator,
  Desk,
  Leaders,
  Result,
  Session,
  SessionListener,
} from '../coordinator.js';
import { PermittedCalls } from './permitted.js';
import { PermittedAdministration } from './permitted-admin.js';
import { PermittedCluster } from './permitted-cluster.js';
import { PermittedDesk } from './permitted-desk.js';
import { PermittedLeaders } from './permitted-leaders.js';
import { PermittedSession } from './permitted-session.js';
import type { Principal } from './principal.js';

export class PermittedPort {
  readonly calls: Calls;
  readonly admin: Administration;
  /** Unset: this sidecar stands alone. */
  readonly cluster: Cluster | undefined;
  readonly leaders: Leaders;
  /** Unset: it tells nothing of itself. */
  readonly desk: Desk | undefined;

  constructor(
    private readonly coordinator: Coordinator,
    cluster: Cluster | undefined,
    private readonly principal: Principal,
    desk?: Desk,
  ) {
    this.calls = new PermittedCalls(coordinator, principal);
    this.admin = new PermittedAdministration(coordinator.admin, principal);
    this.leaders = new PermittedLeaders(coordinator.leaders, principal);
    this.desk = desk && new PermittedDesk(desk, principal);
    this.cluster = cluster && new PermittedCluster(cluster, principal);
  }

  openSession(listener: SessionListener): Result<Session> {
    const refusal = this.principal.allowance?.settles();
    if (refusal !== undefined) return { ok: false, refusal };
    const opened = this.coordinator.openSession(listener);
    return opened.ok ? { ok: true, value: new PermittedSession(opened.value, this.principal) } : opened;
  }
}
