import type {
  Administration,
  Calls,
  Cluster,
  Coordinator,
  Leaders,
  Result,
  Session,
  SessionListener,
} from '../../coordinator.js';

/** What a call is asked of: all of the coordinator, or as much of it as whoever calls may ask. */
export interface Port {
  readonly calls: Calls;
  openSession(listener: SessionListener): Result<Session>;
  readonly admin: Administration;
  readonly leaders: Leaders;
  /** Unset: this sidecar stands alone. */
  readonly cluster: Cluster | undefined;
}

/** For a sidecar that asks nobody who it is. */
export function wholePort(coordinator: Coordinator, cluster: Cluster | undefined): Port {
  const { admin, leaders } = coordinator;
  return {
    leaders,
    calls: coordinator,
    openSession: (listener) => coordinator.openSession(listener),
    admin,
    cluster,
  };
}
