/** The metrics of the process and of its disk. */
import type { CoordinatorStanding, HistogramView, JournalStats } from '../coordinator.js';
import type { AdminChanges } from './admin-changes.js';
import type { CallDurations } from './call-durations.js';
import { type Labels, type PlainRegistry, plainCounter, plainGauge, plainHistogram, type Sample } from './plain.js';

export function registerJournalMetrics(registry: PlainRegistry, stats: () => CoordinatorStanding): void {
  const one = (name: string, help: string, view: (journal: JournalStats) => HistogramView): void =>
    plainHistogram({ registry, name, help, labelNames: [] }, () => {
      const { journal } = stats();
      return journal === undefined ? [] : [{ labels: {}, view: view(journal) }];
    });
  one(
    'keyturn_journal_commit_seconds',
    'How long a batch took to be on the disk; failed tries not counted.',
    ({ commit }) => commit,
  );
  one('keyturn_journal_batch_rows', 'Rows written or deleted by one batch.', ({ batchRows }) => batchRows);
  const number = (
    register: typeof plainGauge,
    name: string,
    help: string,
    value: (journal: JournalStats) => number | undefined,
  ) =>
    register({ registry, name, help, labelNames: [] }, () => {
      const { journal } = stats();
      return known(journal && value(journal));
    });
  number(plainCounter, 'keyturn_journal_failures_total', 'Writes that failed and were tried again.', (j) => j.failures);
  number(plainGauge, 'keyturn_journal_unwritten_changes', 'Changes that are not on the disk yet.', (j) => j.unwritten);
  number(
    plainGauge,
    'keyturn_journal_last_write_timestamp_seconds',
    'When the last write of this process succeeded.',
    ({ lastWrite }) => (lastWrite === undefined ? undefined : lastWrite / 1_000),
  );
}

/** No sample where the number is not known. */
function known(value: number | undefined): Sample[] {
  return value === undefined ? [] : [{ labels: {}, value }];
}

interface ProcessNumbers {
  readonly calls: CallDurations;
  readonly changes: AdminChanges;
  readonly internalErrors: () => number;
  readonly version: string;
  readonly stats: () => CoordinatorStanding;
  readonly surroundings: () => Surroundings;
}

/** What is not the coordinator's to know. What is unset is not told. */
export interface Surroundings {
  readonly isReady?: boolean | undefined;
  /** Of TLS: the one that new connections get. */
  readonly certificate?: { readonly begins: Date; readonly ends: Date } | undefined;
  /** With a data directory. */
  readonly disk?: { readonly fileBytes: number; readonly freeBytes: number } | undefined;
}

export function registerProcessMetrics(
  registry: PlainRegistry,
  { calls, changes, internalErrors, version, stats, surroundings }: ProcessNumbers,
): void {
  const one = (name: string, help: string, value: () => number, labels: Labels = {}): void =>
    plainGauge({ registry, name, help, labelNames: Object.keys(labels) }, () => [{ labels, value: value() }]);
  plainHistogram(
    {
      registry,
      name: 'keyturn_grpc_server_call_duration_seconds',
      help: 'How long calls took, waits included.',
      labelNames: ['method', 'code'],
    },
    () => calls.samples(),
  );
  plainCounter(
    {
      registry,
      name: 'keyturn_admin_changes_total',
      help: 'Calls of people that changed something, and were not refused.',
      labelNames: ['call'],
    },
    () => changes.samples(),
  );
  plainCounter(
    {
      registry,
      name: 'keyturn_internal_errors_total',
      help: 'Failures of the sidecar itself, each with a line in its log.',
      labelNames: [],
    },
    () => [{ labels: {}, value: internalErrors() }],
  );
  one('keyturn_sessions', 'Sessions that are open.', () => stats().sessions);
  one('keyturn_waiting_calls', 'Calls that wait for something.', () => stats().waitingCalls);
  one(
    'keyturn_payload_bytes',
    'Payload memory in use; limits.payload_memory_bytes bounds it.',
    () => stats().payloadBytes,
  );
  one('keyturn_payload_limit_bytes', 'limits.payload_memory_bytes.', () => stats().payloadLimit);
  one(
    'keyturn_memory_bytes',
    'Memory of everything that is held; limits.memory_bytes bounds it.',
    () => stats().memoryBytes,
  );
  one('keyturn_memory_limit_bytes', 'limits.memory_bytes.', () => stats().memoryLimit);
  const maybe = (name: string, help: string, value: (around: Surroundings) => number | undefined): void =>
    plainGauge({ registry, name, help, labelNames: [] }, () => known(value(surroundings())));
  maybe('keyturn_ready', 'Whether new work may be sent here.', ({ isReady }) =>
    isReady === undefined ? undefined : Number(isReady),
  );
  maybe(
    'keyturn_certificate_end_timestamp_seconds',
    'When the certificate ends that new connections get.',
    ({ certificate }) => certificate && certificate.ends.getTime() / 1_000,
  );
  maybe(
    'keyturn_certificate_begin_timestamp_seconds',
    'When it began: how long certificates live here.',
    ({ certificate }) => certificate && certificate.begins.getTime() / 1_000,
  );
  maybe('keyturn_data_file_bytes', 'The file of the data directory.', ({ disk }) => disk?.fileBytes);
  maybe('keyturn_data_device_free_bytes', 'What its device has left for this user.', ({ disk }) => disk?.freeBytes);
  one('keyturn_build_info', 'Always 1; the labels tell what runs.', () => 1, { version, node: process.versions.node });
}
