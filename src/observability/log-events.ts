/**
 * What the log says, each line under a name that stays: for those who count or filter lines. A text may be said better
 * in another version, its name goes on. docs/LOGS.md says of each what it means, and what to do.
 */
interface LogEvent {
  readonly event: string;
  readonly level: 'info' | 'warn' | 'error' | 'fatal';
  /** With … for what differs from line to line. */
  readonly says: string;
}

export const LOG_EVENTS: readonly LogEvent[] = [
  // The process.
  { event: 'settings_doubtful', level: 'warn', says: '…' },
  { event: 'memory_budget', level: 'info', says: 'memory budget' },
  { event: 'listening', level: 'info', says: 'listening' },
  {
    event: 'startup_hold',
    level: 'info',
    says: 'startup_hold: no turns are given until then, so that leases of an earlier run can end',
  },
  { event: 'draining', level: 'info', says: 'draining; a second signal ends it now' },
  {
    event: 'signal_ignored',
    level: 'warn',
    says: 'signal ignored: settings are read at the start only',
  },
  { event: 'drain_failed', level: 'error', says: 'the drain failed' },
  { event: 'stopped', level: 'info', says: 'stopped' },
  { event: 'stopped_with_loss', level: 'warn', says: 'stopped; … items kept only in memory are lost' },
  { event: 'stopped_with_turns', level: 'warn', says: 'stopped; … turns had not ended' },
  { event: 'ended_at_once', level: 'warn', says: 'ended at once; items kept only in memory are lost' },
  { event: 'crashed', level: 'fatal', says: 'unexpected error; ending' },
  { event: 'console_elsewhere', level: 'warn', says: 'the console is elsewhere; …' },
  { event: 'console_missing', level: 'warn', says: 'there is no console: it can listen nowhere on loopback' },
  // Calls and connections.
  { event: 'call_failed', level: 'error', says: 'a call failed inside the sidecar' },
  { event: 'http_failed', level: 'error', says: 'HTTP server failed' },
  { event: 'console_failed', level: 'error', says: 'the server of the console failed' },
  { event: 'http_request_failed', level: 'error', says: 'HTTP request failed' },
  { event: 'grpc_library', level: 'warn', says: 'grpc-js' },
  {
    event: 'connections_full',
    level: 'warn',
    says: 'no more than … connections (limits.connections) may be open: those that came later are refused',
  },
  { event: 'files_too_few', level: 'warn', says: 'this process may open too few files for limits.connections' },
  { event: 'leader_asked_to_yield', level: 'info', says: 'a leader was asked to hand over' },
  { event: 'slow_hold_ended', level: 'warn', says: 'a turn was held for longer than slow_hold' },
  { event: 'slow_holds_left_out', level: 'warn', says: 'more turns were held for longer than slow_hold' },
  {
    event: 'slow_hold',
    level: 'warn',
    says: 'a turn is held for longer than slow_hold; "keyturn keys QUEUE --state PROCESS" lists who has turns',
  },
  {
    event: 'idempotency_key_unused',
    level: 'warn',
    says: 'an idempotency_key does nothing: set idempotency_ttl for this queue',
  },
  // Who may ask.
  { event: 'caller_refused', level: 'warn', says: 'a caller was not let in' },
  {
    event: 'tokens_unusable',
    level: 'error',
    says: 'the tokens have changed and cannot be used; the last good ones are kept',
  },
  { event: 'files_unread', level: 'error', says: 'the … were not replaced' },
  { event: 'files_unwatched', level: 'warn', says: 'changes of … are found only by looking every few seconds' },
  { event: 'tls_refused', level: 'warn', says: 'a connection was refused by TLS' },
  { event: 'certificate_replaced', level: 'info', says: 'new connections get the new certificate' },
  {
    event: 'certificate_ended',
    level: 'warn',
    says: 'the certificate has ended: no client that checks it will connect',
  },
  {
    event: 'certificates_unusable',
    level: 'error',
    says: 'the certificates have changed and cannot be used; the last good ones are kept',
  },
  {
    event: 'open_to_all',
    level: 'warn',
    says: 'listens beyond loopback without TLS: whoever can reach it can take and end turns',
  },
  {
    event: 'metrics_open_to_all',
    level: 'warn',
    says: 'listens beyond loopback without TLS: whoever can reach it can read the metrics',
  },
  // The disk.
  { event: 'recovering', level: 'info', says: 'recovering' },
  { event: 'recovered', level: 'info', says: 'recovered' },
  {
    event: 'disk_failing',
    level: 'error',
    says: 'the disk cannot be written; durable queues are refused until it can',
  },
  { event: 'disk_again', level: 'info', says: 'the disk can be written again' },
  { event: 'items_unreadable', level: 'error', says: 'items became dead letters' },
  { event: 'changes_unwritten', level: 'error', says: 'stopped without having written the last changes' },
  { event: 'data_not_closed', level: 'warn', says: 'the data directory was not closed' },
  // The cluster.
  { event: 'cluster_joining', level: 'info', says: 'joining the cluster' },
  { event: 'cluster_joined', level: 'info', says: 'joined the cluster' },
  { event: 'not_ready', level: 'warn', says: 'not ready' },
  { event: 'cluster_trouble', level: 'error', says: 'trouble with the cluster' },
  { event: 'cluster_again', level: 'info', says: 'the cluster is reached again' },
  { event: 'partitions_trouble', level: 'error', says: 'trouble with … of the cluster' },
  { event: 'partitions_again', level: 'info', says: 'no more trouble with … of the cluster' },
  { event: 'partitions', level: 'info', says: 'partitions: …' },
  { event: 'tables_made', level: 'info', says: 'the tables of the store were made' },
  { event: 'store_caution', level: 'warn', says: 'the store could be set up better' },
  { event: 'registry_differs', level: 'warn', says: 'the registry is not what it was asked to be' },
  {
    event: 'follow_ups_held_up',
    level: 'warn',
    says: 'follow-ups to another group are held up; they are sent again until they are taken',
  },
  { event: 'follow_ups_go_on', level: 'info', says: 'follow-ups to other groups are taken again' },
  { event: 'queue_spread', level: 'info', says: 'a queue is spread' },
  { event: 'queues_spread', level: 'info', says: 'more queues are spread' },
  { event: 'routes_changed', level: 'info', says: 'queues are routed anew' },
  { event: 'route_taken_in', level: 'info', says: 'the cluster has taken in where a queue lives' },
  { event: 'routes_not_taken_in', level: 'warn', says: 'where queues live is not taken in yet: …' },
  { event: 'link_missing', level: 'warn', says: 'no link to another sidecar: …' },
  { event: 'address_unproved', level: 'warn', says: 'the advertised address was not proved' },
  { event: 'link_refused', level: 'warn', says: 'a link was refused: …' },
  { event: 'link_ended', level: 'warn', says: 'a link ends: …' },
  { event: 'link_call_failed', level: 'error', says: 'a call to another sidecar failed inside this one' },
  { event: 'waiting_call_failed', level: 'error', says: 'a call that waited for a home failed inside the sidecar' },
];
