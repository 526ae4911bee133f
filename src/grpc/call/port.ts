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
} from '../../coordinator.js';

/** What a call is asked of: all of the coordinator, or as much of it as whoever calls may ask. */
export interface Port {
  readonly calls: Calls;
  openSession(listener: SessionListener): Result<Session>;
  readonly admin: Administration;
  readonly leaders: Leaders;
  /** Unset: this sidecar stands alone. */
  readonly cluster: Cluster | undefined;
  /** Unset: it tells nothing of itself. */
  readonly desk: Desk | undefined;
}

/** For a sidecar that asks nobody who it is. */
export function wholePort(coordinator: Coordinator, cluster: Cluster | undefined, desk?: Desk): Port {
  const { admin, leaders } = coordinator;
  return {
    leaders,
    calls: coordinator,
    openSession: (listener) => coordinator.openSession(listener),
    admin,
    cluster,
    desk,
  };
}
