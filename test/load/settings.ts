/**
 * The queues of the load (`load.ts`), as settings of a sidecar. JSON is YAML:
 *
 *     writeFileSync('keyturn.yaml', JSON.stringify({ ...LOAD_SETTINGS, data_dir: … }))
 *
 * Without a data directory leave `orders` in memory: {@link loadSettings}.
 */

const SOON = { max_attempts: 4, initial: '50ms', factor: 2, max: '400ms', jitter: 'full' } as const;

/** What each queue is there to show stands in `scenes.ts`. */
const QUEUES = {
  orders: { durable: true, retry: SOON },
  thumbnails: { waiting_per_key: 1, wait: '200ms' },
  prices: { waiting_per_key: 1, when_full: 'replace' },
  refunds: { idempotency_ttl: '1m' },
  pages: { min_interval: '500ms', when_too_soon: 'decline' },
  reports: { wait: '100ms', on_wait_timeout: 'take_over' },
  mails: { rate: { per_second: 20, burst: 5 }, max_in_flight: 2, max_waiting: 40 },
  images: { lease: '300ms', retry: SOON },
  accounts: { on_dead_letter: 'park', retry: SOON },
  archive: { max_waiting: 1_000 },
} as const;

export type LoadQueue = keyof typeof QUEUES;

/** Few, so that idle keys are forgotten while somebody looks. */
const LIMITS = { idle_lanes: 300 } as const;

export interface LoadPlaces {
  /** Unset: nothing is durable, and the metrics of the journal are not there. */
  readonly dataDir?: string | undefined;
  /** Others, besides those of the load. */
  readonly queues?: Readonly<Record<string, object>>;
}

/** The settings of a sidecar that the load fits. */
export function loadSettings({ dataDir, queues: others }: LoadPlaces = {}): Readonly<Record<string, unknown>> {
  const common = { limits: LIMITS, default: { lease: '2s' } };
  if (dataDir !== undefined) return { ...common, data_dir: dataDir, queues: { ...QUEUES, ...others } };
  const { durable: _, ...orders } = QUEUES.orders;
  return { ...common, queues: { ...QUEUES, orders, ...others } };
}
