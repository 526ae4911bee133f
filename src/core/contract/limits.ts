/** Bounds of everything that could grow (contract, section 4). All can be configured downwards. */
export interface Limits {
  readonly queueNameBytes: number;
  readonly keyBytes: number;
  readonly idBytes: number;
  readonly payloadBytes: number;
  readonly headers: number;
  readonly headerBytes: number;
  readonly errorBytes: number;
  readonly itemsPerSubmit: number;
  /** Items that one item may wait for. */
  readonly after: number;
  /** The largest message that the server accepts. */
  readonly messageBytes: number;
  /** An answer of Acquire stops growing here. */
  readonly answerBytes: number;
  readonly turnsPerAcquire: number;
  readonly turnsPerRenew: number;
  readonly itemsPerTurn: number;
  readonly queuesPerAcquire: number;
  /** ms */
  readonly maxWait: number;
  /** ms */
  readonly maxDelay: number;
  /** ms */
  readonly minLease: number;
  /** ms */
  readonly maxLease: number;
  readonly waitingAcquires: number;
  /** Await calls that wait. */
  readonly waitingAwaits: number;
  /** Submit calls that wait for room. */
  readonly waitingSubmits: number;
  /** Callers that wait in all lines of all queues, absent ones included. */
  readonly waitingCallers: number;
  readonly openCommands: number;
  /** Bytes of answers that the client of a session has not taken: with more, nothing is read from it. */
  readonly unsentBytes: number;
  /** The same: with more, the session is ended. */
  readonly mostUnsentBytes: number;
  /** ms. A session from which nothing is read, because of `unsentBytes`, is ended when its client takes nothing for as long. */
  readonly unreadFor: number;
  /** What items wait for, each counted for each item that waits for it, in all queues. */
  readonly dependencies: number;
  /** Payloads, headers and remembered results of all queues together. */
  readonly payloadMemoryBytes: number;
  /** Everything that is held, payloads and results included (S600). Infinity: no bound. */
  readonly memoryBytes: number;
  /** Lanes in INIT that are remembered. */
  readonly idleLanes: number;
  /** Lanes that are not in INIT. */
  readonly busyLanes: number;
  readonly queues: number;
  readonly sessions: number;
  /** Connections of gRPC; each may have many calls. */
  readonly connections: number;
  readonly watchers: number;
  /** Entries of a page of ListKeys and ListDeadLetters, ids of Redrive and Discard. */
  readonly pageSize: number;
}

export const DEFAULT_LIMITS: Limits = Object.freeze({
  queueNameBytes: 128,
  keyBytes: 1_024,
  idBytes: 256,
  payloadBytes: 1_048_576,
  headers: 64,
  headerBytes: 8_192,
  errorBytes: 8_192,
  itemsPerSubmit: 1_000,
  after: 100,
  messageBytes: 4_194_304,
  answerBytes: 3_145_728,
  turnsPerAcquire: 1_000,
  turnsPerRenew: 1_000,
  itemsPerTurn: 1_000,
  queuesPerAcquire: 100,
  maxWait: 300_000,
  maxDelay: 2_592_000_000,
  minLease: 100,
  maxLease: 86_400_000,
  waitingAcquires: 100_000,
  waitingAwaits: 100_000,
  waitingSubmits: 10_000,
  waitingCallers: 1_000_000,
  openCommands: 100_000,
  unsentBytes: 4_194_304,
  mostUnsentBytes: 67_108_864,
  unreadFor: 30_000,
  dependencies: 1_000_000,
  payloadMemoryBytes: 1_073_741_824,
  memoryBytes: Number.POSITIVE_INFINITY,
  idleLanes: 100_000,
  busyLanes: 10_000_000,
  queues: 10_000,
  sessions: 10_000,
  connections: 10_000,
  watchers: 100,
  pageSize: 1_000,
});
